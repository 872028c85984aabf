// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// FlashInfer: https://docs.flashinfer.ai/api/prefill.html (single, ragged and paged prefill) and
// include/flashinfer/attention/variants.cuh.
#pragma once
#include <attest/oracle/dialect/conventions.hpp>
#include <attest/oracle/dialect/packed.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace attest::oracle {
namespace detail {

inline constexpr Conventions flashinfer_conventions{.alignment = Alignment::bottom_right,
                                                    .window = WindowCount::beside_own};
inline constexpr Term flashinfer_options[] = {
    {"sm_scale", "1/√D"},
    {"causal", "false; the last query at the last key; ignored with a custom mask"},
    {"window_left", "-1, open; keys to the left of the query's own, inclusive"},
    {"logits_soft_cap", "0, off; before the mask"},
    {"pos_encoding_mode", "NONE; or ALIBI, slope·(key - query) is added"},
    {"backend, use_fp16_qk_reduction, return_lse", "change no number"},
};
inline constexpr Term flashinfer_arrays[] = {
    {"attn_mask", "the custom mask, bool, true = attend; causal is ignored then"},
    {"qo_indptr, kv_indptr",
     "(B + 1); then q, k, v and out are (rows, heads, columns), and lse is (rows, heads)"},
    {"paged_kv_indptr, paged_kv_indices, paged_kv_last_page_len",
     "in the place of kv_indptr; then k and v are pages of keys"},
    {"sinks", "(Hq) attention sinks"},
    {"alibi_slopes", "(Hq) where those of ALIBI are no powers of two"},
};

// Pages of each batch entry, and how many keys they hold.
struct PagedKeys {
  std::vector<std::vector<std::size_t>> table;
  std::vector<std::size_t> lengths;
};

inline PagedKeys read_paged_kv(Arrays& arrays, const Tensor& pages) {
  constexpr const char* together =
      " is missing: paged_kv_indptr, paged_kv_indices and paged_kv_last_page_len come together";
  const Tensor* indptr = arrays.find("paged_kv_indptr");
  const Tensor* indices = arrays.find("paged_kv_indices");
  const Tensor* last = arrays.find("paged_kv_last_page_len");
  if (!indices) throw BadCall(std::string("array \"paged_kv_indices\"") + together);
  if (!last) throw BadCall(std::string("array \"paged_kv_last_page_len\"") + together);
  const auto starts = read_starts("paged_kv_indptr", *indptr, indices->size());
  const auto page = whole_numbers("paged_kv_indices", *indices, indices->size(), "pages", 0,
                                  static_cast<std::int64_t>(pages.shape[0]) - 1);
  const auto in_last =
      whole_numbers("paged_kv_last_page_len", *last, starts.size() - 1, "one for each batch entry",
                    0, static_cast<std::int64_t>(pages.shape[2]));
  PagedKeys result;
  for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
    result.table.emplace_back(page.begin() + static_cast<std::ptrdiff_t>(starts[b]),
                              page.begin() + static_cast<std::ptrdiff_t>(starts[b + 1]));
    const std::size_t count = starts[b + 1] - starts[b];
    result.lengths.push_back(
        count == 0 ? 0 : (count - 1) * pages.shape[2] + static_cast<std::size_t>(in_last[b]));
  }
  return result;
}

inline Problem read_flashinfer(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p;
  const Tensor& q = arrays.required("q");
  const Tensor& k = arrays.required("k");
  const Tensor& v = arrays.required("v");
  const Tensor* starts_q = arrays.find("qo_indptr");
  const Tensor* starts_k = arrays.find("kv_indptr");
  const Tensor* paged = arrays.find("paged_kv_indptr");
  if (!starts_q != !(starts_k || paged) || (starts_k && paged))
    throw BadCall(
        "array \"qo_indptr\": expected together with kv_indptr or paged_kv_indptr, one of them");
  std::vector<std::size_t> starts, starts_of_keys;
  if (starts_q) {
    starts = read_starts("qo_indptr", *starts_q, q.rank() == 3 ? q.shape[0] : 0);
    p.query = unpacked("q", q, starts);
    p.query_lengths = lengths_between(starts);
    p.padded_row = PaddedRow::absent;
    if (paged) {
      const Tensor key_pages = by_heads("k", k, call), value_pages = by_heads("v", v, call);
      if (key_pages.shape[2] == 0 || value_pages.shape[2] != key_pages.shape[2] ||
          value_pages.shape[0] != key_pages.shape[0])
        throw Arrays::wrong_shape("v", v, "as many pages and rows as \"k\" has");
      const PagedKeys keys = read_paged_kv(arrays, key_pages);
      if (keys.lengths.size() != p.batches())
        throw Arrays::wrong_shape("paged_kv_indptr", *paged, "as many entries as qo_indptr");
      p.lengths = keys.lengths;
      p.key = from_pages("k", key_pages, keys.table, p.lengths);
      p.value = from_pages("v", value_pages, keys.table, p.lengths);
    } else {
      starts_of_keys = read_starts("kv_indptr", *starts_k, k.rank() == 3 ? k.shape[0] : 0);
      if (starts_of_keys.size() != starts.size())
        throw Arrays::wrong_shape("kv_indptr", *starts_k, "as many entries as qo_indptr");
      if (v.rank() != 3 || v.shape[0] != k.shape[0])
        throw Arrays::wrong_shape("v", v, "as many rows as \"k\" has");
      p.lengths = lengths_between(starts_of_keys);
      p.key = unpacked("k", k, starts_of_keys);
      p.value = unpacked("v", v, starts_of_keys);
    }
    check_shapes(p);
    p.format = *p.query.format();
    p.offsets.assign(p.batches(), 0);
    read_packed_output(arrays, p, q, starts);
  } else {
    p = read_query_key_value(call, arrays);
    read_output(call, arrays, p);
  }
  read_mask(arrays, p, MaskKinds::boolean);
  p.hides_by_selection = true;
  p.rule.scale = options.scale("sm_scale");
  p.rule.causal = options.flag("causal") && !p.mask;
  p.rule.window_left = options.window("window_left", options.integer("window_left", -1));
  p.rule.softcap = positive_softcap(options, "logits_soft_cap");
  p.rule.empty_row = EmptyRow::zero;
  // flashinfer/prefill.py: "The logsumexp of attention output, shape: [qo_indptr[-1],
  // num_qo_heads]"; include/flashinfer/attention/prefill.cuh: ptx_log2(d) + m, m to base two. Of a
  // row without keys −∞ from 0.6.18 on; before it m = −5e4 stood for −∞ (math.cuh), and d is their
  // number.
  p.rule.log_sum_exp_base = LogBase::two;
  p.empty_log_sum_exp = EmptyLogSumExp::large_negative;
  p.large_negative = -4.9e4;
  align_bottom_right(p);
  read_sinks("sinks", arrays, p);
  const bool given_slopes = read_alibi_slopes(arrays, p);
  const bool alibi = options.word("pos_encoding_mode", "NONE", {"NONE", "ALIBI"}) == "ALIBI";
  if (alibi && p.rule.softcap != 0)
    throw options.wrong("pos_encoding_mode", "NONE beside logits_soft_cap, which would cap it");
  if (alibi) {
    p.alibi_distance = AlibiDistance::from_row;
    if (!given_slopes) {
      const auto slopes = computed_slopes("pos_encoding_mode", 8, p.query_heads(), options);
      for (std::size_t b = 0; b < p.batches(); ++b)
        p.alibi_slopes.insert(p.alibi_slopes.end(), slopes.begin(), slopes.end());
    }
  } else if (given_slopes) {
    throw options.wrong("pos_encoding_mode", "ALIBI with alibi_slopes");
  }
  options.without_effect({"backend", "use_fp16_qk_reduction", "return_lse"});
  if (starts_q)
    read_packed_log_sum_exp_and_gradients(arrays, p, PackedRows::rows_first, starts,
                                          starts_of_keys);
  else
    read_log_sum_exp_and_gradients(arrays, p);
  finish(p, options, arrays);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
