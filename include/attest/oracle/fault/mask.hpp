// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of the mask: which keys it hides, and how.
#pragma once
#include <attest/oracle/fault/causality.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace attest::oracle::detail {

inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

inline std::vector<double> if_masked(const Problem& p) {
  return p.mask || p.padding_mask ? one_setting : std::vector<double>{};
}
inline std::vector<double> if_boolean_mask(const Problem& p) {
  return p.mask && p.mask->type == ElementType::boolean ? one_setting : std::vector<double>{};
}
inline std::vector<double> if_mask_varies(const Problem& p, std::size_t axis) {
  return p.mask && p.mask->strides[axis] != 0 && p.mask->shape[axis] > 1 ? one_setting
                                                                         : std::vector<double>{};
}
// Whether anything may hide a key.
inline bool may_hide(const Problem& p) {
  if (p.mask || p.padding_mask || positions_matter(p)) return true;
  for (const std::size_t length : p.lengths)
    if (length < p.given_keys()) return true;
  return false;
}
inline std::vector<double> if_may_hide(const Problem& p) {
  return may_hide(p) ? one_setting : std::vector<double>{};
}
// The bias of a call whose mask is another, from that of the call and from that without a mask.
inline void own_mask(
    Implementation& by,
    std::function<double(const Problem& with, RowIndex, std::size_t, const Problem& without)>
        bias) {
  const auto with = std::make_shared<Problem>(by.problem);
  const auto without = std::make_shared<Problem>(by.problem);
  without->mask.reset();
  without->mask_slopes.clear();
  if (!with->mask) return;  // another fault has dropped it
  by.steps.own_bias = [with, without, bias](const Problem&, RowIndex at, std::size_t j) {
    return bias(*with, at, j, *without);
  };
}
// What a boolean mask says; keys beyond its columns are hidden.
inline bool attends(const Problem& p, RowIndex at, std::size_t j) {
  return j < p.mask->shape[3] && p.mask->integer_at(p.mask->at(at.batch, at.head, at.row, j)) != 0;
}
inline void drop_mask(Implementation& by) {
  by.problem.mask.reset();
  by.problem.mask_slopes.clear();
  by.problem.padding_mask.reset();
}

// Finite numbers that are used in the place of −∞: lowest of the formats, what frameworks use, and
// powers of ten. A negative one is the score of a hidden key, of a positive one the negative is
// added to it.
inline std::vector<double> finite_fills(const Problem& p) {
  if (!may_hide(p)) return {};
  std::vector<double> fills{-1e9,
                            -1e4,
                            -formats::float32.largest,
                            -formats::float16.largest,
                            -formats::bfloat16.largest,
                            -0.7 * formats::float32.largest,
                            -1e10,
                            -5e4,
                            -1e5,
                            -1e6,
                            -1e8,
                            -1e7,
                            -1e30,
                            -1e38,
                            -3e4,
                            -1e3,
                            -100};
  const bool adds = p.rule.masked_non_finite == MaskedNonFinite::propagate;
  // a framework that adds masks by definition has the lowest number of the format at hand
  if (adds || p.format.max_exponent < 127) fills.insert(fills.begin(), -p.format.largest);
  std::vector<double> both;
  for (const bool added : {adds, !adds})
    for (const double fill : fills) both.push_back(added ? -fill : fill);
  return both;
}

inline Example masked_example(const Numbers& scores, const Numbers& values, const Numbers& mask) {
  return one_query(scores, values)
      .option("scale", 1.0)
      .array("attn_mask", {1, mask.size()}, mask, ElementType::boolean);
}

inline constexpr Fault mask_faults[] = {
    {"mask dropped", FaultFamily::mask, "The mask is not applied.",
     "one path of a kernel, or a graph rewrite, loses the argument", "keras-team/keras#23038",
     if_masked, [](Implementation& by, double) { drop_mask(by); }, nullptr,
     [] {
       return masked_example({0, 0}, {0, 1}, {1, 0});
     }},
    {"mask inverted", FaultFamily::mask, "Keys whose mask is true are hidden, the others seen.",
     "true means attend in one framework and hide in another", "lucidrains/x-transformers#160",
     if_boolean_mask,
     [](Implementation& by, double) {
       own_mask(by, [](const Problem& p, RowIndex at, std::size_t j, const Problem& without) {
         const double bias = without.bias(at.batch, at.head, at.row, j);
         if (j >= p.given_keys()) return bias;
         return attends(p, at, j) ? minus_infinity : bias;
       });
     },
     nullptr,
     [] {
       return masked_example({0, 0}, {0, 1}, {1, 0});
     }},
    {"boolean mask added as numbers", FaultFamily::mask,
     "1 is added to the score of a key that may be seen, 0 to that of one that may not.",
     "the kernel expects numbers and is handed booleans", "microsoft/onnxscript#580",
     if_boolean_mask,
     [](Implementation& by, double) {
       own_mask(by, [](const Problem& p, RowIndex at, std::size_t j, const Problem& without) {
         const double bias = without.bias(at.batch, at.head, at.row, j);
         if (j >= p.given_keys()) return bias;
         return bias + attends(p, at, j);
       });
     },
     nullptr,
     [] {
       return masked_example({0, 0}, {0, 1}, {1, 0});
     }},
    {"a finite number for −∞", FaultFamily::mask,
     "A hidden key's score is a large negative number, or its score with that added: where other "
     "scores are lower, hidden keys win.",
     "a finite number stands for −∞", "ohdearquant/lattice#361", finite_fills,
     [](Implementation& by, double value) {
       by.steps.fill = Fill{-std::fabs(value), value > 0};
       by.in_claimed_formats = true;
     },
     [](double value) {
       return value > 0
                  ? number_in_words(-value) + " is added to hidden keys' scores in place of −∞"
                  : "hidden keys get the score " + number_in_words(value) + " in place of −∞";
     },
     [] {
       return masked_example({-20000, 0}, {1, 100}, {1, 0});
     }},
    {"hidden keys get score 0", FaultFamily::mask,
     "The score of a hidden key is 0 in place of −∞: it takes part like a key of zeros.",
     "the mask multiplies the scores; or it is filled with 1e-9 where −1e9 is meant", "",
     if_may_hide,
     [](Implementation& by, double) {
       by.steps.fill = Fill{0, false};
     },
     nullptr,
     [] {
       return masked_example({2, 0}, {0, 1}, {1, 0});
     }},
    {"weights hidden after the softmax", FaultFamily::mask,
     "Hidden keys take part in the softmax; their weights are set to 0 after it.",
     "the mask multiplies weights, so that rows no longer sum to 1", "", if_may_hide,
     [](Implementation& by, double) {
       by.steps.own_bias = [](const Problem& p, RowIndex at, std::size_t j) {
         const double bias = p.bias(at.batch, at.head, at.row, j);
         return bias == minus_infinity ? 0 : bias;
       };
       on_weights(by, [](const Problem& p, KeyRow& row) {
         for (std::size_t j = 0; j < p.keys() && j < row.size(); ++j)
           if (p.bias(row.place.batch, row.place.head, row.place.row, j) == minus_infinity)
             row.weights[j] = 0;
       });
     },
     nullptr,
     [] {
       return masked_example({0, 0}, {1, 1}, {1, 0});
     }},
    {"mask of batch 0 in every batch entry", FaultFamily::mask,
     "Every batch entry reads the mask of the first.",
     "the mask's stride along the batch is lost in broadcasting", "tenstorrent/tt-metal#39946",
     [](const Problem& p) { return if_mask_varies(p, 0); },
     [](Implementation& by, double) {
       map(by.steps.bias, [](const Problem&, RowIndex at) {
         at.batch = 0;
         return at;
       });
     },
     nullptr,
     [] {
       return small_call({2, 1, 1, 1}, {0, 0}, {2, 1, 2, 1}, Numbers(4, 0), {2, 1, 2, 1},
                         {0, 1, 0, 1})
           .array("attn_mask", {2, 1, 1, 2}, {1, 0, 0, 1}, ElementType::boolean);
     }},
    {"mask of head 0 in every head", FaultFamily::mask, "Every head reads the mask of the first.",
     "the mask's stride along the heads is lost in broadcasting", "tenstorrent/tt-mlir#8028",
     [](const Problem& p) { return if_mask_varies(p, 1); },
     [](Implementation& by, double) {
       map(by.steps.bias, [](const Problem&, RowIndex at) {
         at.head = 0;
         return at;
       });
     },
     nullptr,
     [] {
       return small_call({1, 2, 1, 1}, {0, 0}, {1, 2, 2, 1}, Numbers(4, 0), {1, 2, 2, 1},
                         {0, 1, 0, 1})
           .array("attn_mask", {1, 2, 1, 2}, {1, 0, 0, 1}, ElementType::boolean);
     }},
    {"mask in head 0 only", FaultFamily::mask, "Only the first head is masked.",
     "a mask of one head is not broadcast to the others", "tracel-ai/burn#4484",
     [](const Problem& p) {
       return p.mask && p.query_heads() > 1 ? one_setting : std::vector<double>{};
     },
     [](Implementation& by, double) {
       own_mask(by, [](const Problem& p, RowIndex at, std::size_t j, const Problem& without) {
         return (at.head == 0 ? p : without).bias(at.batch, at.head, at.row, j);
       });
     },
     nullptr,
     [] {
       return small_call({1, 2, 1, 1}, {0, 0}, {1, 2, 2, 1}, Numbers(4, 0), {1, 2, 2, 1},
                         {0, 1, 0, 1})
           .array("attn_mask", {1, 1, 1, 2}, {1, 0}, ElementType::boolean);
     }},
    {"mask's first row for every query", FaultFamily::mask,
     "Every query reads the first row of the mask.",
     "the mask's stride along the queries is lost in broadcasting", "microsoft/onnxruntime#26766",
     [](const Problem& p) { return if_mask_varies(p, 2); },
     [](Implementation& by, double) {
       own_mask(by, [](const Problem& p, RowIndex at, std::size_t j, const Problem& without) {
         Problem first = without;
         first.mask = p.mask;
         first.mask->strides[2] = 0;
         first.mask_slopes = p.mask_slopes;
         return first.bias(at.batch, at.head, at.row, j);
       });
     },
     nullptr,
     [] {
       return equal_scores(2, {0, 1}).array("attn_mask", {2, 2}, {1, 0, 0, 1},
                                            ElementType::boolean);
     }},
    {"mask's batches and heads exchanged", FaultFamily::mask,
     "A mask of its own for each batch entry is read as one for each head, or the other way round.",
     "a mask of three axes is broadcast from the wrong side", "tenstorrent/tt-metal#39946",
     [](const Problem& p) {
       const bool one = if_mask_varies(p, 0).empty() != if_mask_varies(p, 1).empty();
       return one && p.batches() > 1 && p.query_heads() > 1 && p.only_masks() && p.offsets[0] == 0
                  ? one_setting
                  : std::vector<double>{};
     },
     [](Implementation& by, double) {
       map(by.steps.bias, [](const Problem& p, RowIndex at) {
         return RowIndex{at.head % p.batches(), at.batch % p.query_heads(), at.row};
       });
     },
     nullptr,
     [] {
       return small_call({2, 2, 1, 1}, Numbers(4, 0), {2, 2, 2, 1}, Numbers(8, 0), {2, 2, 2, 1},
                         {0, 1, 0, 1, 0, 1, 0, 1})
           .array("attn_mask", {2, 1, 1, 2}, {1, 0, 0, 1}, ElementType::boolean);
     }},
    {"mask read transposed", FaultFamily::mask, "Query i and key j read the mask at (j, i).",
     "rows and columns are exchanged", "",
     [](const Problem& p) {
       return p.mask && p.mask->shape[2] == p.mask->shape[3] && p.mask->shape[2] > 1
                  ? one_setting
                  : std::vector<double>{};
     },
     [](Implementation& by, double) {
       if (!by.problem.mask) return;  // another fault has dropped it
       Tensor& mask = *by.problem.mask;
       std::swap(mask.strides[2], mask.strides[3]);
     },
     nullptr,
     [] {
       return equal_scores(2, {0, 1}).array("attn_mask", {2, 2}, {1, 0, 1, 1},
                                            ElementType::boolean);
     }},
    {"hidden keys seen within a block", FaultFamily::mask,
     "A hidden key is seen if any key of its block of n is.",
     "a block is skipped or taken as a whole, without the mask inside it",
     "tenstorrent/tt-metal#48700",
     [](const Problem& p) {
       std::vector<double> blocks;
       if (!may_hide(p)) return blocks;
       for (const std::size_t n : {128u, 64u, 32u, 16u, 8u, 4u, 2u})
         if (n < 2 * p.given_keys()) blocks.push_back(static_cast<double>(n));
       return blocks;
     },
     [](Implementation& by, double n) {
       by.steps.own_bias = [n](const Problem& p, RowIndex at, std::size_t j) {
         const double bias = p.bias(at.batch, at.head, at.row, j);
         if (bias != minus_infinity || j >= p.given_keys()) return bias;
         const auto block = static_cast<std::size_t>(n);
         const std::size_t from = j / block * block;
         for (std::size_t k = from; k < from + block && k < p.given_keys(); ++k)
           if (p.bias(at.batch, at.head, at.row, k) != minus_infinity) return 0.0;
         return bias;
       };
     },
     [](double n) { return "hidden keys seen within a block of " + number_in_words(n); },
     [] {
       return masked_example({0, 0}, {0, 1}, {1, 0});
     }},
    {"lowest number taken for −∞", FaultFamily::mask,
     "A key whose added mask is the lowest number of the format is hidden altogether.",
     "rows of such keys alone are counted as rows without keys, though their scores are finite", "",
     [](const Problem& p) {
       return p.mask && p.mask->format() ? one_setting : std::vector<double>{};
     },
     [](Implementation& by, double) {
       own_mask(by, [](const Problem& p, RowIndex at, std::size_t j, const Problem& without) {
         const double bias = without.bias(at.batch, at.head, at.row, j);
         if (j >= p.given_keys() || j >= p.mask->shape[3])
           return p.bias(at.batch, at.head, at.row, j);
         const double added = p.mask->number(at.batch, at.head, at.row, j);
         return bias == minus_infinity || added <= -0.99 * p.mask->format()->largest
                    ? minus_infinity
                    : p.bias(at.batch, at.head, at.row, j);
       });
     },
     nullptr,
     [] {
       return one_query({0, 0}, {1, 3})
           .array("attn_mask", {1, 2}, {-formats::float32.largest, -formats::float32.largest});
     }},
    {"added mask dropped where it is finite", FaultFamily::mask,
     "Of an added mask only −∞ counts, other numbers are taken for 0.",
     "a bias is turned into booleans", "",
     [](const Problem& p) {
       return p.mask && p.mask->format() ? one_setting : std::vector<double>{};
     },
     [](Implementation& by, double) {
       own_mask(by, [](const Problem& p, RowIndex at, std::size_t j, const Problem& without) {
         const double bias = p.bias(at.batch, at.head, at.row, j);
         return bias == minus_infinity ? bias : without.bias(at.batch, at.head, at.row, j);
       });
     },
     nullptr,
     [] {
       return one_query({0, 0}, {0, 1}).array("attn_mask", {1, 2}, {0, 1});
     }},
    {"added mask scaled", FaultFamily::mask, "The added mask is multiplied by the scale.",
     "it is added before the scale is applied", "",
     [](const Problem& p) {
       return p.mask && p.mask->format() ? one_setting : std::vector<double>{};
     },
     [](Implementation& by, double) {
       own_mask(by, [](const Problem& p, RowIndex at, std::size_t j, const Problem& without) {
         const double rest = without.bias(at.batch, at.head, at.row, j);
         const double bias = p.bias(at.batch, at.head, at.row, j);
         return bias == minus_infinity ? bias : rest + (bias - rest) * scale_of(p);
       });
     },
     nullptr,
     [] {
       return one_query({0, 0}, {0, 1}).option("scale", 0.5).array("attn_mask", {1, 2}, {0, 2});
     }},
    {"causality ignored beside the mask", FaultFamily::mask,
     "Where there is a mask, later keys are seen.", "mask or causality is applied, not both",
     "pytorch/pytorch#187801",
     [](const Problem& p) { return p.mask && p.rule.causal ? one_setting : std::vector<double>{}; },
     [](Implementation& by, double) { by.problem.rule.causal = false; }, nullptr,
     [] {
       return equal_scores(2, {0, 1})
           .option("causal", std::string("top-left"))
           .array("attn_mask", {2, 2}, {1, 1, 1, 1}, ElementType::boolean);
     }},
    {"NaN of a hidden key hidden too", FaultFamily::mask,
     "What a hidden key or value holds does not matter, though the definition lets a NaN through.",
     "hidden keys are not read at all", "pytorch/pytorch#101967",
     [](const Problem& p) {
       return may_hide(p) && p.rule.masked_non_finite == MaskedNonFinite::propagate
                  ? one_setting
                  : std::vector<double>{};
     },
     [](Implementation& by, double) {
       by.problem.rule.masked_non_finite = MaskedNonFinite::unspecified;
       by.problem.hides_by_selection = true;
     },
     nullptr,
     [] {
       Example example("onnx-23");
       const double nan = std::numeric_limits<double>::quiet_NaN();
       example.array("q", {1, 1, 1, 1}, {0})
           .array("k", {1, 1, 2, 1}, {0, nan})
           .array("v", {1, 1, 2, 1}, {1, 2})
           .array("attn_mask", {1, 2}, {1, 0}, ElementType::boolean)
           .array("out", {1, 1, 1, 1}, {0});
       return example;
     }},
};

// What a row returns whose query sees no key.
inline std::vector<double> if_other_empty_row(const Problem& p, EmptyRow row) {
  return may_hide(p) && p.rule.empty_row != row && p.rule.empty_row != EmptyRow::unspecified &&
                 p.sinks.empty()
             ? one_setting
             : std::vector<double>{};
}
inline Example empty_row_example(const char* returns) {
  return masked_example({0, 0}, {1, 2}, {0, 0}).option("empty_row", std::string(returns));
}

inline constexpr Fault empty_row_faults[] = {
    {"rows without keys are NaN", FaultFamily::mask,
     "A query that sees no key returns NaN in place of what the definition says.",
     "0/0 of a sum without terms, or −∞ − (−∞)", "pytorch/pytorch#103749",
     [](const Problem& p) { return if_other_empty_row(p, EmptyRow::nan); },
     [](Implementation& by, double) { by.problem.rule.empty_row = EmptyRow::nan; }, nullptr,
     [] { return empty_row_example("zero"); }},
    {"rows without keys are the mean of all values", FaultFamily::mask,
     "A query that sees no key returns the mean of all values.",
     "all keys are filled with the same finite number, and softmax gives all the same weight",
     "ml-explore/mlx#2626", [](const Problem& p) { return if_other_empty_row(p, EmptyRow::mean); },
     [](Implementation& by, double) { by.problem.rule.empty_row = EmptyRow::mean; }, nullptr,
     [] { return empty_row_example("zero"); }},
    {"rows without keys are zero", FaultFamily::mask,
     "A query that sees no key returns zeros in place of what the definition says.",
     "a division by a sum of 0 is guarded", "pytorch/pytorch#110213",
     [](const Problem& p) { return if_other_empty_row(p, EmptyRow::zero); },
     [](Implementation& by, double) { by.problem.rule.empty_row = EmptyRow::zero; }, nullptr,
     [] { return empty_row_example("mean"); }},
};

}  // namespace attest::oracle::detail
