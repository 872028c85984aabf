// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// FlashInfer's prefill by its documentation and its attention variants.
#include "catch.hpp"
#include "sample.hpp"

namespace {
using namespace attest::test;
}

TEST_CASE("FlashInfer aligns causality and its window at the last key") {
  const Sample x({.s = 3, .t = 6});
  const CallBuilder call =
      x.call("flashinfer").option("causal", true).option("window_left", std::int64_t{1});
  // "kv_idx + qo_len + window_left >= kv_len + qo_idx"
  const auto window = [](int left, int offset) {
    return Definition{.sees = [=](int, int, int i, int j) {
      return j + 3 + left >= offset + 3 + i && j <= i + offset;
    }};
  };
  CHECK(verdict(call, x, window(1, 3)) == Verdict::pass);
  CHECK(verdict(call, x, window(0, 3)) == Verdict::fail);
  CHECK(verdict(call, x, window(2, 3)) == Verdict::fail);
  CHECK(verdict(call, x, window(1, 0)) == Verdict::fail);
}

TEST_CASE("FlashInfer's custom mask takes the place of causality") {
  const Sample x({.b = 1, .s = 2, .t = 3});
  const CallBuilder call =
      x.call("flashinfer").option("causal", true).booleans("attn_mask", {2, 3}, {1, 0, 1, 0, 0, 0});
  Definition by{.sees = [](int, int, int i, int j) { return i == 0 && j != 1; }};
  CHECK(verdict(call, x, by) == Verdict::pass);
  by.sees = [](int, int, int i, int j) { return i == 0 && j == 0; };
  CHECK(verdict(call, x, by) == Verdict::fail);
}

TEST_CASE("FlashInfer's softcap, scale, sinks and ALiBi") {
  const Sample x({.hkv = 4});
  CHECK(verdict(x.call("flashinfer").option("logits_soft_cap", 2.0).option("sm_scale", 0.3), x,
                {.scale = 0.3, .softcap = 2}) == Verdict::pass);
  CHECK(verdict(x.call("flashinfer").floats("sinks", {4}, {1, 2, 3, 4}), x,
                {.sinks = {1, 2, 3, 4}}) == Verdict::pass);
  // "maybe_alibi_slopes[qo_head_idx] * float(int(kv_idx) - int(qo_idx))": signed
  const auto alibi = [](bool is_signed) {
    return Definition{.added = [=](int, int h, int i, int j) {
      return std::ldexp(1.0, -2 * (h + 1)) * (is_signed ? j - i : -std::abs(j - i));
    }};
  };
  const CallBuilder call = x.call("flashinfer").option("pos_encoding_mode", std::string("ALIBI"));
  CHECK(verdict(call, x, alibi(true)) == Verdict::pass);
  CHECK(verdict(call, x, alibi(false)) == Verdict::fail);
}

TEST_CASE("ragged and paged batches of FlashInfer") {
  // two entries of 1 and 2 queries, 3 and 2 keys; pages of 2 keys: entry 0 in pages 2, 0, entry 1
  // in 1
  const Sample first({.b = 1, .s = 1, .t = 3}, 5), second({.b = 1, .s = 2, .t = 2}, 6);
  std::vector<float> q, k, v, out, key_pages(3 * 2 * 2 * 4, std::nanf("")), value_pages = key_pages;
  for (const Sample* x : {&first, &second}) {
    const int offset = static_cast<int>(x->n.t) - static_cast<int>(x->n.s);
    const std::vector<float> o =
        output(*x, {.sees = [=](int, int, int i, int j) { return j <= i + offset; }});
    for (std::size_t i = 0; i < x->n.s; ++i)
      for (std::size_t h = 0; h < 4; ++h)
        for (std::size_t c = 0; c < 4; ++c) {
          q.push_back(x->query(0, h, i, c));
          out.push_back(o[(h * x->n.s + i) * 4 + c]);
        }
    for (std::size_t j = 0; j < x->n.t; ++j) {
      const std::size_t page = x == &second ? 1 : j < 2 ? 2 : 0;
      for (std::size_t g = 0; g < 2; ++g)
        for (std::size_t c = 0; c < 4; ++c) {
          k.push_back(x->key(0, g, j, c));
          v.push_back(x->value(0, g, j, c));
          key_pages[((page * 2 + g) * 2 + j % 2) * 4 + c] = k.back();
          value_pages[((page * 2 + g) * 2 + j % 2) * 4 + c] = v.back();
        }
    }
  }
  CallBuilder ragged("flashinfer");
  ragged.option("causal", true)
      .floats("q", {3, 4, 4}, q)
      .floats("out", {3, 4, 4}, out)
      .integers("qo_indptr", {3}, {0, 1, 3});
  CallBuilder paged = ragged;
  ragged.floats("k", {5, 2, 4}, k).floats("v", {5, 2, 4}, v).integers("kv_indptr", {3}, {0, 3, 5});
  paged.floats("k", {3, 2, 2, 4}, key_pages)
      .floats("v", {3, 2, 2, 4}, value_pages)
      .integers("paged_kv_indptr", {3}, {0, 2, 3})
      .integers("paged_kv_indices", {3}, {2, 0, 1})
      .integers("paged_kv_last_page_len", {2}, {1, 2});
  const auto judged = [](const CallBuilder& call) { return verdict_of(call.call); };
  CHECK(judged(ragged) == Verdict::pass);
  CHECK(judged(paged) == Verdict::pass);
  CHECK(judged(CallBuilder(ragged).integers("kv_indptr", {3}, {0, 2, 5})) == Verdict::fail);
  CHECK(judged(CallBuilder(paged).integers("paged_kv_indices", {3}, {1, 0, 2})) == Verdict::fail);
  CHECK(refusal(CallBuilder(ragged).integers("paged_kv_indptr", {3}, {0, 2, 3}).call) ==
        "array \"qo_indptr\": expected together with kv_indptr or paged_kv_indptr, one of them");
}
