// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ONNX operator Attention: https://onnx.ai/onnx/operators/onnx__Attention.html and its function
// body.
#pragma once
#include <attest/oracle/dialect/arrays.hpp>
#include <attest/oracle/dialect/conventions.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions onnx_conventions{.alignment = Alignment::after_past};
inline constexpr Conventions onnx_25_conventions{.alignment = Alignment::after_past,
                                                 .window = WindowCount::beside_own};
inline constexpr Term onnx_25_options[] = {
    {"left_window_size, right_window_size",
     "-1, open; from operator set 25 on: keys beside the query's own, inclusive"},
    {"is_causal", "0; the first query after the past, or the last at nonpad_kv_seqlen"},
    {"scale", "1/√D; its root is applied to q and to k"},
    {"softcap", "0, off; before the mask"},
    {"softmax_precision", "q's format; 1, 10, 11 or 16"},
    {"qk_matmul_output_mode", "0; what qk_matmul_output holds"},
    {"q_num_heads, kv_num_heads", "required where q, k and v have 3 axes"},
};
inline constexpr std::span<const Term> onnx_options = std::span(onnx_25_options).subspan(1);
inline constexpr Term onnx_24_arrays[] = {
    {"nonpad_kv_seqlen", "(B) keys that count; from operator set 24 on"},
    {"attn_mask", "bool, true = attend, or added; a short one masks the keys beyond it"},
    {"past_key, past_value", "(B, Hkv, P, D), (B, Hkv, P, Dv)"},
    {"qk_matmul_output, present_key, present_value", "judged beside out"},
};
inline constexpr std::span<const Term> onnx_23_arrays = std::span(onnx_24_arrays).subspan(1);

// ONNX Attention, operator sets 23, 24 and 25, as the operator's text and function body define it.
template <int Opset>
Problem read_onnx(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p;

  const Tensor& q = arrays.required("q");
  const Tensor& k = arrays.required("k");
  const Tensor& v = arrays.required("v");
  const Tensor* out = arrays.find("out");
  const bool hidden_layout = q.rank() == 3;
  if ((q.rank() != 3 && q.rank() != 4) || k.rank() != q.rank() || v.rank() != q.rank())
    throw BadCall("arrays \"q\", \"k\", \"v\": found " + std::to_string(q.rank()) + ", " +
                  std::to_string(k.rank()) + " and " + std::to_string(v.rank()) +
                  " axes, expected all 3 or all 4");
  const std::int64_t query_heads = options.integer("q_num_heads", 0);
  const std::int64_t key_value_heads = options.integer("kv_num_heads", 0);
  if (hidden_layout) {
    if (query_heads <= 0 || query_heads > INT32_MAX)
      throw options.wrong("q_num_heads", "the number of heads: q has 3 axes");
    if (key_value_heads <= 0 || key_value_heads > INT32_MAX)
      throw options.wrong("kv_num_heads", "the number of heads: k has 3 axes");
    p.query = split_heads("q", q, static_cast<std::size_t>(query_heads));
    p.key = split_heads("k", k, static_cast<std::size_t>(key_value_heads));
    p.value = split_heads("v", v, static_cast<std::size_t>(key_value_heads));
  } else {
    if (Opset >= 25 && (options.given("q_num_heads") || options.given("kv_num_heads")))
      throw options.wrong("q_num_heads", "no head counts with 4 axes");
    p.query = by_heads("q", q, call);
    p.key = by_heads("k", k, call);
    p.value = by_heads("v", v, call);
  }
  check_shapes(p);
  p.format = *q.format();
  const std::size_t batches = p.batches();

  read_past(arrays, p);

  // Causality and window count from the end of the past, or from each entry's end of valid keys, or
  // from 0.
  p.offsets.assign(batches, static_cast<long>(p.past()));
  p.lengths.assign(batches, p.keys());
  const Tensor* nonpad = Opset >= 24 ? arrays.find("nonpad_kv_seqlen") : nullptr;
  if (nonpad) {
    if (p.past_key)
      throw BadCall(
          "array \"nonpad_kv_seqlen\": found together with past_key, expected one of them");
    if (nonpad->format())
      throw BadCall("array \"nonpad_kv_seqlen\": found " + std::string(facts(nonpad->type).name) +
                    ", expected int64");
    Arrays::shaped("nonpad_kv_seqlen", *nonpad, {batches}, "one length for each batch entry");
    for (std::size_t b = 0; b < batches; ++b) {
      const std::int64_t length =
          nonpad->integer_at(nonpad->data + static_cast<std::ptrdiff_t>(b) * nonpad->strides[0]);
      if (length < 0 || length > static_cast<std::int64_t>(p.keys()))
        throw BadCall("array \"nonpad_kv_seqlen\": found length " + std::to_string(length) +
                      ", expected 0 to " + std::to_string(p.keys()));
      p.lengths[b] = static_cast<std::size_t>(length);
      p.offsets[b] = static_cast<long>(length) - static_cast<long>(p.queries());
    }
  }

  const Tensor* mask = arrays.find("attn_mask");
  if (mask) p.mask = broadcast_mask(*mask, p, Opset >= 24);

  // scale and softcap are float32 attributes of the model; a softcap of 0 or below is no cap.
  p.rule.scale = options.scale();
  if (!p.rule.scale.by_width) p.rule.scale.given = formats::float32.round(p.rule.scale.given);
  if (!std::isfinite(p.rule.scale.given))
    throw options.wrong("scale", "a finite number of float32");
  p.rule.scale_by_square_roots = true;
  p.rule.softcap = std::max(0.0, formats::float32.round(options.number("softcap", 0)));
  if (!std::isfinite(p.rule.softcap)) throw options.wrong("softcap", "a finite number of float32");
  p.rule.causal = options.flag("is_causal");
  if (Opset >= 25) {
    p.rule.window_left =
        options.window("left_window_size", options.integer("left_window_size", -1));
    p.rule.window_right =
        options.window("right_window_size", options.integer("right_window_size", -1));
  }
  p.rule.empty_row = EmptyRow::zero;
  p.rule.masked_non_finite = MaskedNonFinite::propagate;
  if (options.given("softmax_precision")) {
    switch (options.integer("softmax_precision", 0)) {  // TensorProto.DataType
      case 1:
        p.softmax_format = &formats::float32;
        break;
      case 10:
        p.softmax_format = &formats::float16;
        break;
      case 11:
        p.softmax_format = &formats::float64;
        break;
      case 16:
        p.softmax_format = &formats::bfloat16;
        break;
      default:
        throw options.wrong("softmax_precision",
                            "1 (float32), 10 (float16), 11 (float64) or 16 (bfloat16)");
    }
  }
  if (p.format == formats::float64) {
    // The text takes √scale exactly; the function body takes it in float32 and only then widens it.
    const float scale = p.rule.scale.by_width ? 1 / std::sqrt(static_cast<float>(p.width()))
                                              : static_cast<float>(p.rule.scale.given);
    const double root = scale > 0 ? static_cast<double>(std::sqrt(scale)) : 0;
    if (root > 0) {
      Rule body = p.rule;
      body.scale = Scale::of(root * root);
      p.alternatives.push_back(
          {"square root of the scale in float32, as the function body has it", body});
    }
  }
  const std::int64_t stage = options.integer("qk_matmul_output_mode", 0);
  if (stage < 0 || stage > 3) throw options.wrong("qk_matmul_output_mode", "0, 1, 2 or 3");
  p.score_stage = static_cast<ScoreStage>(stage);

  if (out) {
    Arrays::floating("out", *out);
    if (hidden_layout) {
      Arrays::shaped("out", *out, {batches, p.queries(), p.query_heads() * p.value_width()},
                     "(batch, queries, heads·value width)");
      p.output = claim("out", split_heads("out", *out, p.query_heads()));
    } else {
      p.output = claim("out", by_heads("out", *out, call));
      Arrays::shaped("out", p.output->got, {batches, p.query_heads(), p.queries(), p.value_width()},
                     "(batch, query heads, queries, value width)");
    }
  }
  if (const Tensor* scores = arrays.find("qk_matmul_output"))
    p.scores =
        claim("qk_matmul_output",
              Arrays::shaped("qk_matmul_output", Arrays::floating("qk_matmul_output", *scores),
                             {batches, p.query_heads(), p.queries(), p.keys()},
                             "(batch, query heads, queries, keys)"));
  read_present(arrays, p);
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
