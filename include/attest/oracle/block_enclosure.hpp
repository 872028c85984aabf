// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Enclosures of a block of query rows at the speed of plain attention: the same intervals as
// enclosure.hpp, wider, from a bound of a row's scores by norms instead of one of each score.
//
// In double, or in split double (block_kernel.hpp), whose leading sums are exact. For a row with N
// keys, L = Σ ê >= 1, errors of scores at most D and of weights at most ρ (relative), R the
// distance from an output to the farthest value of its column, W the largest |value|:
//   double:  ρ L R/L + N u W + (N + 2) u |o|
//   split:   (ρ L + 2^-76 N) R/L + 2.02 N u (2^-23 L + 2^-24 N) W₂/L + 2^-24 N² u |o|/L + 32 u² |o|
// with W₂ <= 2 W the power of two that a column is split by. Derivations: docs/enclosure.md.
#pragma once
#include <attest/oracle/block_kernel.hpp>
#include <attest/oracle/double_double.hpp>
#include <attest/oracle/problem.hpp>
#include <attest/oracle/score_tolerance.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle::detail {

// A power of two above |x|, at least 2^-400: smaller numbers need no leading part.
inline int power_above(double x) {
  int exponent = -400;
  if (x != 0) std::frexp(x, &exponent);
  return std::max(exponent, -400);
}

// What numbers of at most 2^exponent are rounded by to multiples of 2^(exponent − bits).
inline double splitting_shift(int exponent, int bits) {
  return std::ldexp(1.5, 52 + exponent - bits);
}

// ‖x‖ with its own rounding, and with squares that underflow.
inline double norm(const double* x, std::size_t count) {
  double sum = 0;
  for (std::size_t t = 0; t < count; ++t) sum += x[t] * x[t];
  return std::sqrt(sum) * (1 + 0x1p-30) + static_cast<double>(count) * 0x1p-510;
}

struct RowSize {
  double norm = 0, size = 0, largest = 0;  // ‖x‖₂, Σ|x|, max |x|

  static RowSize of(const double* x, std::size_t count) {
    RowSize result{detail::norm(x, count)};
    for (std::size_t t = 0; t < count; ++t) {
      result.size += std::fabs(x[t]);
      result.largest = std::max(result.largest, std::fabs(x[t]));
    }
    result.size *= 1 + 0x1p-30;
    return result;
  }
  void raise_to(const RowSize& other) {
    norm = std::max(norm, other.norm);
    size = std::max(size, other.size);
    largest = std::max(largest, other.largest);
  }
};

// Keys and values of one head as the kernels read them.
struct BlockHead {
  std::size_t width = 0, value_width = 0, keys = 0;
  std::size_t columns = 0;  // value_width padded
  bool split = false;
  bool finite = false;
  std::vector<double> panels, values;
  RowSize key_size;                     // the largest of each
  std::vector<double> lowest, highest;  // of each column
  // Split only. Leading bits of queries and keys, so many that the sum of `width` products of two
  // is exact; the shifts of each key and column; the largest of the keys' powers.
  int bits = 0;
  std::vector<double> key_shifts, column_shifts, column_powers;
  double key_power = 0;

  void read(const Problem& problem, std::size_t batch, std::size_t head, bool in_split) {
    width = problem.width();
    value_width = problem.value_width();
    keys = problem.keys();
    columns = (value_width + column_padding - 1) / column_padding * column_padding;
    split = in_split;
    const std::size_t padded = (keys + panel_keys - 1) / panel_keys * panel_keys;
    panels.assign(padded * width, 0);
    values.assign(keys * columns, 0);
    lowest.assign(columns, std::numeric_limits<double>::infinity());
    highest.assign(columns, -std::numeric_limits<double>::infinity());
    bits = std::min(26, (53 - static_cast<int>(std::bit_width(width))) / 2);
    if (split) key_shifts.assign(padded, 0);
    std::vector<double> key(width);
    double poison = 0;  // 0·x is NaN exactly where x is not finite
    for (std::size_t j = 0; j < keys; ++j) {
      problem.read_key(batch, head, j, key.data());
      double* const panel = panels.data() + j / panel_keys * panel_keys * width + j % panel_keys;
      for (std::size_t t = 0; t < width; ++t) {
        panel[t * panel_keys] = key[t];
        poison += 0 * key[t];
      }
      const RowSize size = RowSize::of(key.data(), width);
      key_size.raise_to(size);
      if (split) {
        const int power = power_above(size.largest);
        key_shifts[j] = splitting_shift(power, bits);
        key_power = std::max(key_power, std::ldexp(1.0, power));
      }
      double* const value = values.data() + j * columns;
      problem.read_value(batch, head, j, value);
      for (std::size_t t = 0; t < value_width; ++t) {
        poison += 0 * value[t];
        lowest[t] = std::min(lowest[t], value[t]);
        highest[t] = std::max(highest[t], value[t]);
      }
    }
    finite = poison == 0;
    if (!split) return;
    column_shifts.assign(columns, 0);
    column_powers.assign(columns, 0);
    for (std::size_t t = 0; t < value_width && finite; ++t) {
      const int power = power_above(largest(t));
      column_shifts[t] = splitting_shift(power, value_bits);
      column_powers[t] = std::ldexp(1.0, power);
    }
  }

  double key(std::size_t j, std::size_t t) const {
    return panels[(j / panel_keys * width + t) * panel_keys + j % panel_keys];
  }
  double largest(std::size_t column) const {
    return std::max(std::fabs(lowest[column]), std::fabs(highest[column]));
  }
};

// What is known of one row of a block.
struct BlockRow {
  bool bounded = false;  // whether its outputs are enclosed; if not, nothing else is known
  std::size_t first = 0, last = 0;  // its visible keys lie here
  std::size_t visible = 0;
  RowSize query;
  ScoreSizes scores{};           // at most these
  double sum = 0, sum_rest = 0;  // Σ ê
  double maximum = 0;            // of the scores
  double rho = 0;                // the relative error of a weight at most
};

// What lower bounds of sums beside the outputs are wanted.
struct SumsWanted {
  bool squares = false;         // Σ p² v²
  std::size_t keys_apart = 16;  // Σ p|v| is summed over every so-many-th key at least
};

// Computes blocks of rows, one after the other. One thread's.
class BlockRows {
 public:
  BlockRows(const Problem& problem, const Kernels& kernels, SumsWanted wanted = {})
      : problem_(problem), kernels_(kernels), wanted_(wanted) {
    const DoubleDouble scale = scale_value<DoubleDouble>(problem.rule.scale, problem.width());
    scale_ = scale.high;
    leading_scale_ = leading_bits(scale.high);
    scale_rest_ = (scale.high - leading_scale_) + scale.low;
  }

  // Whether there are blocks for the problem at all: one output, and a rule as it is computed here.
  template <class AnyProblem>
  static bool can_compute(const AnyProblem& problem) {
    const Rule& rule = problem.rule;
    if constexpr (requires { problem.only_masks() && problem.query_lengths.empty(); })
      if (!problem.only_masks() || !problem.query_lengths.empty()) return false;
    return problem.output && !problem.scores && problem.width() != 0 &&
           problem.value_width() != 0 && problem.keys() != 0 && !rule.alibi &&
           (rule.softcap == 0 || rule.softcap_place == SoftcapPlace::before_mask) &&
           std::isfinite(rule.softcap) && rule.softcap >= 0 &&
           (rule.scale.by_width || (std::isfinite(rule.scale.given) &&
                                    (!rule.scale_by_square_roots || rule.scale.given >= 0)));
  }
  // Rows whose scores stay within a few megabytes.
  static std::size_t rows_per_block(const Problem& problem, bool split) {
    const std::size_t numbers = (std::size_t{1} << 18) / (split ? 2 : 1);
    return std::clamp<std::size_t>(numbers / problem.keys() / 8 * 8, 8, 32);
  }

  std::vector<BlockRow> rows;

  void compute(const BlockHead& head, std::size_t batch, std::size_t query_head,
               std::size_t first_query, std::size_t count) {
    head_ = &head;
    rows.assign(count, {});
    queries_.resize(count * head.width);
    for (std::size_t r = 0; r < count; ++r) {
      problem_.query.read_row(batch, query_head, first_query + r, query_at(r));
      rows[r].query = RowSize::of(query(r), head.width);
      reach(batch, first_query + r, rows[r]);
    }
    std::size_t first = head.keys, last = 0;
    for (const BlockRow& row : rows) {
      if (row.first >= row.last) continue;
      first = std::min(first, row.first);
      last = std::max(last, row.last);
    }
    if (first >= last) return;
    first_panel_ = first / panel_keys;
    last_panel_ = (last + panel_keys - 1) / panel_keys;
    stride_ = (last_panel_ - first_panel_) * panel_keys;
    multiply_queries();
    for (std::size_t r = 0; r < count; ++r) weigh(batch, query_head, first_query + r, r);
    multiply_values(last);
  }

  // The exact output of a bounded row lies here.
  Enclosure output(std::size_t r, std::size_t t) const {
    const BlockRow& row = rows[r];
    const BlockHead& head = *head_;
    constexpr double u = 0x1p-53;
    // instead of 2^-1074: the processor takes a hundred times as long over subnormal numbers
    constexpr double smallest = 0x1p-1022;
    const auto n = static_cast<double>(row.visible);
    const double sum = outputs_[r * head.columns + t];
    DoubleDouble o;
    if (head.split)
      o = DoubleDouble::sum_of(sum, output_rests_[r * head.columns + t]) /
          DoubleDouble::sum_of(row.sum, row.sum_rest);
    else
      o = sum / row.sum;
    const double size = std::fabs(o.high), most = head.largest(t);
    const double spread = farthest(t, o.high);
    double bound;
    if (head.split) {
      const double power = head.column_powers[t];
      const double terms = 2 * n + n / 64 + 8;
      bound = (row.rho + n * 0x1p-76 / row.sum) * spread +
              terms * u *
                  ((row.sum + n * 0x1p-24) * power * 0x1p-24 + n * 0x1p-24 * most +
                   (n / 128 + 1) * u * row.sum * most) /
                  row.sum +
              n * n * u * 0x1p-24 * size / row.sum + 32 * u * u * size;
    } else {
      bound = row.rho * spread + n * u * most + (n + 2) * u * size;
    }
    // 2 %: what ρ adds to itself and to the sums, and the rounding of this bound
    return {o.high, o.low, 1.02 * (bound + 2 * n * 0x1p-1008 * most) + (4 * n + 16) * smallest};
  }
  // Σ e_j, as exactly as one exponential.
  double weight_sum(std::size_t r) const { return rows[r].sum + rows[r].sum_rest; }
  // A lower bound of Σ p|v|, of some of the keys.
  double size(std::size_t r, std::size_t t) const {
    const auto n = static_cast<double>(rows[r].visible);
    const double error = n * 0x1p-76 * (head_->split ? head_->largest(t) : 0);
    return std::max(0.0, (0.999 * sizes_[r * head_->columns + t] - error) / weight_sum(r) -
                             (n + 2) * 0x1p-1022);
  }
  // A lower bound of Σ p² v²; 0 unless squares are wanted.
  double squares(std::size_t r, std::size_t t) const {
    const double sum = weight_sum(r);
    return wanted_.squares ? 0.999 * squares_[r * head_->columns + t] / (sum * sum) : 0;
  }
  const double* query(std::size_t r) const { return queries_.data() + r * head_->width; }
  // e_j of a key from the row's first to its last; within 2^-14 of itself where it exceeds 2^-62.
  double exponential(std::size_t r, std::size_t j) const {
    const std::size_t at = r * stride_ + (j - first_panel_ * panel_keys);
    return head_->split ? scores_[at] + score_rests_[at] : scores_[at];
  }
  // max |v − o| over the column, rounded up.
  double farthest(std::size_t t, double o) const {
    const double distance = std::max(head_->highest[t] - o, o - head_->lowest[t]);
    return std::max(distance, 0.0) * (1 + 0x1p-40) + 0x1p-50 * (std::fabs(o) + head_->largest(t));
  }

 private:
  double* query_at(std::size_t r) { return queries_.data() + r * head_->width; }

  // The keys that position, window and length let a query see; a mask may hide more.
  void reach(std::size_t batch, std::size_t i, BlockRow& row) const {
    const Rule& rule = problem_.rule;
    const auto keys = static_cast<long>(std::min(problem_.keys(), problem_.lengths[batch]));
    const long position = static_cast<long>(i) + problem_.offsets[batch] + rule.offset;
    long first = 0, last = keys;
    if (rule.causal) last = std::min(last, position + 1);
    if (rule.window_right >= 0) last = std::min(last, position + rule.window_right + 1);
    if (rule.window_left >= 0) first = std::max(first, position - rule.window_left);
    if (first >= last) return;
    row.first = static_cast<std::size_t>(first);
    row.last = static_cast<std::size_t>(last);
  }

  void multiply_queries() {
    const BlockHead& head = *head_;
    scores_.resize(rows.size() * stride_);
    ScoreStep step{queries_.data(), rows.size(), head.width,     head.panels.data(),
                   first_panel_,    last_panel_, scores_.data(), stride_};
    if (!head.split) {
      kernels_.scores(step);
      return;
    }
    query_leading_.resize(queries_.size());
    query_rests_.resize(queries_.size());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const double shift = splitting_shift(power_above(rows[r].query.largest), head.bits);
      for (std::size_t t = r * head.width; t < (r + 1) * head.width; ++t) {
        query_leading_[t] = (queries_[t] + shift) - shift;
        query_rests_[t] = queries_[t] - query_leading_[t];
      }
    }
    score_rests_.resize(scores_.size());
    room_.resize(std::max(2 * panel_keys * head.width, 2 * run_keys * panel_keys));
    step.queries = query_leading_.data();
    step.query_rests = query_rests_.data();
    step.key_shifts = head.key_shifts.data();
    step.score_rests = score_rests_.data();
    step.room = room_.data();
    kernels_.split_scores(step);
  }

  // The row's bias over the panels; returns whether all of it is finite or hides.
  bool read_bias(std::size_t batch, std::size_t query_head, std::size_t i, BlockRow& row) {
    bias_.assign(stride_, 0);
    bool ordinary = true;
    row.visible = 0;
    // a number out of reach is hidden, NaN and ∞ there are not: their sum with −∞ is NaN
    const bool boolean = problem_.mask->type == ElementType::boolean;
    for (std::size_t j = boolean ? row.first : 0; j < (boolean ? row.last : head_->keys); ++j) {
      const double bias = problem_.bias(batch, query_head, i, j);
      if (bias == -std::numeric_limits<double>::infinity()) {
        if (j >= row.first && j < row.last) bias_[j - first_panel_ * panel_keys] = bias;
        continue;
      }
      if (!std::isfinite(bias)) ordinary = false;
      if (j < row.first || j >= row.last) continue;
      bias_[j - first_panel_ * panel_keys] = bias;
      ++row.visible;
      row.scores.bias = std::max(row.scores.bias, std::fabs(bias));
    }
    return ordinary;
  }

  // Scores to exponentials, and the bounds of both.
  void weigh(std::size_t batch, std::size_t query_head, std::size_t i, std::size_t r) {
    BlockRow& row = rows[r];
    double* const scores = scores_.data() + r * stride_;
    double* const rests = head_->split ? score_rests_.data() + r * stride_ : nullptr;
    row.visible = row.last - row.first;
    bool ordinary = row.visible != 0 && std::isfinite(row.query.size);
    if (problem_.mask && ordinary)
      ordinary = read_bias(batch, query_head, i, row) && row.visible != 0;
    if (ordinary) ordinary = bound_scores(row);
    if (!ordinary) {  // nothing, rather than NaNs, for the products with values
      std::fill_n(scores, stride_, 0);
      if (rests) std::fill_n(rests, stride_, 0);
      return;
    }
    const std::size_t begin = first_panel_ * panel_keys;
    const RowStep step{scores,
                       rests,
                       stride_,
                       rests ? leading_scale_ : scale_,
                       scale_rest_,
                       problem_.rule.softcap,
                       problem_.mask ? bias_.data() : nullptr,
                       row.first - begin,
                       row.last - begin};
    if (rests) {
      row.maximum = kernels_.split_biased_scores(step);
      double sums[2];
      kernels_.split_exponentials(scores, rests, stride_, row.maximum, sums);
      row.sum = sums[0];
      row.sum_rest = sums[1];
    } else {
      row.maximum = kernels_.biased_scores(step);
      row.sum = kernels_.exponentials(scores, stride_, row.maximum);
    }
    row.bounded = row.sum >= 0.5 && std::isfinite(row.sum);
  }

  // Fills in sizes and ρ; returns whether the arithmetic bounds the row.
  bool bound_scores(BlockRow& row) const {
    constexpr double u = 0x1p-53, smallest = 0x1p-1074;
    const Rule& rule = problem_.rule;
    const BlockHead& head = *head_;
    const auto d = static_cast<double>(head.width);
    const double c = std::fabs(scale_) * (1 + 0x1p-50);
    ScoreSizes& sizes = row.scores;
    sizes.product = row.query.norm * head.key_size.norm * (1 + 0x1p-40);
    sizes.scaled = c * sizes.product * (1 + 0x1p-40) + smallest;
    sizes.capped = rule.softcap != 0 ? std::min(sizes.scaled, rule.softcap) : sizes.scaled;
    sizes.biased = (sizes.capped + sizes.bias) * (1 + 0x1p-40);
    if (head.split) {
      // Σ|q₁ k₂| + Σ|q₂ k|
      const double query_power = std::ldexp(1.0, power_above(row.query.largest));
      const double rests =
          std::ldexp(row.query.size * head.key_power + query_power * head.key_size.size,
                     -head.bits - 1) *
          (1 + 0x1p-20);
      const double tail = 0x1p-24 * sizes.biased + c * rests;
      const double error = (2 * d + 16) * u * c * rests * 1.01 + 0x1p-73 * sizes.biased + 0x1p-100 +
                           (4 * d * c + 4) * smallest;
      if (rule.softcap != 0 || !(tail <= 0x1p-12) || !(error <= 0.01)) return false;
      row.rho = 1.02 * error + 0x1p-66 + 32 * u * tail;
      return true;
    }
    double error = (d + 4) * u * c * sizes.product * 1.002 + (d * c + 1) * smallest;
    if (rule.softcap != 0)
      error += (Arithmetic<double>::tanh_error + 3 * u) * sizes.capped * 1.001 +
               (rule.softcap + 1) * smallest;
    if (problem_.mask) error += u * sizes.biased * 1.001;
    // weights with exponents below −708 are 0
    error += u * std::min(709.0, 2 * sizes.biased) * 1.001;
    if (!(error <= 0.01)) return false;
    row.rho = 1.01 * error + 1.0001 * Arithmetic<double>::exp_error;
    return true;
  }

  void multiply_values(std::size_t last) {
    const BlockHead& head = *head_;
    const std::size_t begin = first_panel_ * panel_keys;
    outputs_.assign(rows.size() * head.columns, 0);
    sizes_.assign(rows.size() * head.columns, 0);
    ValueStep step{
        scores_.data(), rows.size(),  stride_,        head.values.data() + begin * head.columns,
        last - begin,   head.columns, outputs_.data()};
    if (head.split) {
      output_rests_.assign(rows.size() * head.columns, 0);
      step.exponential_rests = score_rests_.data();
      step.column_shifts = head.column_shifts.data();
      step.output_rests = output_rests_.data();
      step.room = room_.data();
      kernels_.split_outputs(step);
    } else {
      kernels_.outputs(step);
    }
    step.outputs = sizes_.data();
    kernels_.sizes(step, std::clamp<std::size_t>(step.count / 128, 1, wanted_.keys_apart));
    if (!wanted_.squares) return;
    squares_.assign(rows.size() * head.columns, 0);
    step.outputs = squares_.data();
    kernels_.squares(step);
  }

  const Problem& problem_;
  const Kernels& kernels_;
  SumsWanted wanted_;
  const BlockHead* head_ = nullptr;
  double scale_ = 0, leading_scale_ = 0, scale_rest_ = 0;
  std::size_t first_panel_ = 0, last_panel_ = 0, stride_ = 0;
  std::vector<double> queries_, query_leading_, query_rests_, bias_;
  std::vector<double> scores_, score_rests_;  // then exponentials
  std::vector<double> outputs_, output_rests_, sizes_, squares_, room_;
};

}  // namespace attest::oracle::detail
