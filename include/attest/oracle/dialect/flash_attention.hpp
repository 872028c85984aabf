// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// FlashAttention 2 and 3: https://github.com/Dao-AILab/flash-attention, the docstrings of
// flash_attn/flash_attn_interface.py and hopper/flash_attn_interface.py.
#pragma once
#include <attest/oracle/dialect/conventions.hpp>
#include <attest/oracle/dialect/packed.hpp>

#include <string>
#include <vector>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions flash_attention_conventions{.alignment = Alignment::bottom_right,
                                                         .window = WindowCount::beside_own};
inline constexpr Term flash_attention_2_options[] = {
    {"softmax_scale", "1/√D"},
    {"causal", "false; aligned to the bottom right corner"},
    {"window_size", "[-1, -1], open; keys to the left and right of the query's own, inclusive"},
    {"softcap", "0, off; before the mask"},
    {"dropout_p", "0 only"},
    {"deterministic, max_seqlen_q, max_seqlen_k, return_attn_probs", "change no number"},
};
inline constexpr Term flash_attention_2_arrays[] = {
    {"alibi_slopes", "(Hq) or (B, Hq); -slope·|i + keys - queries - j| is added"},
    {"cu_seqlens_q, cu_seqlens_k",
     "(B + 1); then q, k, v and out are (rows, heads, columns), and lse is (heads, rows) or, as "
     "before 2.6, (B, heads, max_seqlen_q)"},
    {"seqused_k, cache_seqlens", "(B) keys that count; one of them"},
    {"block_table", "(B, pages); then k and v are pages of keys"},
};
inline constexpr Term flash_attention_3_options[] = {
    {"softmax_scale", "1/√D"},
    {"causal", "false; aligned to the bottom right corner"},
    {"window_size", "[-1, -1], open; keys to the left and right of the query's own, inclusive"},
    {"softcap", "0, off; before the mask"},
    {"attention_chunk", "0 only"},
    {"deterministic, max_seqlen_q, max_seqlen_k, num_splits, pack_gqa, sm_margin",
     "change no number"},
};
inline constexpr Term flash_attention_3_arrays[] = {
    {"cu_seqlens_q, cu_seqlens_k",
     "(B + 1); then q, k, v and out are (rows, heads, columns), and lse is (heads, rows)"},
    {"seqused_q", "(B) queries that count; rows beyond are not written"},
    {"seqused_k, cache_seqlens", "(B) keys that count; one of them"},
    {"page_table", "(B, pages); then k and v are pages of keys"},
};

// Queries, keys and values: in batches, or packed with starts; keys possibly in pages.
inline Problem read_flash_attention_arrays(const Call& call, Arrays& arrays,
                                           const std::string& page_table, bool query_lengths,
                                           PackedRows log_sum_exps) {
  Problem p;
  const Tensor& q = arrays.required("q");
  const Tensor& k = arrays.required("k");
  const Tensor& v = arrays.required("v");
  const Tensor* starts_q = arrays.find("cu_seqlens_q");
  const Tensor* starts_k = arrays.find("cu_seqlens_k");
  const Tensor* pages = arrays.find(page_table);
  std::vector<std::size_t> packed_q, packed_k;
  std::optional<std::vector<std::size_t>> key_lengths;

  if (starts_q) {
    packed_q = read_starts("cu_seqlens_q", *starts_q, q.rank() == 3 ? q.shape[0] : 0);
    p.query = unpacked("q", q, packed_q);
    p.query_lengths = lengths_between(packed_q);
    p.padded_row = PaddedRow::absent;
  } else {
    p.query = by_heads("q", q, call);
  }
  if (!starts_q && starts_k)
    throw BadCall("array \"cu_seqlens_q\" is missing: it comes with cu_seqlens_k");
  for (const char* name : {"seqused_k", "cache_seqlens"}) {
    auto lengths = read_lengths(name, arrays, p, INT32_MAX);
    if (lengths && key_lengths)
      throw BadCall("array \"cache_seqlens\": found together with seqused_k, expected one of them");
    if (lengths) key_lengths = std::move(lengths);
  }
  if (pages) {
    if (!key_lengths && starts_k)
      key_lengths = lengths_between(read_starts("cu_seqlens_k", *starts_k, INT32_MAX));
    if (!key_lengths)
      throw BadCall("array \"" + page_table + "\": found without lengths of keys, expected " +
                    "seqused_k, cache_seqlens or cu_seqlens_k");
    if (key_lengths->size() != p.batches())
      throw Arrays::wrong_shape("cu_seqlens_k", *starts_k, "as many entries as cu_seqlens_q");
    const Tensor key_pages = by_heads("k", k, call), value_pages = by_heads("v", v, call);
    if (key_pages.shape[2] == 0 || value_pages.shape[2] != key_pages.shape[2] ||
        value_pages.shape[0] != key_pages.shape[0])
      throw Arrays::wrong_shape("v", v, "as many pages and rows as \"k\" has");
    const auto table = read_page_table(page_table, *pages, key_pages, *key_lengths);
    p.key = from_pages("k", key_pages, table, *key_lengths);
    p.value = from_pages("v", value_pages, table, *key_lengths);
  } else if (starts_q) {
    if (!starts_k) throw BadCall("array \"cu_seqlens_k\" is missing: it comes with cu_seqlens_q");
    packed_k = read_starts("cu_seqlens_k", *starts_k, k.rank() == 3 ? k.shape[0] : 0);
    if (packed_k.size() != packed_q.size())
      throw Arrays::wrong_shape("cu_seqlens_k", *starts_k, "as many entries as cu_seqlens_q");
    if (v.rank() != 3 || v.shape[0] != k.shape[0])
      throw Arrays::wrong_shape("v", v, "as many rows as \"k\" has");
    p.key = unpacked("k", k, packed_k);
    p.value = unpacked("v", v, packed_k);
    const std::vector<std::size_t> lengths = lengths_between(packed_k);
    if (key_lengths)
      for (std::size_t b = 0; b < lengths.size(); ++b)
        if ((*key_lengths)[b] > lengths[b])
          throw BadCall("array \"seqused_k\": found " + std::to_string((*key_lengths)[b]) +
                        ", expected at most the " + std::to_string(lengths[b]) +
                        " keys of its batch entry");
    if (!key_lengths) key_lengths = lengths;
  } else {
    p.key = by_heads("k", k, call);
    p.value = by_heads("v", v, call);
  }
  check_shapes(p);
  p.format = *p.query.format();
  p.offsets.assign(p.batches(), 0);
  p.lengths = key_lengths ? *key_lengths : std::vector<std::size_t>(p.batches(), p.keys());
  for (const std::size_t length : p.lengths)
    if (length > p.keys())
      throw BadCall("array \"seqused_k\": found length " + std::to_string(length) +
                    ", expected 0 to " + std::to_string(p.keys()));
  if (query_lengths) {
    if (auto lengths = read_lengths("seqused_q", arrays, p, p.queries())) {
      if (starts_q)
        throw BadCall(
            "array \"seqused_q\": found together with cu_seqlens_q, expected one of them");
      p.query_lengths = *lengths;
      p.padded_row = PaddedRow::unspecified;  // not written
    }
  }
  if (starts_q) {
    read_packed_output(arrays, p, q, packed_q);
    read_packed_log_sum_exp_and_gradients(arrays, p, log_sum_exps, packed_q, packed_k);
  } else {
    read_output(call, arrays, p);
    read_log_sum_exp_and_gradients(arrays, p);
    if (key_lengths) p.padded_key = PaddedRow::unspecified;  // not written
  }
  return p;
}

// "If causal=True, the causal mask is aligned to the bottom right corner of the attention matrix …
// If the row of the mask is all zero, the output will be zero." "Query at position i will only
// attend to keys between [i + seqlen_k - seqlen_q - window_size[0], i + seqlen_k - seqlen_q +
// window_size[1]] inclusive."
inline void read_flash_attention_rule(Options& options, Problem& p) {
  p.rule.scale = options.scale("softmax_scale");
  p.rule.causal = options.flag("causal");
  const std::vector<std::int64_t> window = options.integers("window_size", 2, {-1, -1});
  p.rule.window_left = options.window("window_size", window[0]);
  p.rule.window_right = options.window("window_size", window[1]);
  p.rule.softcap = positive_softcap(options, "softcap");
  p.rule.empty_row = EmptyRow::zero;
  p.hides_by_selection = true;
  align_bottom_right(p);
}

inline Problem read_flash_attention_2(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  // csrc/flash_attn/flash_api.cpp, mha_varlen_fwd: from 2.6.0 on (heads, rows), before it (batch,
  // heads, max_seqlen_q), of which what lies beyond an entry's queries is not written
  Problem p = read_flash_attention_arrays(call, arrays, "block_table", false,
                                          PackedRows::heads_first_or_padded);
  if (p.value_width() != p.width())
    throw Arrays::wrong_shape("v", *call.find("v"), "the width of \"k\"");
  read_flash_attention_rule(options, p);
  p.empty_log_sum_exp = EmptyLogSumExp::plus_infinity;  // csrc/flash_attn/src/softmax.h
  // "A bias of (-alibi_slope * |i + seqlen_k - seqlen_q - j|) is added to the attention score of
  // query i and key j."
  if (read_alibi_slopes(arrays, p) && p.rule.softcap != 0)
    throw options.wrong("softcap", "0 beside alibi_slopes: it does not say which comes first");
  options.no_dropout("dropout_p");
  options.without_effect({"deterministic", "max_seqlen_q", "max_seqlen_k", "return_attn_probs"});
  finish(p, options, arrays);
  return p;
}

inline Problem read_flash_attention_3(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p =  // hopper/flash_api.cpp: {num_heads, total_q}
      read_flash_attention_arrays(call, arrays, "page_table", true, PackedRows::heads_first);
  read_flash_attention_rule(options, p);
  if (options.integer("attention_chunk", 0) != 0) throw options.wrong("attention_chunk", "0");
  options.without_effect(
      {"deterministic", "max_seqlen_q", "max_seqlen_k", "num_splits", "pack_gqa", "sm_margin"});
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
