// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Adequacy: inputs of public test suites that are known to be blind are found so, for the reason
// that is known, and a call made to see is found to see.
#include "catch.hpp"

#include <attest/oracle/adequacy.hpp>
#include <attest/oracle/fault.hpp>
#include <attest/oracle/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace attest::oracle;

struct Extents {
  std::size_t batches, query_heads, key_value_heads, queries, keys, width;
};

using Draw = std::function<double(std::mt19937&)>;
double uniform(std::mt19937& random) {
  return std::uniform_real_distribution<double>(0, 1)(random);
}
double normal(std::mt19937& random) {
  return std::normal_distribution<double>(0, 1)(random);
}

Example call_of(const Extents& n, const Draw& draw, const std::string& dialect = "plain") {
  std::mt19937 random(1);
  const auto numbers = [&](const Shape& shape) {
    std::vector<double> drawn(element_count(shape));
    for (double& x : drawn) x = draw(random);
    return drawn;
  };
  const Shape q{n.batches, n.query_heads, n.queries, n.width},
      k{n.batches, n.key_value_heads, n.keys, n.width};
  Example example(dialect);
  example.array("q", q, numbers(q)).array("k", k, numbers(k)).array("v", k, numbers(k));
  example.array("out", q, std::vector<double>(element_count(q), 0));
  return example;
}

Adequacy adequacy_of(const Example& example, const AdequacyOptions& options = {}) {
  const Problem problem = read_problem(example.call);
  return adequacy(problem, claimed_precision(example.call, problem), {}, options);
}
const BlindSpot* find(const Adequacy& found, const std::string& name) {
  for (const BlindSpot& spot : found.blind)
    if (spot.fault.fault->name == name) return &spot;
  return nullptr;
}
std::string why(const Adequacy& found, const std::string& name) {
  const BlindSpot* spot = find(found, name);
  return spot ? spot->why : "shown";
}

}  // namespace

// KernelBench, level 1, problem 97: q, k and v uniform on [0, 1), compared to 1e-2. Fewer heads and
// queries are as blind.
TEST_CASE("KernelBench's input does not show that query and key do not matter") {
  const Example example = call_of({1, 2, 2, 16, 512, 1024}, uniform);
  const Adequacy by_theirs =
      adequacy_of(example, {.work = 0x1p28, .tolerance = Allclose{1e-2, 1e-2}});
  CHECK(find(by_theirs, "plain mean of the values"));
  CHECK(find(by_theirs, "last key dropped"));
  CHECK(find(by_theirs, "keys of zeros counted"));
  CHECK(!by_theirs.adequate());
  // by what float32 may lose it does
  CHECK(why(adequacy_of(example), "plain mean of the values") == "shown");
}

// ONNX, test_attention_4d_attn_mask_bool: rand(4, 6).astype(bool) is true everywhere.
TEST_CASE("a mask that is true everywhere does not show that it is ignored") {
  Example example = call_of({2, 3, 3, 4, 6, 8}, uniform, "onnx-23");
  example.array("attn_mask", {4, 6}, std::vector<double>(24, 1), ElementType::boolean);
  const Adequacy found = adequacy_of(example);
  CHECK(why(found, "mask dropped") == "the mask is true everywhere: it hides nothing");
  CHECK(why(found, "rows without keys are NaN") == "every row sees some key");

  std::vector<double> mask(24, 1);
  for (std::size_t n = 0; n < 24; n += 5) mask[n] = 0;
  example.array("attn_mask", {4, 6}, mask, ElementType::boolean);
  CHECK(why(adequacy_of(example), "mask dropped") == "shown");
}

// vLLM and FlashInfer: softcap 50 and logits of unit variance, compared to 1e-2. Even by what
// bfloat16 may lose nothing shows.
TEST_CASE("a softcap of 50 does not show at unit logits") {
  const auto example = [](double times) {
    Example made = call_of({1, 2, 2, 8, 64, 64},
                           [times](std::mt19937& random) { return times * normal(random); });
    for (const char* name : {"q", "k", "v", "out"}) {
      const Tensor& given = made.call.arrays.at(name);
      std::vector<double> numbers;
      for (std::size_t n = 0; n < given.size(); ++n)
        numbers.push_back(given.number_at(given.data + 4 * n));
      made.array(name, given.shape, numbers, ElementType::bfloat16);
    }
    made.call.precision["scores"] = std::string("float32");  // as fused kernels hold them
    return made.option("softcap", 50.0);
  };
  const Adequacy found = adequacy_of(example(1));
  REQUIRE(find(found, "softcap dropped"));
  CHECK(why(found, "softcap dropped").find("the softcap is 50") != std::string::npos);
  CHECK(why(adequacy_of(example(5)), "softcap dropped") == "shown");
}

// JAX's nn tests and Triton's tutorial: as many queries as keys, always.
TEST_CASE("as many queries as keys do not show to which corner a causal mask is aligned") {
  for (const char* corner : {"top-left", "bottom-right"}) {
    Example square = call_of({2, 2, 2, 8, 8, 16}, normal);
    const Adequacy found = adequacy_of(square.option("causal", std::string(corner)));
    CAPTURE(corner);
    for (const char* name : {"causal mask aligned top-left", "causal mask aligned bottom-right",
                             "causal offset of the wrong sign"})
      CHECK(why(found, name) == "there are as many queries as keys: both alignments are one");
    CHECK(why(found, "causality dropped") == "shown");
  }
  Example longer = call_of({2, 2, 2, 8, 13, 16}, normal);
  const Adequacy found = adequacy_of(longer.option("causal", std::string("bottom-right")));
  CHECK(why(found, "causal mask aligned top-left") == "shown");
}

// FlashInfer: group ratio 1 only; with one key/value head for each query head no map can be wrong.
TEST_CASE("heads that are not grouped do not count what grouped ones would show") {
  const Fault& tiled = *find_fault("key/value heads tiled");
  CHECK(!applies(tiled, read_problem(call_of({1, 4, 4, 3, 5, 4}, normal).call)));
  CHECK(applies(tiled, read_problem(call_of({1, 4, 2, 3, 5, 4}, normal).call)));
  CHECK(why(adequacy_of(call_of({1, 4, 2, 3, 5, 4}, normal)), "key/value heads tiled") == "shown");
}

// kekzl/imp#1330: a sink far below the row's maximum is numerically invisible.
TEST_CASE("a sink far below the scores does not show that it is dropped") {
  Example example = call_of({1, 2, 2, 4, 8, 16}, normal);
  const Adequacy far = adequacy_of(example.array("sinks", {2}, {-40, -41}));
  CHECK(find(far, "sinks dropped"));
  const Adequacy near = adequacy_of(example.array("sinks", {2}, {0, 1}));
  CHECK(why(near, "sinks dropped") == "shown");
}

// xFormers' log-sum-exp of a single key cannot show the weight of others; the published example is
// one key of score 0: its logarithm is 0 to any base.
TEST_CASE("one key of score zero does not show the base of the log-sum-exp") {
  const auto with = [](double score) {
    Example example;
    example.array("q", {1, 1}, {score})
        .array("k", {1, 1}, {1})
        .array("v", {1, 1}, {1})
        .array("out", {1, 1}, {0})
        .array("lse", {1}, {0});
    return adequacy_of(example);
  };
  CHECK(find(with(0), "log-sum-exp to base 2"));
  CHECK(why(with(1), "log-sum-exp to base 2") == "shown");
}

// PyTorch's test_transformers.py and JAX's splash attention: inputs uniform on [0, 1), which make
// all weights nearly alike.
TEST_CASE("uniform inputs do not show a scale of the padded width") {
  const Extents extents{1, 2, 2, 16, 143, 48};
  const AdequacyOptions by_theirs{.work = 0x1p28, .tolerance = Allclose{3e-3, 3e-3}};
  CHECK(find(adequacy_of(call_of(extents, uniform), by_theirs), "scale of another width"));
  CHECK(why(adequacy_of(call_of(extents, normal), by_theirs), "scale of another width") == "shown");
}

// Xilinx/mlir-air#1427: inputs uniform on [0.5, 1), an absolute tolerance of 0.5 and a relative one
// of 0.2.
TEST_CASE("a tolerance as large as the values shows next to nothing") {
  const Draw upper_half = [](std::mt19937& random) { return 0.5 + 0.5 * uniform(random); };
  Example example = call_of({1, 2, 2, 32, 64, 64}, upper_half);
  example.option("causal", std::string("top-left"));
  const Adequacy found = adequacy_of(example, {.work = 0x1p28, .tolerance = Allclose{0.5, 0.2}});
  for (const char* name : {"causality dropped", "scale missing", "plain mean of the values",
                           "last key dropped", "row 0 in every row", "values in reverse order"})
    CHECK(find(found, name));
  CHECK(4 * found.shown < found.applicable);
}

// ggml's test-backend-ops.cpp: inputs uniform on [-1, 1) and a softcap of 10.
TEST_CASE("a softcap of 10 does not show at logits of deviation a third") {
  const Draw both_signs = [](std::mt19937& random) { return 2 * uniform(random) - 1; };
  const Adequacy found =
      adequacy_of(call_of({1, 2, 2, 16, 512, 64}, both_signs).option("softcap", 10.0),
                  {.work = 0x1p28, .tolerance = Allclose{5e-4, 5e-4}});
  CHECK(why(found, "softcap dropped").find("the softcap is 10") != std::string::npos);
}

// vLLM's test_flash_attn.py: normal inputs, compared to 1.5e-2 and 1e-2.
TEST_CASE("a key of zeros among hundreds does not show by 1.5e-2") {
  const Adequacy found = adequacy_of(call_of({1, 2, 2, 16, 463, 64}, normal),
                                     {.work = 0x1p28, .tolerance = Allclose{1.5e-2, 1e-2}});
  CHECK(find(found, "keys of zeros counted"));
}

// JAX's Pallas kernels on GPUs: compared to 0.05.
TEST_CASE("a sum of exponentials in bfloat16 does not show by 0.05") {
  const Adequacy found = adequacy_of(call_of({1, 2, 2, 16, 256, 64}, normal),
                                     {.work = 0x1p28, .tolerance = Allclose{0.05, 0}});
  CHECK(find(found, "exponentials summed in a coarser format"));
  CHECK(find(found, "weights held in a coarser format"));
}

// FlashInfer's test of merged states: normal inputs divided by 10, so that the reference's mixture
// of a natural maximum and a logarithm to base 2 is not seen.
TEST_CASE("scores near zero do not show of which base the maximum is") {
  const auto with = [](double times) {
    Example example = call_of({1, 2, 2, 8, 54, 128},
                              [times](std::mt19937& random) { return times * normal(random); });
    example.array("lse", {1, 2, 8}, std::vector<double>(16, 0));
    example.option("lse_base", std::string("2"));
    return adequacy_of(example, {.work = 0x1p28, .tolerance = Allclose{1e-2, 1e-2}});
  };
  CHECK(find(with(0.1), "log-sum-exp of a natural maximum and a base-2 sum"));
  CHECK(why(with(1), "log-sum-exp of a natural maximum and a base-2 sum") == "shown");
}

// aqlaboratory/openfold-3#258: of the mean of all outputs every derivative is below the tolerance.
TEST_CASE("derivatives by the mean of the output do not show that there are none") {
  const auto with = [](double derivative) {
    Example example = call_of({1, 2, 2, 64, 64, 32}, normal);
    const Shape shape{1, 2, 64, 32};
    example.array("dout", shape, std::vector<double>(element_count(shape), derivative));
    for (const char* name : {"dq", "dk", "dv"})
      example.array(name, shape, std::vector<double>(element_count(shape), 0));
    return adequacy_of(example, {.work = 0x1p32, .tolerance = Allclose{1e-3, 0}});
  };
  CHECK(find(with(1.0 / (2 * 64 * 32)), "gradients zero"));
  CHECK(why(with(1), "gradients zero") == "shown");
}

// vllm-project/vllm#945: distances from another origin move all scores of a row alike where no key
// lies ahead, and so the log-sum-exp alone.
TEST_CASE("distances from another origin show in the log-sum-exp alone") {
  const auto with = [](bool log_sum_exp) {
    Example example = call_of({1, 2, 2, 2, 5, 8}, normal);
    example.array("alibi_slopes", {2}, {0.5, 0.25}).option("causal", std::string("bottom-right"));
    if (log_sum_exp) example.array("lse", {1, 2, 2}, std::vector<double>(4, 0));
    Implementation by = implementation(read_problem(example.call));
    by.problem.alibi_distance = AlibiDistance::from_row;
    const Problem problem = read_problem(example.call);
    const Precision claim = claimed_precision(example.call, problem);
    const Outputs outputs = evaluate(implementation(problem), by, Place::everywhere(), claim, true);
    return judge(with_outputs(example.call, outputs).call).verdict;
  };
  CHECK(with(false) == Verdict::pass);
  CHECK(with(true) == Verdict::fail);
}

// What a test never asks cannot be shown by it: FlashAttention's give no scale and compare no
// log-sum-exp, those of Triton and JAX have keys in multiples of 128, one of zml's has no window.
TEST_CASE("what is not in a call strikes it not") {
  const Problem plain = read_problem(call_of({1, 2, 2, 128, 128, 16}, normal).call);
  for (const char* name : {"given scale ignored", "log-sum-exp to base 2", "tail of keys dropped",
                           "window's left side off by some"}) {
    CAPTURE(name);
    CHECK(!applies(*find_fault(name), plain));
  }
  Example scaled = call_of({1, 2, 2, 8, 8, 16}, normal);
  CHECK(why(adequacy_of(scaled.option("scale", 0.25)), "given scale ignored") ==
        "the given scale is 1/√D");
}

TEST_CASE("equal values show nothing of weights") {
  const Adequacy found = adequacy_of(call_of({1, 1, 1, 4, 8, 16}, [](std::mt19937& random) {
    static int n = 0;
    return n++ < 64 + 128 ? normal(random) : 1.0;  // q and k drawn, v alike
  }));
  for (const char* name : {"scale missing", "plain mean of the values", "hard maximum"})
    CHECK(find(found, name));
}

TEST_CASE("an input made to see is adequate, and says how much was looked at") {
  const Adequacy found = adequacy_of(call_of({2, 4, 2, 5, 9, 6}, normal));
  CHECK(found.rows == 40);
  CHECK(found.all_rows == 40);
  CHECK(!found.sampled());
  CHECK(found.shown + found.blind.size() == found.applicable);
  CHECK(found.shown > 50);
  const Adequacy part =
      adequacy_of(call_of({2, 4, 2, 64, 256, 64}, normal), {.work = 0x1p22, .tolerance = {}});
  CHECK(part.sampled());
}

TEST_CASE(
    "with little time every fault is tried on the last row too, and not more is said than was "
    "seen") {
  Example example = call_of({1, 1, 1, 512, 512, 8}, normal);
  example.call.attributes["causal"] = std::string("top-left");
  AdequacyOptions little;
  little.work = 0x1p20;  // 63 rows for some 170 cases
  const Adequacy found = adequacy_of(example, little);
  CHECK(found.sampled());
  CHECK(why(found, "last key dropped") == "shown");  // the last query alone sees it
  CHECK(why(found, "last tile of keys dropped") == "shown");
  for (const BlindSpot& spot : found.blind) CHECK(spot.why != "on this input it changes nothing");
}
