// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What of a recipe each dialect can say, and by which options it says it.
#pragma once
#include <attest/oracle/fault/example.hpp>
#include <attest/oracle/needle/recipe.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attest::oracle {
namespace detail {

// No cache and no lengths.
inline constexpr Features plain_features = [] {
  Features may = Features::all();
  may.cache = may.lengths = false;
  return may;
}();
inline constexpr Features torch_features{.scale = true,
                                         .causal = true,
                                         .boolean_mask = true,
                                         .added_mask = true,
                                         .empty_rows = true,
                                         .grouped_heads = true,
                                         .log_sum_exp = true,
                                         .gradients = true,
                                         .extremes = true};
inline constexpr Features onnx_features(int operator_set) {
  return {.scale = true,
          .causal = true,
          .bottom_right = true,
          .window = operator_set >= 25,
          .softcap = true,
          .boolean_mask = true,
          .added_mask = true,
          .empty_rows = operator_set >= 24,
          .grouped_heads = true,
          .cache = true,
          .lengths = operator_set >= 24,
          .extremes = true};
}
inline constexpr Features flash_attention_features(bool slopes) {
  return {.scale = true,
          .bottom_right = true,
          .window = true,
          .softcap = true,
          .empty_rows = true,
          .grouped_heads = true,
          .slopes = slopes,
          .lengths = true,
          .log_sum_exp = true,
          .gradients = true,
          .extremes = true};
}
inline constexpr Features jax_features{.scale = true,
                                       .causal = true,
                                       .window = true,
                                       .boolean_mask = true,
                                       .empty_rows = true,
                                       .grouped_heads = true,
                                       .gradients = true,
                                       .extremes = true};
inline constexpr Features mlx_features{.scale = true,
                                       .bottom_right = true,
                                       .boolean_mask = true,
                                       .added_mask = true,
                                       .grouped_heads = true,
                                       .sinks = true,
                                       .extremes = true};
inline constexpr Features gpt_oss_features{.scale = true,
                                           .causal = true,
                                           .bottom_right = true,
                                           .window = true,
                                           .boolean_mask = true,
                                           .added_mask = true,
                                           .grouped_heads = true,
                                           .sinks = true,
                                           .cache = true,
                                           .extremes = true};

inline constexpr Features cudnn_features{.scale = true,
                                         .causal = true,
                                         .bottom_right = true,
                                         .window = true,
                                         .added_mask = true,
                                         .empty_rows = true,
                                         .grouped_heads = true,
                                         .sinks = true,
                                         .slopes = true,
                                         .lengths = true,
                                         .log_sum_exp = true,
                                         .gradients = true,
                                         .extremes = true};
// Its log-sum-exp is to base two always.
inline constexpr Features flashinfer_features{.scale = true,
                                              .bottom_right = true,
                                              .window = true,
                                              .softcap = true,
                                              .boolean_mask = true,
                                              .empty_rows = true,
                                              .grouped_heads = true,
                                              .sinks = true,
                                              .slopes = true,
                                              .log_sum_exp = true,
                                              .base_two = true,
                                              .extremes = true};
inline constexpr Features ort_gqa_features{.scale = true,
                                           .bottom_right = true,
                                           .window = true,
                                           .softcap = true,
                                           .added_mask = true,
                                           .grouped_heads = true,
                                           .sinks = true,
                                           .cache = true,
                                           .lengths = true,
                                           .extremes = true};
inline constexpr Features ort_mha_features{.scale = true,
                                           .causal = true,
                                           .bottom_right = true,
                                           .added_mask = true,
                                           .cache = true,
                                           .extremes = true};
inline constexpr Features openvino_features{.scale = true,
                                            .causal = true,
                                            .boolean_mask = true,
                                            .added_mask = true,
                                            .empty_rows = true,
                                            .grouped_heads = true,
                                            .sinks = true,
                                            .extremes = true};
// Causality, windows and slopes are in its mask, which says nothing about them.
inline constexpr Features ggml_features{.scale = true,
                                        .softcap = true,
                                        .added_mask = true,
                                        .empty_rows = true,
                                        .grouped_heads = true,
                                        .sinks = true,
                                        .extremes = true};

// Of keys in the past and the rest, if the last query is to stand at the last key.
inline void align_by_past(Recipe& r) {
  if (r.causality == Causality::none) return;
  const bool fits = r.causality == Causality::bottom_right && r.keys >= r.queries;
  if (!fits) r.causality = Causality::top_left;
  r.past = fits ? r.keys - r.queries : 0;
}

}  // namespace detail

// Options that are the scale, in the one dialect or the other.
inline constexpr const char* scale_names[] = {"scale", "softmax_scale", "scaling", "attn_scale",
                                              "sm_scale"};

// A dialect that recipes can be written in. Those of attest dialects that are not here have calls
// of their own making only.
struct RecipeDialect {
  std::string_view name;
  Features features;
  bool one_width = false;  // values are as wide as keys
  void (*fit)(Recipe&);    // leaves out what cannot be said together
  void (*write)(const Recipe&, double scale, Example&);
  const char* sinks = "sinks";  // its names of these arrays
  const char* lengths = "seqused_k";
  // q, k, v and out are (batch, row, heads·columns), and options say how many heads.
  bool heads_side_by_side = false;
};

namespace detail {

inline void write_plain(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("scale", *r.scale);
  if (r.causality != Causality::none)
    example.option("causal",
                   std::string(r.causality == Causality::top_left ? "top-left" : "bottom-right"));
  if (r.left >= 0 || r.right >= 0)
    example.option("window", std::vector<std::int64_t>{r.left, r.right});
  if (r.softcap != 0) example.option("softcap", r.softcap);
  if (r.head_map == HeadMap::tiled) example.option("heads_map", std::string("tiled"));
  if (r.base == LogBase::two) example.option("lse_base", std::string("2"));
  if (r.empty_row == EmptyRow::mean) example.option("empty_row", std::string("mean"));
}
inline void write_torch(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("scale", *r.scale);
  if (r.causality != Causality::none) example.option("is_causal", true);
  if (r.query_heads != r.key_value_heads) example.option("enable_gqa", true);
}
inline void write_onnx(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("scale", *r.scale);
  if (r.causality != Causality::none) example.option("is_causal", std::int64_t{1});
  if (r.softcap != 0) example.option("softcap", r.softcap);
  if (r.left >= 0) example.option("left_window_size", std::int64_t{r.left});
  if (r.right >= 0) example.option("right_window_size", std::int64_t{r.right});
}
inline void write_flash_attention(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("softmax_scale", *r.scale);
  if (r.causality != Causality::none) example.option("causal", true);
  if (r.left >= 0 || r.right >= 0)
    example.option("window_size", std::vector<std::int64_t>{r.left, r.right});
  if (r.softcap != 0) example.option("softcap", r.softcap);
}
inline void write_jax(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("scale", *r.scale);
  if (r.causality != Causality::none) example.option("is_causal", true);
  if (r.left >= 0) example.option("local_window_size", std::vector<std::int64_t>{r.left, r.right});
}
inline void write_mlx(const Recipe& r, double scale, Example& example) {
  example.option("scale", scale);
  if (r.causality != Causality::none) example.option("mask", std::string("causal"));
}
inline void write_gpt_oss(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("scaling", *r.scale);
  if (r.left >= 0) example.option("sliding_window", std::int64_t{r.left + 1});
}

inline void write_cudnn(const Recipe& r, double scale, Example& example) {
  example.option("attn_scale", scale);
  if (r.causality != Causality::none)
    example.option("diagonal_band_right_bound", std::int64_t{0});
  else if (r.right >= 0)
    example.option("diagonal_band_right_bound", std::int64_t{r.right});
  if (r.causality == Causality::bottom_right)
    example.option("diagonal_alignment", std::string("BOTTOM_RIGHT"));
  if (r.left >= 0) example.option("diagonal_band_left_bound", std::int64_t{r.left + 1});
  if (r.slopes) example.option("use_alibi_mask", true);
  if (!r.lengths) return;
  example.option("use_padding_mask", true);
  example.array("seq_len_q", {r.batches},
                std::vector<double>(r.batches, static_cast<double>(r.queries)), ElementType::int32);
}
inline void write_flashinfer(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("sm_scale", *r.scale);
  if (r.causality != Causality::none) example.option("causal", true);
  if (r.left >= 0) example.option("window_left", std::int64_t{r.left});
  if (r.softcap != 0) example.option("logits_soft_cap", r.softcap);
  if (r.slopes) example.option("pos_encoding_mode", std::string("ALIBI"));
}
inline void write_ort_gqa(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("scale", *r.scale);
  if (r.left > 0) example.option("local_window_size", std::int64_t{r.left});
  if (r.softcap != 0) example.option("softcap", r.softcap);
  // what counts less one, new keys among it; the longest is the whole
  std::vector<double> less_one(r.batches, static_cast<double>(r.keys - 1));
  if (r.lengths) {
    for (std::size_t b = 1; b < r.batches; ++b)
      less_one[b] = static_cast<double>(r.queries - 1 + r.past * b / (r.batches + 1));
    for (const char* present : {"present_key", "present_value"}) example.call.arrays.erase(present);
  }
  example.array("seqlens_k", {r.batches}, less_one, ElementType::int32);
  example.array("total_sequence_length", {1}, {static_cast<double>(r.keys)}, ElementType::int32);
}
inline void write_ort_mha(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("scale", *r.scale);
  if (r.causality != Causality::none) example.option("unidirectional", std::int64_t{1});
}
inline void write_openvino(const Recipe& r, double, Example& example) {
  if (r.scale) example.option("scale", *r.scale);
  if (r.causality != Causality::none) example.option("causal", true);
}
inline void write_ggml(const Recipe& r, double scale, Example& example) {
  example.option("scale", scale);
  if (r.softcap != 0) example.option("logit_softcap", r.softcap);
}

inline void drop_mask(Recipe& r) {
  r.mask = MaskKind::none;
  r.empty_rows = false;
}

}  // namespace detail

inline constexpr RecipeDialect recipe_dialects[] = {
    {"plain", detail::plain_features, false,
     [](Recipe& r) {
       if (r.slopes && r.mask == MaskKind::added) r.mask = MaskKind::boolean;
     },
     detail::write_plain},
    {"torch", detail::torch_features, false,
     [](Recipe& r) {
       if (r.causality != Causality::none) detail::drop_mask(r);
     },
     detail::write_torch},
    {"onnx-23", detail::onnx_features(23), false, detail::align_by_past, detail::write_onnx},
    {"onnx-24", detail::onnx_features(24), false,
     [](Recipe& r) {
       if (r.lengths)
         r.past = 0;
       else
         detail::align_by_past(r);
     },
     detail::write_onnx, "sinks", "nonpad_kv_seqlen"},
    {"onnx-25", detail::onnx_features(25), false,
     [](Recipe& r) {
       if (r.lengths)
         r.past = 0;
       else
         detail::align_by_past(r);
     },
     detail::write_onnx, "sinks", "nonpad_kv_seqlen"},
    {"flash-attention-2", detail::flash_attention_features(true), true,
     [](Recipe& r) {
       if (r.softcap != 0) r.slopes = false;
     },
     detail::write_flash_attention},
    {"flash-attention-3", detail::flash_attention_features(false), false, [](Recipe&) {},
     detail::write_flash_attention},
    {"jax", detail::jax_features, true,
     [](Recipe& r) {
       if (r.left < 0 || r.right < 0) r.left = r.right = -1;
     },
     detail::write_jax},
    {"mlx", detail::mlx_features, false,
     [](Recipe& r) {
       if (r.causality != Causality::none) detail::drop_mask(r);
     },
     detail::write_mlx},
    {"gpt-oss", detail::gpt_oss_features, false,
     [](Recipe& r) {
       if (!r.sink) r.sink = 0.5;
       if (r.causality == Causality::none) r.causality = Causality::top_left;
       r.right = -1;
       detail::align_by_past(r);
     },
     detail::write_gpt_oss},
    {"cudnn", detail::cudnn_features, false,
     [](Recipe& r) {
       if (r.causality == Causality::none) r.slopes = false;
       if (r.slopes) detail::drop_mask(r);
     },
     detail::write_cudnn, "sink_token", "seq_len_kv"},
    {"flashinfer", detail::flashinfer_features, false,
     [](Recipe& r) {
       if (r.causality != Causality::none) detail::drop_mask(r);
       if (r.softcap != 0) r.slopes = false;
       r.right = -1;
       r.base = r.log_sum_exp ? LogBase::two : LogBase::e;
     },
     detail::write_flashinfer},
    {"ort-gqa", detail::ort_gqa_features, false,
     [](Recipe& r) {
       r.causality = Causality::bottom_right;
       r.queries = r.queries < r.keys ? r.queries : r.keys;
       r.past = r.keys - r.queries;
       if (r.past == 0) r.lengths = false;
       r.large_beyond = false;
       if (r.left <= 0) r.left = -1;
       r.right = -1;
     },
     detail::write_ort_gqa, "head_sink", "", true},
    {"ort-mha", detail::ort_mha_features, false, detail::align_by_past, detail::write_ort_mha, "",
     "", true},
    {"openvino", detail::openvino_features, false,
     [](Recipe& r) {
       if (r.causality != Causality::none) detail::drop_mask(r);
       if (r.key_value_heads != r.query_heads) r.key_value_heads = 1;
     },
     detail::write_openvino, "sink"},
    {"ggml", detail::ggml_features, false, [](Recipe&) {}, detail::write_ggml},
};

// Null: recipes cannot be written in it.
inline const RecipeDialect* find_recipe_dialect(std::string_view name) {
  for (const RecipeDialect& dialect : recipe_dialects)
    if (dialect.name == name) return &dialect;
  return nullptr;
}

}  // namespace attest::oracle
