// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// FlashAttention's docstrings, sentence by sentence.
#include "catch.hpp"
#include "sample.hpp"

namespace {

using namespace attest::test;

}  // namespace

TEST_CASE("FlashAttention aligns causality at the bottom right corner") {
  // "For example, if seqlen_q = 2 and seqlen_k = 5, the causal mask is 1 1 1 1 0 / 1 1 1 1 1"
  const Sample x({.s = 2});
  const Definition bottom_right{.sees = [](int, int, int i, int j) { return j <= i + 3; }};
  const Definition top_left{.sees = [](int, int, int i, int j) { return j <= i; }};
  for (const char* dialect : {"flash-attention-2", "flash-attention-3"}) {
    const CallBuilder call = x.call(dialect).option("causal", true);
    CHECK(verdict(call, x, bottom_right) == Verdict::pass);
    CHECK(verdict(call, x, top_left) == Verdict::fail);
  }
}

TEST_CASE("a row without keys is zero in FlashAttention") {
  // "If seqlen_q = 5 and seqlen_k = 2, the causal mask is 0 0 / 0 0 / 0 0 / 1 0 / 1 1. If the row
  // of the mask is all zero, the output will be zero."
  const Sample x({.s = 5, .t = 2});
  Definition by{.sees = [](int, int, int i, int j) { return j <= i - 3; }};
  const CallBuilder call = x.call("flash-attention-2").option("causal", true);
  CHECK(verdict(call, x, by) == Verdict::pass);
  by.empty = Empty::mean;
  CHECK(verdict(call, x, by) == Verdict::fail);
  by.empty = Empty::nan;
  CHECK(verdict(call, x, by) == Verdict::fail);
}

TEST_CASE("FlashAttention's window is inclusive and aligned like causality") {
  // "keys between [i + seqlen_k - seqlen_q - window_size[0], i + seqlen_k - seqlen_q +
  // window_size[1]] inclusive"
  const Sample x({.s = 4, .t = 6});
  const auto window = [](int left, int right) {
    return Definition{
        .sees = [=](int, int, int i, int j) { return i + 2 - left <= j && j <= i + 2 + right; }};
  };
  const CallBuilder call =
      x.call("flash-attention-3").option("window_size", std::vector<std::int64_t>{2, 1});
  CHECK(verdict(call, x, window(2, 1)) == Verdict::pass);
  CHECK(verdict(call, x, window(1, 1)) == Verdict::fail);
  CHECK(verdict(call, x, window(3, 1)) == Verdict::fail);
  CHECK(verdict(call, x, window(2, 0)) == Verdict::fail);
  CHECK(verdict(call, x, window(2, 2)) == Verdict::fail);
}

TEST_CASE("FlashAttention's scale and softcap") {
  const Sample x;
  const CallBuilder call = x.call("flash-attention-2").option("softcap", 1.5);
  CHECK(verdict(call, x, {.softcap = 1.5}) == Verdict::pass);
  CHECK(verdict(call, x, Definition{}) == Verdict::fail);
  const CallBuilder scaled = x.call("flash-attention-2").option("softmax_scale", 0.25);
  CHECK(verdict(scaled, x, {.scale = 0.25}) == Verdict::pass);
  CHECK(verdict(scaled, x, Definition{}) == Verdict::fail);
}

TEST_CASE("FlashAttention 2 adds -alibi_slope·|i + seqlen_k - seqlen_q - j|") {
  const Sample x({.s = 3, .t = 5});
  const std::vector<float> slopes = {0.5f, 0.25f, 0.7f, 0.1f};
  const auto alibi = [&](int offset, double sign) {
    return Definition{.added = [=](int, int h, int i, int j) {
      return sign * static_cast<double>(slopes[static_cast<std::size_t>(h)]) *
             std::abs(i + offset - j);
    }};
  };
  const CallBuilder call = x.call("flash-attention-2").floats("alibi_slopes", {4}, slopes);
  CHECK(verdict(call, x, alibi(2, -1)) == Verdict::pass);
  CHECK(verdict(call, x, alibi(0, -1)) == Verdict::fail);
  CHECK(verdict(call, x, alibi(2, 1)) == Verdict::fail);
  CHECK(verdict(call, x, alibi(2, 0)) == Verdict::fail);
  CHECK(refusal(x.call("flash-attention-3")
                    .floats("alibi_slopes", {4}, slopes)
                    .floats("out", {2, 4, 3, 4})
                    .call) == "array \"alibi_slopes\" has no meaning in dialect flash-attention-3");

  SECTION("of each batch entry") {
    const std::vector<float> eight = {0.5f, 0.25f, 0.7f, 0.1f, 0.3f, 0.9f, 0.2f, 1.5f};
    const Definition by{.added = [&](int b, int h, int i, int j) {
      return -static_cast<double>(eight[static_cast<std::size_t>(4 * b + h)]) * std::abs(i + 2 - j);
    }};
    CHECK(verdict(x.call("flash-attention-2").floats("alibi_slopes", {2, 4}, eight), x, by) ==
          Verdict::pass);
  }
}

TEST_CASE("FlashAttention's caches count keys up to cache_seqlens, where causality ends") {
  const Sample x({.s = 2, .t = 6});
  const std::int64_t lengths[2] = {6, 3};
  const Definition by{.sees = [&](int b, int, int i, int j) {
    return j < lengths[b] && j <= i + static_cast<int>(lengths[b]) - 2;
  }};
  const Definition from_all{
      .sees = [&](int b, int, int i, int j) { return j < lengths[b] && j <= i + 4; }};
  for (const char* name : {"cache_seqlens", "seqused_k"}) {
    const CallBuilder call =
        x.call("flash-attention-3").option("causal", true).integers(name, {2}, {6, 3});
    CHECK(verdict(call, x, by) == Verdict::pass);
    CHECK(verdict(call, x, from_all) == Verdict::fail);
  }
}

TEST_CASE("FlashAttention 3 does not write queries beyond seqused_q") {
  const Sample x({.b = 1, .s = 3, .t = 3});
  std::vector<float> out = output(x, {.sees = [](int, int, int i, int j) { return j <= i + 1; }});
  for (std::size_t h = 0; h < 4; ++h)
    for (std::size_t c = 0; c < 4; ++c) out[(h * 3 + 2) * 4 + c] = 1e30f;
  const CallBuilder call =
      x.call("flash-attention-3").option("causal", true).integers("seqused_q", {1}, {2});
  CHECK(verdict_on(call, x, out) == Verdict::pass);
  out[4] += 1;  // a row that counts
  CHECK(verdict_on(call, x, out) == Verdict::fail);
}

TEST_CASE("packed sequences of FlashAttention are batch entries of their own") {
  // two entries, 3 and 1 queries, 2 and 4 keys, in (rows, heads, columns)
  const Sample first({.b = 1, .s = 3, .t = 2}, 2), second({.b = 1, .s = 1, .t = 4}, 3);
  const auto packed = [](const Sample* samples[2], std::vector<float> Sample::*array,
                         std::size_t heads, const std::size_t rows[2]) {
    std::vector<float> all;
    for (int n = 0; n < 2; ++n)
      for (std::size_t i = 0; i < rows[n]; ++i)
        for (std::size_t h = 0; h < heads; ++h)
          for (std::size_t c = 0; c < 4; ++c)
            all.push_back((samples[n]->*array)[(h * rows[n] + i) * 4 + c]);
    return all;
  };
  const Sample* both[2] = {&first, &second};
  const std::size_t queries[2] = {3, 1}, keys[2] = {2, 4};
  const auto causal = [](int offset) {
    return Definition{.sees = [=](int, int, int i, int j) { return j <= i + offset; }};
  };
  Sample outputs[2] = {first, second};
  outputs[0].q = output(first, causal(-1));  // the first row has no key
  outputs[1].q = output(second, causal(3));
  const Sample* wanted[2] = {&outputs[0], &outputs[1]};
  CallBuilder call("flash-attention-2");
  call.floats("q", {4, 4, 4}, packed(both, &Sample::q, 4, queries))
      .floats("k", {6, 2, 4}, packed(both, &Sample::k, 2, keys))
      .floats("v", {6, 2, 4}, packed(both, &Sample::v, 2, keys))
      .integers("cu_seqlens_q", {3}, {0, 3, 4})
      .integers("cu_seqlens_k", {3}, {0, 2, 6})
      .option("causal", true);
  const std::vector<float> out = packed(wanted, &Sample::q, 4, queries);
  call.floats("out", {4, 4, 4}, out);
  const auto report = attest::oracle::judge(call.call);
  CHECK(report.verdict == Verdict::pass);
  CHECK(verdict_of(call.call) == Verdict::pass);
  CHECK(report.outputs[0].elements == 64);  // none for rows that only the longer entry has
  for (std::size_t element = 0; element < out.size(); element += 7) {
    std::vector<float> wrong = out;
    wrong[element] += 0.5f;
    CHECK(verdict_of(call.floats("out", {4, 4, 4}, wrong).call) == Verdict::fail);
  }

  SECTION("and so they are for the reference, which is laid out like them") {
    const auto reference = attest::oracle::reference(call.call);
    REQUIRE(reference[0].shape == attest::oracle::Shape{4, 4, 4});
    for (std::size_t element = 0; element < out.size(); ++element) {
      float number;
      std::memcpy(&number, reference[0].bytes.data() + 4 * element, 4);
      CHECK(std::fabs(number - out[element]) <= 1e-6f);
    }
  }
  SECTION("starts that go back are refused") {
    call.integers("cu_seqlens_k", {3}, {0, 7, 6});
    CHECK(refusal(call.call) == "array \"cu_seqlens_k\": found 7, expected 0 to 6");
    call.integers("cu_seqlens_k", {3}, {0, 6, 5});
    CHECK(refusal(call.call) ==
          "array \"cu_seqlens_k\": expected 0 first and no number below the one before");
  }
}

TEST_CASE("pages of FlashAttention are put in the order of the table") {
  // 5 keys of one entry in pages of 2: pages 3, 0, 2 of 4
  const Sample x({.b = 1, .s = 2, .t = 5});
  const std::size_t table[3] = {3, 0, 2};
  const auto pages = [&](const std::vector<float>& rows) {
    std::vector<float> all(4 * 2 * 2 * 4, std::nanf(""));  // (page, head, row, column)
    for (std::size_t g = 0; g < 2; ++g)
      for (std::size_t j = 0; j < 5; ++j)
        for (std::size_t c = 0; c < 4; ++c)
          all[((table[j / 2] * 2 + g) * 2 + j % 2) * 4 + c] = rows[(g * 5 + j) * 4 + c];
    return all;
  };
  const std::vector<float> out = output(x, Definition{});
  const auto call = [&](const char* dialect, const char* name, std::vector<std::int64_t> numbers) {
    CallBuilder builder(dialect);
    return builder.floats("q", {1, 4, 2, 4}, x.q)
        .floats("k", {4, 2, 2, 4}, pages(x.k))
        .floats("v", {4, 2, 2, 4}, pages(x.v))
        .floats("out", {1, 4, 2, 4}, out)
        .integers("cache_seqlens", {1}, {5})
        .integers(name, {1, 4}, numbers);
  };
  const auto judged = [&](const CallBuilder& builder) { return verdict_of(builder.call); };
  CHECK(judged(call("flash-attention-2", "block_table", {3, 0, 2, -1})) == Verdict::pass);
  CHECK(judged(call("flash-attention-3", "page_table", {3, 0, 2, -1})) == Verdict::pass);
  CHECK(judged(call("flash-attention-3", "page_table", {3, 2, 0, -1})) == Verdict::fail);
  CHECK(refusal(call("flash-attention-3", "page_table", {3, 4, 2, -1}).call) ==
        "array \"page_table\": found page 4, expected 0 to 3");
}
