// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Log-sum-exp and gradients of packed and paged calls: those of each batch entry by the definition,
// in 500 bits, laid out as the framework lays them out.
#include "sample.hpp"

#include <attest/oracle/diagnosis.hpp>
#include <attest/oracle/fault.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../gradient_case.hpp"

namespace {

using namespace attest;
using namespace attest::test;
using oracle::OutputReport;
using oracle::Shape;

constexpr std::size_t query_heads = 4, key_heads = 2, width = 3;

GradientCase entry(unsigned seed, std::size_t queries, std::size_t keys) {
  GradientCase c;
  c.query_heads = query_heads;
  c.key_heads = key_heads;
  c.queries = queries;
  c.keys = keys;
  c.width = c.columns = width;
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> numbers(-2, 2);
  const auto fill = [&](std::vector<double>& array, std::size_t count) {
    for (std::size_t n = 0; n < count; ++n) array.push_back(static_cast<double>(numbers(random)));
  };
  fill(c.q, query_heads * queries * width);
  fill(c.k, key_heads * keys * width);
  fill(c.v, key_heads * keys * width);
  fill(c.d_output, query_heads * queries * width);
  fill(c.d_log_sum_exp, query_heads * queries);
  return c;
}

// Rows of several batch entries one after the other.
struct Packed {
  std::vector<GradientCase> entries;
  Results<float> arrays;
  std::vector<std::int64_t> query_starts = {0}, key_starts = {0};

  // `heads_first`: how the log-sum-exp is laid out.
  Packed(std::vector<GradientCase> all, bool heads_first) : entries(std::move(all)) {
    for (const GradientCase& c : entries) {
      const auto exact = exact_gradients(c);
      const auto numbers = [&](const std::string& name) {
        std::vector<float> result;
        for (const Reference& x : exact.at(name)) result.push_back(static_cast<float>(x));
        return result;
      };
      append("q", {c.q.begin(), c.q.end()}, query_heads, width);
      append("dout", {c.d_output.begin(), c.d_output.end()}, query_heads, width);
      append("dlse", {c.d_log_sum_exp.begin(), c.d_log_sum_exp.end()}, query_heads, 1);
      append("out", numbers("out"), query_heads, width);
      append("lse", numbers("lse"), query_heads, 1);
      append("dq", numbers("dq"), query_heads, width);
      append("k", {c.k.begin(), c.k.end()}, key_heads, width);
      append("v", {c.v.begin(), c.v.end()}, key_heads, width);
      append("dk", numbers("dk"), key_heads, width);
      append("dv", numbers("dv"), key_heads, width);
      query_starts.push_back(query_starts.back() + static_cast<std::int64_t>(c.queries));
      key_starts.push_back(key_starts.back() + static_cast<std::int64_t>(c.keys));
    }
    if (!heads_first) return;
    for (const char* name : {"lse", "dlse"}) {
      const std::vector<float> by_rows = arrays[name];
      for (std::size_t i = 0; i < rows(); ++i)
        for (std::size_t h = 0; h < query_heads; ++h)
          arrays[name][h * rows() + i] = by_rows[i * query_heads + h];
    }
  }
  std::size_t rows() const { return static_cast<std::size_t>(query_starts.back()); }
  std::size_t keys() const { return static_cast<std::size_t>(key_starts.back()); }

  CallBuilder call(const std::string& dialect, const char* scale, const Shape& by_row) const {
    CallBuilder builder(dialect);
    for (const char* name : {"q", "dout", "out", "dq"})
      builder.floats(name, {rows(), query_heads, width}, arrays.at(name));
    for (const char* name : {"k", "v", "dk", "dv"})
      builder.floats(name, {keys(), key_heads, width}, arrays.at(name));
    for (const char* name : {"lse", "dlse"}) builder.floats(name, by_row, arrays.at(name));
    return builder.option(scale, 0.5);
  }
  CallBuilder flash_attention() const {
    return call("flash-attention-3", "softmax_scale", {query_heads, rows()})
        .integers("cu_seqlens_q", {query_starts.size()}, query_starts)
        .integers("cu_seqlens_k", {key_starts.size()}, key_starts);
  }

 private:
  // From (head, row, column).
  void append(const std::string& name, const std::vector<float>& numbers, std::size_t heads,
              std::size_t columns) {
    const std::size_t count = numbers.size() / (heads * columns);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t t = 0; t < columns; ++t)
          arrays[name].push_back(numbers[(h * count + i) * columns + t]);
  }
};

std::vector<GradientCase> three_entries() {
  return {entry(1, 2, 5), entry(2, 4, 1), entry(3, 1, 3)};
}

const OutputReport& output(const oracle::Report& report, const std::string& name) {
  const auto found = std::find_if(report.outputs.begin(), report.outputs.end(),
                                  [&](const OutputReport& one) { return one.name == name; });
  REQUIRE(found != report.outputs.end());
  return *found;
}

// Each element of each of these arrays, changed alone, fails alone.
void check_each_element(const CallBuilder& right, std::initializer_list<const char*> names) {
  for (const std::string name : names) {
    const oracle::Tensor array = right.call.arrays.at(name);
    std::vector<float> numbers(array.size());
    std::memcpy(numbers.data(), array.data, numbers.size() * sizeof(float));
    CHECK(output(oracle::judge(right.call), name).elements == numbers.size());
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      CAPTURE(name, n);
      std::vector<float> wrong = numbers;
      wrong[n] += 0.01f;
      const oracle::Report report =
          oracle::judge(CallBuilder(right).floats(name, array.shape, wrong).call);
      for (const OutputReport& one : report.outputs)
        CHECK(one.failed == (one.name == name ? 1 : 0));
    }
  }
}

}  // namespace

TEST_CASE("log-sum-exp and gradients of packed sequences are those of each by itself") {
  const Packed packed(three_entries(), true);
  const CallBuilder right = packed.flash_attention();
  const oracle::Report report = oracle::judge(right.call);
  CHECK(report.verdict == Verdict::pass);
  CHECK(report.not_judged.empty());
  check_each_element(right, {"out", "lse", "dq", "dk", "dv"});

  SECTION("not as one sequence, nor with another's keys") {
    const oracle::Report one = oracle::judge(CallBuilder(right)
                                                 .integers("cu_seqlens_q", {2}, {0, 7})
                                                 .integers("cu_seqlens_k", {2}, {0, 9})
                                                 .call);
    const oracle::Report moved =
        oracle::judge(CallBuilder(right).integers("cu_seqlens_k", {4}, {0, 4, 6, 9}).call);
    for (const char* name : {"out", "lse", "dq", "dk", "dv"}) {
      CAPTURE(name);
      CHECK(output(one, name).verdict == Verdict::fail);
      CHECK(output(moved, name).verdict == Verdict::fail);
    }
  }
  SECTION("not with a wrong backward pass, which is found in its own array") {
    for (const auto& [fault, where] :
         {std::pair(Fault::key_unscaled, "dk"), std::pair(Fault::query_unscaled, "dq"),
          std::pair(Fault::value_transposed, "dv"), std::pair(Fault::other_base, "lse")}) {
      Packed wrong = packed;
      wrong.arrays[where].clear();
      for (const GradientCase& c : packed.entries) {
        Backward how;
        how.fault = fault;
        const auto computed = computed_gradients(c, how).at(where);
        const std::size_t heads =
            std::string(where) == "dq" || std::string(where) == "lse" ? query_heads : key_heads;
        const std::size_t columns = std::string(where) == "lse" ? 1 : width;
        const std::size_t count = computed.size() / (heads * columns);
        for (std::size_t i = 0; i < count; ++i)
          for (std::size_t h = 0; h < heads; ++h)
            for (std::size_t t = 0; t < columns; ++t)
              wrong.arrays[where].push_back(
                  static_cast<float>(computed[(h * count + i) * columns + t]));
      }
      const oracle::Report found = oracle::judge(wrong.flash_attention().call);
      for (const OutputReport& one : found.outputs) {
        CAPTURE(where, one.name);
        CHECK(one.verdict == (one.name == where ? Verdict::fail : Verdict::pass));
      }
    }
  }
  SECTION("and they start from dout") {
    CallBuilder without = right;
    without.call.arrays.erase("dout");
    CHECK(refusal(without.call) == "array \"dout\" is missing: gradients start from it");
    CHECK(refusal(CallBuilder(right).floats("lse", {7, 4}).call) ==
          "array \"lse\": found shape (7, 4), expected (4, 7), (query heads, rows of all batch "
          "entries)");
    CHECK(refusal(CallBuilder(right).floats("dk", {9, 2, 4}).call) ==
          "array \"dk\": found shape (9, 2, 4), expected (9, 2, 3), the shape of what it is by");
  }
}

TEST_CASE("a wrong backward pass of packed sequences is named") {
  const CallBuilder right = Packed(three_entries(), true).flash_attention();
  const oracle::Problem problem = oracle::read_problem(right.call);
  const oracle::Precision claim = oracle::claimed_precision(right.call, problem);
  // what the catalogue's implementation returns, each row in its place
  CHECK(oracle::judge(oracle::with_outputs(right.call, oracle::evaluate(problem, claim)).call)
            .verdict == Verdict::pass);
  for (const char* name : {"dq without the scale", "dk without the scale"}) {
    CAPTURE(name);
    const oracle::Example wrong =
        oracle::with_outputs(right.call, oracle::evaluate(problem, {oracle::find_fault(name), 0},
                                                          oracle::Place::everywhere(), claim));
    const oracle::Diagnosis diagnosis =
        oracle::diagnose(oracle::read_problem(wrong.call), claim, oracle::judge(wrong.call));
    REQUIRE(!diagnosis.findings.empty());
    CHECK(diagnosis.findings[0].faults[0].fault->name == name);
  }
}

TEST_CASE("packed keys that do not count are not looked at, nor are gradients of theirs") {
  // the last of each entry's keys is not used, and its gradient is not written
  std::vector<GradientCase> all = three_entries();
  Packed packed(all, true);
  std::vector<float> dk, dv, k, v;
  std::vector<std::int64_t> starts = {0};
  std::size_t row = 0;
  for (const GradientCase& c : all) {
    for (std::size_t j = 0; j <= c.keys; ++j)
      for (std::size_t n = 0; n < key_heads * width; ++n) {
        const std::size_t at = (row + j) * key_heads * width + n;
        const bool used = j < c.keys;
        k.push_back(used ? packed.arrays["k"][at] : 7);
        v.push_back(used ? packed.arrays["v"][at] : 7);
        dk.push_back(used ? packed.arrays["dk"][at] : 1e30f);
        dv.push_back(used ? packed.arrays["dv"][at] : 1e30f);
      }
    row += c.keys;
    starts.push_back(static_cast<std::int64_t>(row + starts.size()));
  }
  const Shape shape{row + all.size(), key_heads, width};
  CallBuilder call = packed.flash_attention();
  call.floats("k", shape, k).floats("v", shape, v).floats("dk", shape, dk).floats("dv", shape, dv);
  call.integers("cu_seqlens_k", {4}, starts).integers("seqused_k", {3}, {5, 1, 3});
  const oracle::Report report = oracle::judge(call.call);
  for (const OutputReport& one : report.outputs) {
    CAPTURE(one.name);
    CHECK(one.failed == 0);
  }
  CHECK(output(report, "dk").elements == row * key_heads * width);
  dk[0] += 1;
  CHECK(output(oracle::judge(call.floats("dk", shape, dk).call), "dk").failed == 1);
}

TEST_CASE("gradients of a cache's keys beyond its length are not written by FlashAttention") {
  const GradientCase c = entry(4, 2, 3);
  const Packed one({c}, true);
  CallBuilder call("flash-attention-2");
  const auto padded = [&](const char* name, float rest) {
    std::vector<float> result = one.arrays.at(name);
    result.insert(result.end(), key_heads * width, rest);
    return result;
  };
  call.call.layout = "bshd";
  for (const char* name : {"q", "dout", "out", "dq"})
    call.floats(name, {1, 2, query_heads, width}, one.arrays.at(name));
  for (const char* name : {"lse", "dlse"})
    call.floats(name, {1, query_heads, 2}, one.arrays.at(name));
  const Shape keys{1, 4, key_heads, width};
  call.floats("k", keys, padded("k", 7)).floats("v", keys, padded("v", 7));
  call.floats("dk", keys, padded("dk", 1e30f)).floats("dv", keys, padded("dv", 1e30f));
  call.integers("seqused_k", {1}, {3}).option("softmax_scale", 0.5);
  const oracle::Report report = oracle::judge(call.call);
  CHECK(report.verdict == Verdict::pass);
  CHECK(output(report, "dk").unspecified == key_heads * width);
  CHECK(output(report, "dk").elements == 4 * key_heads * width);
  std::vector<float> wrong = padded("dv", 1e30f);
  wrong[2] += 1;
  CHECK(output(oracle::judge(call.floats("dv", keys, wrong).call), "dv").failed == 1);
}

TEST_CASE("the log-sum-exp of FlashAttention before 2.6 is padded to the longest batch entry") {
  const Packed packed(three_entries(), true);
  CallBuilder call = packed.call("flash-attention-2", "softmax_scale", {query_heads, 7})
                         .integers("cu_seqlens_q", {4}, packed.query_starts)
                         .integers("cu_seqlens_k", {4}, packed.key_starts);
  // 4 queries are the most of any entry; a framework may be told of more
  for (const std::size_t longest : {std::size_t{4}, std::size_t{6}}) {
    CAPTURE(longest);
    const Shape shape{3, query_heads, longest};
    std::vector<float> padded(3 * query_heads * longest, std::nanf(""));
    std::vector<std::size_t> written;
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t h = 0; h < query_heads; ++h)
        for (std::size_t i = 0; i < packed.entries[b].queries; ++i) {
          written.push_back((b * query_heads + h) * longest + i);
          padded[written.back()] =
              packed.arrays.at("lse")[h * 7 + static_cast<std::size_t>(packed.query_starts[b]) + i];
        }
    const oracle::Report right = oracle::judge(call.floats("lse", shape, padded).call);
    CHECK(right.verdict == Verdict::pass);
    CHECK(output(right, "lse").elements == written.size());
    for (const std::size_t n : written) {
      std::vector<float> wrong = padded;
      wrong[n] += 0.01f;
      CHECK(output(oracle::judge(call.floats("lse", shape, wrong).call), "lse").failed == 1);
    }
  }
  CHECK_THROWS_AS(oracle::judge(call.floats("lse", {3, query_heads, 3}).call), oracle::BadCall);
  CHECK_THROWS_AS(oracle::judge(call.floats("lse", {7, query_heads}).call), oracle::BadCall);
  // version 3 never did
  CallBuilder three = packed.flash_attention();
  CHECK_THROWS_AS(oracle::judge(three.floats("lse", {3, query_heads, 4}).call), oracle::BadCall);
}

TEST_CASE("FlashInfer's log-sum-exp of a row without keys is -inf or, before 0.6.18, near -5e4") {
  // 3 queries after 2 keys: the first sees none
  CallBuilder call("flashinfer");
  call.floats("q", {3, 1, 2}, {1, 2, 0, 0, 0, 0})
      .floats("k", {2, 1, 2}, {1, 0, 0, 1})
      .floats("v", {2, 1, 2}, {1, 2, 3, 4})
      .floats("out", {3, 1, 2}, {0, 0, 1, 2, 2, 3})
      .integers("qo_indptr", {2}, {0, 3})
      .integers("kv_indptr", {2}, {0, 2})
      .option("causal", true);
  const auto verdict_of = [&](float of_none, float of_both) {
    return oracle::judge(call.floats("lse", {3, 1}, {of_none, 0, of_both}).call).verdict;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float right : {-infinity, -5e4f, -5e4f + 1})
    CHECK(verdict_of(right, 1) == Verdict::pass);
  for (const float wrong : {-4e4f, 0.f, infinity, std::nanf("")})
    CHECK(verdict_of(wrong, 1) == Verdict::fail);
  CHECK(verdict_of(-infinity, -5e4f) == Verdict::fail);
}

TEST_CASE("FlashInfer's log-sum-exp is to base two, rows first, of ragged and of paged batches") {
  std::vector<GradientCase> all = three_entries();
  for (GradientCase& c : all) c.base_two = true;
  const Packed packed(all, false);
  CallBuilder ragged("flashinfer");
  ragged.option("sm_scale", 0.5)
      .floats("q", {7, query_heads, width}, packed.arrays.at("q"))
      .floats("out", {7, query_heads, width}, packed.arrays.at("out"))
      .floats("lse", {7, query_heads}, packed.arrays.at("lse"))
      .integers("qo_indptr", {4}, packed.query_starts);
  CallBuilder paged = ragged;
  ragged.floats("k", {9, key_heads, width}, packed.arrays.at("k"))
      .floats("v", {9, key_heads, width}, packed.arrays.at("v"))
      .integers("kv_indptr", {4}, packed.key_starts);
  CHECK(oracle::judge(ragged.call).verdict == Verdict::pass);
  check_each_element(ragged, {"lse"});

  // pages of 2 keys: 5, 1 and 3 keys are in pages 4 0 5, 1 and 3 2
  const std::vector<std::int64_t> pages = {4, 0, 5, 1, 3, 2};
  const std::vector<std::size_t> first_page = {0, 3, 4};
  for (const char* name : {"k", "v"}) {
    std::vector<float> in_pages(6 * key_heads * 2 * width, std::nanf(""));
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t j = 0; j < all[b].keys; ++j)
        for (std::size_t g = 0; g < key_heads; ++g)
          for (std::size_t t = 0; t < width; ++t) {
            const auto page = static_cast<std::size_t>(pages[first_page[b] + j / 2]);
            const std::size_t row = static_cast<std::size_t>(packed.key_starts[b]) + j;
            in_pages[((page * key_heads + g) * 2 + j % 2) * width + t] =
                packed.arrays.at(name)[(row * key_heads + g) * width + t];
          }
    paged.floats(name, {6, key_heads, 2, width}, in_pages);
  }
  paged.integers("paged_kv_indptr", {4}, {0, 3, 4, 6})
      .integers("paged_kv_indices", {6}, pages)
      .integers("paged_kv_last_page_len", {3}, {1, 1, 1});
  CHECK(oracle::judge(paged.call).verdict == Verdict::pass);
  check_each_element(paged, {"lse"});
}

TEST_CASE("the log-sum-exp of FlashAttention's pages is judged, and gradients are not") {
  const GradientCase c = entry(6, 2, 5);
  const Packed one({c}, true);
  // 5 keys in pages of 2: pages 3, 0, 2 of 4
  const std::size_t table[3] = {3, 0, 2};
  CallBuilder call("flash-attention-3");
  call.call.layout = "bshd";
  call.floats("q", {1, 2, query_heads, width}, one.arrays.at("q"))
      .floats("out", {1, 2, query_heads, width}, one.arrays.at("out"))
      .floats("lse", {1, query_heads, 2}, one.arrays.at("lse"))
      .integers("cache_seqlens", {1}, {5})
      .integers("page_table", {1, 3}, {3, 0, 2})
      .option("softmax_scale", 0.5);
  for (const char* name : {"k", "v"}) {
    std::vector<float> pages(4 * 2 * key_heads * width, std::nanf(""));
    for (std::size_t j = 0; j < 5; ++j)
      std::copy_n(
          one.arrays.at(name).begin() + static_cast<long>(j * key_heads * width), key_heads * width,
          pages.begin() + static_cast<long>((table[j / 2] * 2 + j % 2) * key_heads * width));
    call.floats(name, {4, 2, key_heads, width}, pages);
  }
  CHECK(oracle::judge(call.call).verdict == Verdict::pass);
  check_each_element(call, {"lse"});

  const CallBuilder with_gradient = CallBuilder(call)
                                        .floats("dk", {4, 2, key_heads, width})
                                        .floats("dout", {1, 2, query_heads, width});
  CHECK(oracle::judge(with_gradient.call).not_judged == std::vector<std::string>{"dk"});

  // packed queries over pages
  CallBuilder packed = call;
  packed.call.layout = "bshd";
  packed.floats("q", {2, query_heads, width}, one.arrays.at("q"))
      .floats("out", {2, query_heads, width}, one.arrays.at("out"))
      .floats("lse", {query_heads, 2}, one.arrays.at("lse"))
      .integers("cu_seqlens_q", {2}, {0, 2});
  CHECK(oracle::judge(packed.call).verdict == Verdict::pass);
  check_each_element(packed, {"lse"});
}
