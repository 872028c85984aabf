// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// RowEvaluator: one row of what an implementation returns, in ordinary double or in the formats of
// a claim; and about what the claimed arithmetic may lose of it.
//
// The allowance follows tolerance.hpp, each sum bounded once more by the product of norms. It is
// for comparing what was got with what a fault would give; verdicts do not rest on it.
#pragma once
#include <attest/oracle/fault/place.hpp>
#include <attest/oracle/precision.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace attest::oracle {

// Keys and values of one head.
struct HeadRows {
  std::vector<double> keys, values, key_norms;
  bool finite = true;
};

// Heads that were read, kept while there is room: those of a long call are read again unless
// somebody uses them still.
class HeadRowsKept {
 public:
  static constexpr std::size_t room = std::size_t{32} << 20;  // bytes
  using Place = std::pair<std::size_t, std::size_t>;          // batch and head

  static std::size_t bytes(const Problem& problem) {
    return problem.given_keys() * (problem.width() + problem.value_width()) * sizeof(double);
  }
  // Null: it must be read.
  std::shared_ptr<const HeadRows> find(Place place) const {
    const auto found = known_.find(place);
    return found == known_.end() ? nullptr : found->second.lock();
  }
  // Before `bytes` more are read.
  void make_room(std::size_t bytes) {
    if ((kept_.size() + 1) * bytes > room) kept_.clear();
  }
  void keep(Place place, std::shared_ptr<const HeadRows> rows) {
    known_[place] = rows;
    kept_.push_back(std::move(rows));
  }

 private:
  std::map<Place, std::weak_ptr<const HeadRows>> known_;
  std::vector<std::shared_ptr<const HeadRows>> kept_;
};

class SharedRows {
 public:
  explicit SharedRows(const Problem& problem) : problem_(problem) {}

  // Whether the arrays of keys and values are the same.
  bool holds(const Problem& other) const {
    return same(problem_.key, other.key) && same(problem_.value, other.value) &&
           problem_.past() == other.past() &&
           (!problem_.past_key || (same(*problem_.past_key, *other.past_key) &&
                                   same(*problem_.past_value, *other.past_value)));
  }
  std::shared_ptr<const HeadRows> of(std::size_t batch, std::size_t head) {
    if (auto found = heads_.find({batch, head})) return found;
    make_room();
    auto rows = std::make_shared<const HeadRows>(read(problem_, batch, head));
    heads_.keep({batch, head}, rows);
    return rows;
  }
  void make_room() { heads_.make_room(HeadRowsKept::bytes(problem_)); }
  static HeadRows read(const Problem& problem, std::size_t batch, std::size_t head) {
    const std::size_t keys = problem.given_keys(), d = problem.width(), dv = problem.value_width();
    HeadRows rows;
    rows.keys.resize(keys * d);
    rows.values.resize(keys * dv);
    for (std::size_t j = 0; j < keys; ++j) {
      problem.read_key(batch, head, j, rows.keys.data() + j * d);
      problem.read_value(batch, head, j, rows.values.data() + j * dv);
    }
    finish(rows, keys, d);
    return rows;
  }
  static void finish(HeadRows& rows, std::size_t keys, std::size_t width) {
    rows.key_norms.resize(keys);
    double probe = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      double squares = 0;
      for (std::size_t t = 0; t < width; ++t) {
        const double x = rows.keys[j * width + t];
        squares += x * x;
        probe += 0 * x;
      }
      rows.key_norms[j] = std::sqrt(squares);
    }
    for (const double x : rows.values) probe += 0 * x;
    rows.finite = probe == 0;
  }

 private:
  static bool same(const Tensor& a, const Tensor& b) {
    return a.data == b.data && a.shape == b.shape && a.strides == b.strides && a.rows == b.rows;
  }

  const Problem problem_;
  HeadRowsKept heads_;
};

namespace detail {

// x in a format, quickly where that is float or double.
class Rounder {
 public:
  Rounder() = default;
  explicit Rounder(const NumberFormat& format) : format_(&format) {
    kind_ = format.precision >= 53       ? Kind::none
            : format == formats::float32 ? Kind::single
                                         : Kind::other;
  }
  double operator()(double x) const {
    return kind_ == Kind::none ? x : kind_ == Kind::single ? single(x) : format_->round(x);
  }
  bool rounds() const { return kind_ != Kind::none; }
  double unit() const { return format_ ? format_->unit_roundoff() : 0x1p-53; }

 private:
  enum class Kind { none, single, other };
  static double single(double x) {
    // a conversion beyond the range is undefined in C++ unless IEEE 754 is; nearly all x are within
    if (std::fabs(x) > 0x1.fffffefffffffp127) return std::copysign(x * HUGE_VAL, x);
    return static_cast<double>(static_cast<float>(x));
  }
  Kind kind_ = Kind::none;
  const NumberFormat* format_ = nullptr;
};

inline double dot_in_double(const double* x, const double* y, std::size_t count) {
  double sums[8] = {};
  std::size_t t = 0;
  for (; t + 8 <= count; t += 8)
    for (std::size_t s = 0; s < 8; ++s) sums[s] += x[t + s] * y[t + s];
  for (; t < count; ++t) sums[0] += x[t] * y[t];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace detail

class RowEvaluator {
 public:
  // Which steps are rounded to the claim's format for them; the others are in double.
  enum class Rounds { nothing, scores, everything };
  RowEvaluator(const Implementation& of, const Precision& claim, Rounds rounds,
               std::shared_ptr<SharedRows> shared = nullptr)
      : of_(of),
        claim_(claim),
        rounds_(rounds == Rounds::everything),
        rounds_scores_(rounds != Rounds::nothing),
        shared_(std::move(shared)) {
    if (rounds_scores_) scores_ = detail::Rounder(claim.scores);
    if (rounds_) {
      accumulate_ = detail::Rounder(of.steps.accumulate_format ? *of.steps.accumulate_format
                                                               : claim.accumulate);
      softmax_ = detail::Rounder(claim.softmax);
      weights_ = detail::Rounder(claim.weights);
      output_ = detail::Rounder(claim.output);
    }
    if (of.steps.accumulate_format) accumulate_ = detail::Rounder(*of.steps.accumulate_format);
    if (of.steps.weight_format) weights_ = detail::Rounder(*of.steps.weight_format);
    sum_ = of.steps.sum_format ? detail::Rounder(*of.steps.sum_format) : softmax_;
    // A product of this many bits less than the format's was not rounded, most likely.
    exact_format_ = claim_.accumulate.precision < formats::float64.precision ? &claim_.accumulate
                                                                             : &formats::float32;
    same_rows_ = !of.steps.key && !of.steps.value && !of.steps.on_key && !of.steps.on_value;
    if (shared_ && !shared_->holds(of.problem)) {
      shared_->make_room();
      shared_ = nullptr;
    }
    if (!shared_) shared_ = std::make_shared<SharedRows>(of.problem);
  }

  KeyRow row;
  std::vector<double> scaled, capped;  // scores at their stages
  std::vector<double> output, allowed;
  double log_sum_exp = 0, log_sum_exp_allowed = 0;
  bool open = false;   // the definition does not say what this row returns
  bool empty = false;  // it sees no key
  double scale = 1;

  const Problem& problem() const { return of_.problem; }
  const Implementation& implementation() const { return of_; }
  const std::vector<double>& query() const { return query_; }
  const HeadRows& key_rows() const { return *key_rows_; }
  // Lets go of the head of the row computed last; what was computed stays.
  void release() {
    key_rows_.reset();
    value_rows_.reset();
  }
  RowIndex score_place() const { return score_place_; }

  void compute(RowIndex place) {
    compute_scores(place);
    finish();
    take_log_sum_exp(place);
  }
  // Scores and values of other keys than `keys` as `honest` has them, computed for the same row.
  void compute(RowIndex place, const RowEvaluator& honest, const Stretch& keys) {
    compute_scores(place);
    if (!keys.all())
      for (std::size_t j = 0; j < row.size() && j < honest.row.size(); ++j) {
        if (keys.holds(j)) continue;
        row.scores[j] = honest.row.scores[j];
        row.errors[j] = honest.row.errors[j];
        row.hidden[j] = honest.row.hidden[j];
        row.constant[j] = honest.row.constant[j];
        row.values[j] = honest.row.values[j];
      }
    finish();
    take_log_sum_exp(place);
  }

  void compute_scores(RowIndex place) {
    const Problem& p = of_.problem;
    const Steps& steps = of_.steps;
    row = {};
    open = empty = false;
    place_ = row.place = place;
    own_place_ = steps.output_row ? steps.output_row(p, place) : place;
    const RowIndex at = score_place_ =
        steps.score_row ? steps.score_row(p, own_place_) : own_place_;
    const RowIndex of_query = steps.query ? steps.query(p, at) : at;
    const RowIndex of_bias = steps.bias ? steps.bias(p, at) : at;
    const std::size_t d = p.width();
    query_.resize(d);
    p.query.read_row(of_query.batch, of_query.head, of_query.row, query_.data());
    const long position = static_cast<long>(at.row) + p.offsets[at.batch] + p.rule.offset;
    if (steps.on_query) steps.on_query(query_, position);
    const std::size_t key_head =
        steps.key_head ? steps.key_head(p, at.head) : p.key_value_head_of(at.head);
    const std::size_t value_head = steps.value_head ? steps.value_head(p, own_place_.head)
                                                    : p.key_value_head_of(own_place_.head);
    release();
    key_rows_ = rows_of(at.batch, key_head);
    value_rows_ = rows_of(own_place_.batch, value_head);
    double query_norm = 0;
    bool finite = key_rows_->finite && value_rows_->finite;
    for (const double x : query_) {
      query_norm += x * x;
      finite = finite && std::isfinite(x);
    }
    query_norm = std::sqrt(query_norm);

    const std::size_t keys = p.keys();
    row.scores.resize(keys);
    row.errors.resize(keys);
    row.hidden.resize(keys);
    row.constant.resize(keys);
    row.values.resize(keys);
    scaled.assign(keys, 0);
    capped.assign(keys, 0);
    scale = p.rule.scale.by_width ? 1 / std::sqrt(static_cast<double>(d)) : p.rule.scale.given;
    scale_ = rounds_ ? softmax_(scale) : scale;
    scale_exact_ = scale_ == scale && claim_.softmax.holds(scale);
    const bool all_scores = p.scores.has_value() || steps.scores_of_hidden_keys;
    for (std::size_t j = 0; j < keys; ++j) {
      const double bias = steps.own_bias ? steps.own_bias(p, of_bias, j)
                                         : p.bias(of_bias.batch, of_bias.head, of_bias.row, j);
      compute_score(j, bias, query_norm, finite, all_scores);
      row.values[j] =
          j < p.given_keys() ? value_rows_->values.data() + j * p.value_width() : nullptr;
    }
    if (steps.scores_of_hidden_keys) row.unmasked = capped;
    if (steps.on_scores) steps.on_scores(p, row);
  }

  // From the scores on.
  void finish() {
    const Problem& p = of_.problem;
    const Steps& steps = of_.steps;
    row.weights.assign(row.size(), 0);
    output.assign(p.value_width(), 0);
    allowed.assign(p.value_width(), 0);
    empty = std::all_of(row.hidden.begin(), row.hidden.end(), [](char h) { return h != 0; });
    if (p.padded(place_.batch, place_.row)) {
      return_padded();
      return;
    }
    if (empty) {
      return_empty();
      return;
    }
    if (steps.over == SoftmaxOver::keys)
      weigh();
    else
      weigh_over_queries();
    if (steps.on_weights) steps.on_weights(p, row);
    blend();
    for (double& x : output) x *= steps.output_factor;
    if (steps.on_output) steps.on_output(p, row, output);
    if (rounds_)
      for (double& x : output) x = output_(x);
    log_sum_exp = row.maximum + std::log(row.sum);
    finish_log_sum_exp();
    allow();
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  std::shared_ptr<const HeadRows> rows_of(std::size_t batch, std::size_t head) {
    if (same_rows_) return shared_->of(batch, head);
    if (auto found = own_rows_.find({batch, head})) return found;
    const Problem& p = of_.problem;
    shared_->make_room();
    own_rows_.make_room(HeadRowsKept::bytes(p));
    const Steps& steps = of_.steps;
    const std::size_t keys = p.given_keys(), d = p.width(), dv = p.value_width();
    const auto rows = std::make_shared<HeadRows>();
    rows->keys.resize(keys * d);
    rows->values.resize(keys * dv);
    std::vector<double> key(d), value(dv);
    for (std::size_t j = 0; j < keys; ++j) {
      RowIndex from{batch, head, j};
      if (steps.key) from = steps.key(p, from);
      read(p, from, true, key);
      if (steps.on_key) steps.on_key(key, static_cast<long>(j));
      std::copy(key.begin(), key.end(), rows->keys.begin() + static_cast<std::ptrdiff_t>(j * d));
      from = {batch, head, j};
      if (steps.value) from = steps.value(p, from);
      read(p, from, false, value);
      if (steps.on_value) steps.on_value(value, {batch, head, j});
      std::copy(value.begin(), value.end(),
                rows->values.begin() + static_cast<std::ptrdiff_t>(j * dv));
    }
    SharedRows::finish(*rows, keys, d);
    own_rows_.keep({batch, head}, rows);
    return rows;
  }
  void read(const Problem& p, const RowIndex& from, bool key, std::vector<double>& to) {
    if (from.row >= p.given_keys() || from.batch >= p.batches() ||
        from.head >= p.key_value_heads()) {
      std::fill(to.begin(), to.end(), 0.0);
      return;
    }
    if (key)
      p.read_key(from.batch, from.head, from.row, to.data());
    else
      p.read_value(from.batch, from.head, from.row, to.data());
  }

  double product(const double* k) const {
    const std::size_t d = query_.size();
    if (!accumulate_.rounds()) return detail::dot_in_double(query_.data(), k, d);
    double sum = 0;
    for (std::size_t t = 0; t < d; ++t) sum = accumulate_(sum + query_[t] * k[t]);
    return sum;
  }

  void compute_score(std::size_t j, double bias, double query_norm, bool finite, bool all_scores) {
    const Problem& p = of_.problem;
    const Rule& rule = p.rule;
    const Steps& steps = of_.steps;
    const bool hidden = bias == -infinity && !steps.fill &&
                        (rule.softcap == 0 || rule.softcap_place == SoftcapPlace::before_mask);
    row.hidden[j] = hidden;
    row.scores[j] = -infinity;
    row.errors[j] = 0;
    const bool propagates = !finite && rule.masked_non_finite == MaskedNonFinite::propagate;
    if (hidden && !all_scores && !propagates) return;

    double x = 0, error = 0;
    const double u_a = claim_.accumulate_roundoff(), u_in = 2 * claim_.input_roundoff();
    const double u_s = claim_.softmax.unit_roundoff();
    const double u_score = std::max(claim_.scores.unit_roundoff(), u_s);
    if (j < p.given_keys()) {
      x = product(key_rows_->keys.data() + j * query_.size());
      const bool exact = exact_format_->round(x) == x && claim_.scores.round(x) == x;
      if (!exact)
        error = (static_cast<double>(query_.size()) * u_a + u_in + u_score) * query_norm *
                key_rows_->key_norms[j];
      if (steps.product_format) x = steps.product_format->round(x);
      x *= steps.product_factor;
      const double before = x;
      x = scores_(x * scale_);
      const bool exact_scale =
          exact && scale_exact_ && std::fma(before, scale_, -x) == 0 && claim_.scores.round(x) == x;
      error = error * std::fabs(scale_ * steps.product_factor) +
              (exact_scale ? 0 : (6 * u_s + u_score) * std::fabs(x));
    }
    scaled[j] = x;
    if (steps.cap || rule.softcap != 0) {
      if (rule.softcap_place == SoftcapPlace::before_mask) x = cap(x, error);
    }
    capped[j] = x;
    if (bias == -infinity && steps.fill && steps.fill->added) {
      x = sum_of(x, steps.fill->value, error);
    } else if (bias == -infinity && steps.fill) {
      x = scores_(steps.fill->value);
      error = 0;
      row.constant[j] = 1;
    } else if (bias != 0) {
      x = sum_of(x, bias, error);
    }
    if (rule.softcap != 0 && rule.softcap_place == SoftcapPlace::after_mask) x = cap(x, error);
    row.scores[j] = x;
    row.errors[j] = error;
    if (hidden && propagates && (std::isnan(x) || x == infinity)) row.hidden[j] = 0;
  }

  double cap(double x, double& error) const {
    const double softcap = of_.problem.rule.softcap;
    const double u = std::max(claim_.softmax.unit_roundoff(), claim_.scores.unit_roundoff());
    const double capped_score = of_.steps.cap ? of_.steps.cap(x) : softcap * std::tanh(x / softcap);
    error += (5 * u + claim_.tanh_error * claim_.softmax.unit_roundoff()) * std::fabs(capped_score);
    return scores_(capped_score);
  }

  // x + bias in the claim's format: nothing is lost where all x within the error give one number.
  double sum_of(double x, double bias, double& error) const {
    const double sum = scores_(x + bias);
    if (!std::isfinite(sum)) return sum;
    const bool one_number = rounds_scores_ && claim_.scores.round(x - error + bias) ==
                                                  claim_.scores.round(x + error + bias);
    if (one_number)
      error = 0;
    else
      error += (claim_.softmax.unit_roundoff() + claim_.scores.unit_roundoff()) * std::fabs(sum);
    return sum;
  }

  double exponential(double x) const {
    return softmax_(of_.steps.exponential ? of_.steps.exponential(x) : std::exp(x));
  }

  double first_maximum() const {
    const Maximum& maximum = of_.steps.maximum;
    if (maximum.of) return maximum_of_chosen();
    return !maximum.subtracted ? 0 : maximum.fixed ? *maximum.fixed : maximum.starts_at;
  }
  double maximum_of_chosen() const {
    double largest = -infinity;
    for (std::size_t j = 0; j < row.size(); ++j)
      if (of_.steps.maximum.of(of_.problem, row, j))
        largest = std::max(
            largest, row.hidden[j] && j < row.unmasked.size() ? row.unmasked[j] : row.scores[j]);
    return largest;
  }

  // Weights from scores: unnormalised into row.weights, then divided unless the output is.
  void weigh() {
    const Steps& steps = of_.steps;
    const std::size_t keys = row.size();
    const bool runs = steps.maximum.subtracted && !steps.maximum.fixed && !steps.maximum.of;
    const bool without_sinks = steps.maximum.without_sinks;
    double m = first_maximum(), sum = 0;
    const std::size_t tile = steps.tiles.keys == 0 ? keys : steps.tiles.keys;
    std::vector<double> tile_log_sums;
    const bool merges = steps.tiles.averages || steps.tiles.merge_base != 0;
    for (std::size_t from = 0; from < keys; from += tile) {
      const std::size_t to = std::min(keys, from + tile);
      if (merges) {
        m = first_maximum();
        sum = 0;
      }
      const double before = m;
      bool any = false;
      for (std::size_t j = from; j < to; ++j) {
        if (row.hidden[j]) continue;
        any = true;
        if (runs && !(row.scores[j] <= m) && !(without_sinks && j >= of_.problem.given_keys()))
          m = row.scores[j];  // NaN stays
      }
      if (!any) {
        if (merges) tile_log_sums.push_back(-infinity);
        if ((!steps.tiles.guards_hidden && m == -infinity) || !steps.tiles.guards_empty) {
          sum = std::numeric_limits<double>::quiet_NaN();
          std::fill(row.weights.begin() + static_cast<std::ptrdiff_t>(from),
                    row.weights.begin() + static_cast<std::ptrdiff_t>(to), sum);
        }
        continue;
      }
      if (from > 0 && !merges && m != before) {
        const double factor = exponential(before - m);
        if (before != -infinity || !steps.tiles.guards_hidden) {
          if (steps.tiles.rescales_sum) sum = sum_(sum * factor);
          if (steps.tiles.rescales_output)
            for (std::size_t j = 0; j < from; ++j)
              if (row.weights[j] != 0) row.weights[j] *= factor;
        }
      }
      for (std::size_t j = from; j < to; ++j) {
        if (row.hidden[j]) continue;
        row.weights[j] = exponential(row.scores[j] - m);
        sum = sum_(sum + row.weights[j]);
      }
      if (merges) {
        for (std::size_t j = from; j < to; ++j) row.weights[j] /= sum;
        tile_log_sums.push_back(m + std::log(sum));
      }
    }
    if (merges) merge(tile_log_sums, tile);
    row.maximum = m;
    row.sum = merges ? sum : sum_(sum + steps.added_to_sum);
    if (steps.zero_if_sum_is_zero && row.sum == 0) row.sum = infinity;
    if (!merges) normalise();
  }

  // The tiles' outputs put together by their log-sum-exps.
  void merge(const std::vector<double>& log_sums, std::size_t tile) {
    const Tiles& tiles = of_.steps.tiles;
    const double largest = *std::max_element(log_sums.begin(), log_sums.end());
    double all = 0;
    std::vector<double> share(log_sums.size(), 0);
    for (std::size_t n = 0; n < share.size(); ++n) {
      if (log_sums[n] == -infinity) continue;
      share[n] = tiles.averages ? 1 : std::pow(tiles.merge_base, log_sums[n] - largest);
      all += share[n];
    }
    for (std::size_t j = 0; j < row.size(); ++j) row.weights[j] *= share[j / tile] / all;
  }

  void normalise() {
    divided_ = of_.steps.divides_first || of_.steps.on_weights;
    for (double& w : row.weights) {
      if (w == 0 && row.sum != 0 && !std::isnan(row.sum)) continue;
      if (divided_) w = w / row.sum;
      w = weights_(w);
    }
  }

  // A softmax over queries needs every row of the head.
  void weigh_over_queries() {
    const Steps& steps = of_.steps;
    const bool whole = steps.over == SoftmaxOver::queries_and_keys;
    const std::size_t keys = row.size();
    if (!(columns_of_ == RowIndex{own_place_.batch, own_place_.head, 1}) || column_sums_.empty()) {
      column_maxima_.assign(keys, -infinity);
      column_sums_.assign(keys, 0);
      Implementation plain = of_;
      plain.steps.over = SoftmaxOver::keys;
      RowEvaluator other(plain, claim_, rounds_ ? Rounds::everything : Rounds::nothing, shared_);
      std::vector<KeyRow> rows;
      for (std::size_t i = 0; i < of_.problem.queries(); ++i) {
        other.compute_scores({own_place_.batch, own_place_.head, i});
        rows.push_back(other.row);
        for (std::size_t j = 0; j < keys; ++j)
          if (!other.row.hidden[j])
            column_maxima_[j] = std::max(column_maxima_[j], other.row.scores[j]);
      }
      if (whole) {
        const double largest = *std::max_element(column_maxima_.begin(), column_maxima_.end());
        column_maxima_.assign(keys, largest);
      }
      for (const KeyRow& one : rows)
        for (std::size_t j = 0; j < keys; ++j)
          if (!one.hidden[j]) column_sums_[j] += std::exp(one.scores[j] - column_maxima_[j]);
      if (whole) {
        double all = 0;
        for (const double x : column_sums_) all += x;
        column_sums_.assign(keys, all);
      }
      columns_of_ = {own_place_.batch, own_place_.head, 1};
    }
    row.maximum = 0;
    row.sum = 0;
    divided_ = true;
    for (std::size_t j = 0; j < keys; ++j) {
      if (row.hidden[j]) continue;
      row.sum += std::exp(row.scores[j]);
      row.weights[j] = weights_(std::exp(row.scores[j] - column_maxima_[j]) / column_sums_[j]);
    }
  }

  void blend() {
    const std::size_t columns = output.size();
    const bool spreads =
        !value_rows_->finite && of_.problem.rule.masked_non_finite == MaskedNonFinite::propagate;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double w = row.weights[j];
      if (!row.values[j] || (w == 0 && !spreads && (row.hidden[j] || value_rows_->finite)))
        continue;
      const double* v = row.values[j];
      if (accumulate_.rounds())
        for (std::size_t t = 0; t < columns; ++t) output[t] = accumulate_(output[t] + w * v[t]);
      else
        for (std::size_t t = 0; t < columns; ++t) output[t] += w * v[t];
    }
    if (divided_) return;
    for (double& x : output) x = accumulate_(x / row.sum);
    for (double& w : row.weights) w /= row.sum;
  }

  // That of another row, where the log-sum-exps are written elsewhere than the outputs.
  void take_log_sum_exp(RowIndex place) {
    if (!of_.steps.log_sum_exp_row || !of_.problem.log_sum_exp) return;
    const RowIndex from = of_.steps.log_sum_exp_row(of_.problem, place);
    if (from == place) return;
    Implementation in_place = of_;
    in_place.steps.log_sum_exp_row = nullptr;
    RowEvaluator other(in_place, claim_, rounds_ ? Rounds::everything : Rounds::nothing, shared_);
    other.compute(from);
    log_sum_exp = other.log_sum_exp;
    log_sum_exp_allowed = other.log_sum_exp_allowed;
  }
  void finish_log_sum_exp() {
    if (of_.steps.on_log_sum_exp)
      log_sum_exp = of_.steps.on_log_sum_exp(of_.problem, row, log_sum_exp);
    if (of_.problem.rule.log_sum_exp_base == LogBase::two)
      log_sum_exp /= 0x1.62e42fefa39efp-1;  // ln 2
    if (rounds_ && of_.problem.log_sum_exp)
      log_sum_exp = of_.problem.log_sum_exp->got.format()->round(log_sum_exp);
  }

  void return_padded() {
    open = of_.problem.padded_row != PaddedRow::zero;
    std::fill(allowed.begin(), allowed.end(), open ? infinity : 0);
    log_sum_exp_allowed = infinity;
  }

  void return_empty() {
    const Problem& p = of_.problem;
    switch (p.rule.empty_row) {
      case EmptyRow::zero:
        break;
      case EmptyRow::nan:
        std::fill(output.begin(), output.end(), std::numeric_limits<double>::quiet_NaN());
        break;
      case EmptyRow::unspecified:
        open = true;
        std::fill(allowed.begin(), allowed.end(), infinity);
        break;
      case EmptyRow::mean: {
        const std::size_t given = std::min(p.given_keys(), row.size());
        for (std::size_t j = 0; j < given; ++j) row.weights[j] = 1 / static_cast<double>(given);
        row.sum = 1;
        divided_ = true;
        blend();
        for (std::size_t t = 0; t < output.size(); ++t) {
          double size = 0;
          for (std::size_t j = 0; j < given; ++j)
            if (row.values[j]) size += row.weights[j] * std::fabs(row.values[j][t]);
          allowed[t] = (static_cast<double>(given) + 4) *
                           (claim_.accumulate.unit_roundoff() + claim_.weights.unit_roundoff()) *
                           size +
                       claim_.output.half_ulp(output[t]);
        }
        break;
      }
    }
    row.sum = 0;
    log_sum_exp_allowed = 0;
    switch (p.empty_log_sum_exp) {
      case EmptyLogSumExp::minus_infinity:
        log_sum_exp = -infinity;
        break;
      case EmptyLogSumExp::plus_infinity:
        log_sum_exp = infinity;
        break;
      case EmptyLogSumExp::large_negative:
      case EmptyLogSumExp::unspecified:
        log_sum_exp = -formats::float32.largest;
        log_sum_exp_allowed = infinity;
        break;
    }
    if (of_.steps.on_output) of_.steps.on_output(p, row, output);
    if (of_.steps.on_log_sum_exp) log_sum_exp = of_.steps.on_log_sum_exp(p, row, log_sum_exp);
    if (rounds_)
      for (double& x : output) x = output_(x);
  }

  // How often a running maximum rises over the keys, from the first or from the last.
  std::size_t rises(bool from_last) const {
    std::size_t count = 0;
    double maximum = -infinity;
    for (std::size_t n = 0; n < row.size(); ++n) {
      const std::size_t j = from_last ? row.size() - 1 - n : n;
      if (row.hidden[j]) continue;
      count += row.scores[j] + row.errors[j] > maximum;
      maximum = std::max(maximum, row.scores[j] - row.errors[j]);
    }
    return count == 0 ? 0 : count - 1;
  }

  void allow() {
    const double u_s = claim_.softmax.unit_roundoff(), u_a = claim_.output_roundoff();
    const double u_p =
        claim_.weights.precision < claim_.softmax.precision ? claim_.weights.unit_roundoff() : 0;
    const std::size_t columns = output.size();
    double total = 0, largest = 0, visible = 0, lowest = infinity;
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row.hidden[j]) continue;
      total += std::fabs(row.weights[j]);
      ++visible;
      if (row.weights[j] == 0) continue;
      largest = std::max(largest, std::fabs(row.scores[j]));
      lowest = std::min(lowest, row.errors[j]);
    }
    const double rescales =
        std::min(static_cast<double>(std::max(rises(false), rises(true))),
                 !claim_.tile       ? visible
                 : *claim_.tile > 0 ? static_cast<double>((row.size() - 1) / *claim_.tile)
                                    : 0);
    const bool normalised = std::fabs(total - 1) < 1e-3;
    const double underflow = u_p > 0 ? claim_.weights.smallest_subnormal() : 0;
    // weights that were changed may be so much larger, and what is lost of them too
    const double larger = of_.steps.on_weights ? 1 + total : 1;
    sizes_.assign(columns, 0);
    double mean_error = 0;
    for (std::size_t j = 0; j < row.size(); ++j) {
      const double w = std::fabs(row.weights[j]);
      if (w == 0 || row.hidden[j]) continue;
      const double x = std::fabs(row.scores[j]);
      const double below = std::max(0.0, row.maximum - row.scores[j]);
      const double log_error = row.errors[j] +
                               (largest > 0 && row.errors[j] > 0 ? 2 * u_s * (x + largest) : 0) +
                               (2 + claim_.exp_argument_error) * u_s * below +
                               (claim_.exp_error * (1 + rescales) + rescales) * u_s;
      const double factor = w * (log_error < 700 ? std::expm1(log_error) : infinity);
      mean_error += factor;
      const double lost = std::min(w, underflow);
      const double* v = row.values[j];
      for (std::size_t t = 0; t < columns; ++t) {
        const double value = v ? v[t] : 0;
        const double size = std::fabs(value);
        const double off = normalised ? std::fabs(value - output[t]) : size;
        allowed[t] += (off == 0 ? 0 : factor * off) + lost * size;
        sizes_[t] += w * size;
      }
    }
    const double sums = (visible + 2 + 2 * rescales) * u_s;
    const double products = u_p + claim_.input_roundoff() + (visible + 2 * rescales) * u_a;
    for (std::size_t t = 0; t < columns; ++t) {
      allowed[t] = larger * (allowed[t] + products * sizes_[t] + sums * std::fabs(output[t])) *
                       std::max(1.0, std::fabs(of_.steps.output_factor)) +
                   (visible + 1) * claim_.accumulate.smallest_subnormal();
      // double is no better than what it is compared with where that is double too
      if (claim_.accumulate.precision >= formats::float64.precision) allowed[t] *= 3;
      allowed[t] = std::isfinite(output[t]) ? allowed[t] + claim_.output.half_ulp(output[t]) : 0;
      if (!(allowed[t] < infinity)) allowed[t] = infinity;
    }
    log_sum_exp_allowed = (total > 0 ? mean_error / total : 0) + sums +
                          4 * u_s * (1 + std::fabs(log_sum_exp) + std::fabs(row.maximum));
    if (of_.problem.log_sum_exp && std::isfinite(log_sum_exp))
      log_sum_exp_allowed += of_.problem.log_sum_exp->got.format()->half_ulp(log_sum_exp);
  }

  const Implementation& of_;
  Precision claim_;
  bool rounds_, rounds_scores_;
  std::shared_ptr<SharedRows> shared_;
  detail::Rounder accumulate_, scores_, softmax_, weights_, output_, sum_;
  const NumberFormat* exact_format_ = nullptr;
  bool same_rows_ = true, divided_ = true, scale_exact_ = false;
  double scale_ = 1;
  RowIndex place_, own_place_, score_place_;
  std::vector<double> query_, sizes_;
  std::shared_ptr<const HeadRows> key_rows_, value_rows_;
  HeadRowsKept own_rows_;
  RowIndex columns_of_{};
  std::vector<double> column_maxima_, column_sums_;
};

}  // namespace attest::oracle
