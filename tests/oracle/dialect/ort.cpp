// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ONNX Runtime's GroupQueryAttention and MultiHeadAttention by their documentation and CPU code.
#include "catch.hpp"
#include "sample.hpp"

namespace {

using namespace attest::test;
using attest::oracle::judge;

// (batch, row, heads·column) from rows [from, from + rows) of (batch, head, row, column).
std::vector<float> hidden(const std::vector<float>& array, std::size_t batches, std::size_t heads,
                          std::size_t all, std::size_t from, std::size_t rows,
                          std::size_t columns) {
  std::vector<float> result;
  for (std::size_t b = 0; b < batches; ++b)
    for (std::size_t i = from; i < from + rows; ++i)
      for (std::size_t h = 0; h < heads; ++h)
        for (std::size_t c = 0; c < columns; ++c)
          result.push_back(array[((b * heads + h) * all + i) * columns + c]);
  return result;
}

// One entry: `past` of the keys in a cache of `room` rows, the rest new.
CallBuilder decode(const char* dialect, const Sample& x, std::size_t past, std::size_t room) {
  const std::size_t fresh = x.n.t - past;
  CallBuilder call(dialect);
  call.option("num_heads", static_cast<std::int64_t>(x.n.hq))
      .floats("q", {1, x.n.s, x.n.hq * 4}, hidden(x.q, 1, x.n.hq, x.n.s, 0, x.n.s, 4))
      .floats("k", {1, fresh, x.n.hkv * 4}, hidden(x.k, 1, x.n.hkv, x.n.t, past, fresh, 4))
      .floats("v", {1, fresh, x.n.hkv * 4}, hidden(x.v, 1, x.n.hkv, x.n.t, past, fresh, 4));
  for (const char* name : {"past_key", "past_value"}) {
    const std::vector<float>& rows = name == std::string("past_key") ? x.k : x.v;
    std::vector<float> cache(x.n.hkv * room * 4, std::nanf(""));
    for (std::size_t g = 0; g < x.n.hkv; ++g)
      for (std::size_t j = 0; j < past; ++j)
        for (std::size_t c = 0; c < 4; ++c)
          cache[(g * room + j) * 4 + c] = rows[(g * x.n.t + j) * 4 + c];
    if (room) call.floats(name, {1, x.n.hkv, room, 4}, cache);
  }
  return call;
}

Verdict gqa(CallBuilder call, const Sample& x, const Definition& by) {
  return judge(call.option("kv_num_heads", static_cast<std::int64_t>(x.n.hkv))
                   .floats("out", {1, x.n.s, x.n.hq * 4},
                           hidden(output(x, by), 1, x.n.hq, x.n.s, 0, x.n.s, 4))
                   .call)
      .verdict;
}

}  // namespace

TEST_CASE("GroupQueryAttention is causal, the first query after the past") {
  const Sample x({.b = 1, .s = 2, .t = 5});
  const auto causal = [](int offset) {
    return Definition{.sees = [=](int, int, int i, int j) { return j <= i + offset; }};
  };
  const CallBuilder call = decode("ort-gqa", x, 3, 3)
                               .integers("seqlens_k", {1}, {4})
                               .integers("total_sequence_length", {1}, {5});
  CHECK(gqa(call, x, causal(3)) == Verdict::pass);
  CHECK(gqa(call, x, causal(0)) == Verdict::fail);
  CHECK(gqa(call, x, causal(9)) == Verdict::fail);

  SECTION("whatever room the cache has beyond the past") {
    const CallBuilder roomy = decode("ort-gqa", x, 3, 8)
                                  .integers("seqlens_k", {1}, {4})
                                  .integers("total_sequence_length", {1}, {5});
    CHECK(gqa(roomy, x, causal(3)) == Verdict::pass);
  }
  SECTION("seqlens_k is the total less one") {
    const CallBuilder more = decode("ort-gqa", x, 3, 8)
                                 .integers("seqlens_k", {1}, {5})
                                 .integers("total_sequence_length", {1}, {6});
    CHECK(gqa(more, x, causal(3)) != Verdict::pass);
  }
}

TEST_CASE("GroupQueryAttention of a prompt: rows beyond an entry's total are not judged") {
  const Sample x({.b = 1, .s = 4, .t = 4});
  const CallBuilder call = decode("ort-gqa", x, 0, 0)
                               .integers("seqlens_k", {1}, {2})
                               .integers("total_sequence_length", {1}, {4});
  const auto causal = [](float beyond) {
    return Definition{
        .sees = [](int, int, int i, int j) { return j <= i; },
        .added = [=](int, int, int i,
                     int j) { return i == 3 && j == 0 ? static_cast<double>(beyond) : 0.0; }};
  };
  CHECK(gqa(call, x, causal(0)) == Verdict::pass);
  CHECK(gqa(call, x, causal(5)) == Verdict::pass);
  const CallBuilder all = decode("ort-gqa", x, 0, 0)
                              .integers("seqlens_k", {1}, {3})
                              .integers("total_sequence_length", {1}, {4});
  CHECK(gqa(all, x, causal(0)) == Verdict::pass);
  CHECK(gqa(all, x, causal(5)) == Verdict::fail);
}

TEST_CASE("GroupQueryAttention's local window counts w keys beside the query's own") {
  const Sample x({.b = 1, .s = 6, .t = 6});
  const auto window = [](int left) {
    return Definition{.sees = [=](int, int, int i, int j) { return i - left <= j && j <= i; }};
  };
  const CallBuilder call = decode("ort-gqa", x, 0, 0)
                               .integers("seqlens_k", {1}, {5})
                               .option("local_window_size", std::int64_t{2});
  CHECK(gqa(call, x, window(2)) == Verdict::pass);
  CHECK(gqa(call, x, window(1)) == Verdict::fail);
}

TEST_CASE("GroupQueryAttention's smooth softmax, head sink, softcap, bias and scale") {
  const Sample x({.b = 1, .s = 3, .t = 3});
  const auto sees = [](int, int, int i, int j) { return j <= i; };
  const CallBuilder call = decode("ort-gqa", x, 0, 0).integers("seqlens_k", {1}, {2});
  CHECK(gqa(CallBuilder(call).option("smooth_softmax", std::int64_t{1}), x,
            {.sees = sees, .sinks = {0, 0, 0, 0}}) == Verdict::pass);
  CHECK(gqa(CallBuilder(call).option("smooth_softmax", std::int64_t{1}), x, {.sees = sees}) ==
        Verdict::fail);
  CHECK(gqa(CallBuilder(call).floats("head_sink", {4}, {1, 2, 0.5f, -1}), x,
            {.sees = sees, .sinks = {1, 2, 0.5, -1}}) == Verdict::pass);
  CHECK(gqa(CallBuilder(call).option("softcap", 1.0).option("scale", 0.0), x,
            {.softcap = 1, .sees = sees}) == Verdict::pass);
  CHECK(gqa(CallBuilder(call).floats("attn_mask", {1, 1, 3, 3}, {0, 0, 0, 2, 0, 0, 0, 3, 0}), x,
            {.sees = sees, .added = [](int, int, int i, int j) {
               return i == 1 && j == 0 ? 2.0 : i == 2 && j == 1 ? 3.0 : 0.0;
             }}) == Verdict::pass);
}

TEST_CASE("MultiHeadAttention masks padded keys by adding its filter value") {
  // scores from which -2 does not hide
  const Sample x({.b = 1, .hkv = 4, .s = 2, .t = 3});
  const auto padding = [](double fill) {
    return Definition{.added = [=](int, int, int, int j) { return j == 1 ? fill : 0.0; }};
  };
  const auto mha = [&](CallBuilder call, const Definition& by) {
    return judge(call.floats("out", {1, 2, 16}, hidden(output(x, by), 1, 4, 2, 0, 2, 4)).call)
        .verdict;
  };
  const CallBuilder call =
      decode("ort-mha", x, 0, 0).integers("key_padding_mask", {1, 3}, {1, 0, 1});
  CHECK(mha(call, padding(-10000)) == Verdict::pass);
  CHECK(mha(call, padding(0)) == Verdict::fail);
  const CallBuilder nearly = CallBuilder(call).option("mask_filter_value", -2.0);
  CHECK(mha(nearly, padding(-2)) == Verdict::pass);
  CHECK(mha(nearly, padding(-10000)) == Verdict::fail);
  // a row of nothing but padding is as if nothing were
  const CallBuilder all =
      decode("ort-mha", x, 0, 0).integers("key_padding_mask", {1, 3}, {0, 0, 0});
  CHECK(mha(all, Definition{.empty = Empty::mean}) != Verdict::fail);
}

TEST_CASE("MultiHeadAttention is causal after the past where it is unidirectional") {
  const Sample x({.b = 1, .hkv = 4, .s = 2, .t = 5});
  const auto mha = [&](CallBuilder call, int offset) {
    const Definition by{.sees = [=](int, int, int i, int j) { return j <= i + offset; }};
    return judge(call.floats("out", {1, 2, 16}, hidden(output(x, by), 1, 4, 2, 0, 2, 4)).call)
        .verdict;
  };
  const CallBuilder call = decode("ort-mha", x, 3, 3);
  CHECK(mha(call, 9) == Verdict::pass);
  CHECK(mha(CallBuilder(call).option("unidirectional", std::int64_t{1}), 3) == Verdict::pass);
  CHECK(mha(CallBuilder(call).option("unidirectional", std::int64_t{1}), 0) == Verdict::fail);
}

TEST_CASE("what ONNX Runtime's operators refuse") {
  const Sample x({.b = 1, .s = 2, .t = 5});
  CallBuilder call = decode("ort-gqa", x, 3, 3).option("kv_num_heads", std::int64_t{2});
  call.floats("out", {1, 2, 16});
  CHECK(refusal(call.call) == "array \"seqlens_k\" is missing; every call has q, k and v");
  call.integers("seqlens_k", {1}, {0});
  CHECK(refusal(call.call) ==
        "array \"seqlens_k\": found 1 keys less one, of which 2 are new; expected 2 to 5");
  call.integers("seqlens_k", {1}, {4}).option("do_rotary", std::int64_t{1});
  CHECK(refusal(call.call) ==
        "option \"do_rotary\" of dialect ort-gqa: expected 0, with q and k as they are after "
        "rotation");
}
