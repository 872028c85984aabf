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
