// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// One number of a row, correctly rounded, with what certifies it.
//
// An exact result lies in an interval; where both ends round to the same number of the format, that
// is the correctly rounded one. Where 240 bits leave it open the exact result is, or is very near,
// halfway between two numbers; then equal scores are found exactly and a rational result is rounded
// as a ratio of integers. What is left differs from the halfway point r, and Σ e_j (v_j − r) over
// groups of equal scores has its sign: groups whose mean is r drop out exactly, so that even
// weights below 2^-1000 decide. 500 and 1000 bits follow; what they leave open is not certified.
#pragma once
#include <attest/oracle/certificate.hpp>
#include <attest/oracle/exact_row.hpp>
#include <attest/oracle/precise_row.hpp>
#include <attest/oracle/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace attest::oracle::detail {

// The same number, sign of zero included; a NaN stands for overflow, on the side of its sign.
inline bool same_number(double a, double b) {
  return (a == b || (std::isnan(a) && std::isnan(b))) && std::signbit(a) == std::signbit(b);
}

// The point halfway between neighbours of a format: odd·2^exponent; zero between −0 and +0.
struct Halfway {
  Integer odd = 0;
  int exponent = 0;
};

// Between `low` and `high`, to which the ends of an interval round, if they are neighbours.
inline std::optional<Halfway> halfway(double low, double high, const NumberFormat& format) {
  if (low == 0 && high == 0) return Halfway{};
  if (std::signbit(high)) {
    if (!std::signbit(low) && !std::isnan(low)) return std::nullopt;
    std::optional<Halfway> mirrored = halfway(-high, -low, format);
    if (mirrored) mirrored->odd = -mirrored->odd;
    return mirrored;
  }
  if (std::signbit(low) || !std::isfinite(low)) return std::nullopt;
  const int last = last_place(low == 0 ? format.min_exponent : std::ilogb(low), format);
  const double steps = std::ldexp(low, -last);
  if (!same_number(in_range(steps + 1, last, false, format), high)) return std::nullopt;
  return Halfway{2 * Integer(static_cast<std::uint64_t>(steps)) + 1, last - 1};
}

// The leading Bits + 2 bits of an integer times 2^exponent: a relative error of 2^-Bits at most,
// and Boost's conversion of them.
template <unsigned Bits>
Float<Bits> to_real(const Integer& x, int exponent) {
  if (x == 0) return 0;
  Integer size = abs(x);
  const int excess = static_cast<int>(msb(size)) - static_cast<int>(Bits) - 1;
  if (excess > 0) size >>= excess;
  const Float<Bits> leading = ldexp(Float<Bits>(size), exponent + std::max(excess, 0));
  return x < 0 ? Float<Bits>(-leading) : leading;
}

// What the arithmetics of more than double find out about one row, each made when first asked for.
class RowArithmetics {
 public:
  RowArithmetics(const Rule& rule, const RowData& row, bool scores_of_masked_keys)
      : rule_(rule), row_(row), of_masked_keys_(scores_of_masked_keys) {
    for (std::size_t j = 0; j < row.key_count; ++j)
      if (row.visible(j)) visible_.push_back(j);
  }

  template <unsigned Bits>
  const PreciseRow<Bits>& precise() {
    auto& row = std::get<Numbers<Bits>>(numbers_).row;
    if (!row) row = std::make_unique<PreciseRow<Bits>>(rule_, row_, of_masked_keys_);
    return *row;
  }
  template <unsigned Bits>
  const typename PreciseRow<Bits>::Exponentials& of_keys() {
    auto& exponentials = std::get<Numbers<Bits>>(numbers_).of_keys;
    if (!exponentials) {
      const std::vector<std::size_t> ones(visible_.size(), 1);
      exponentials = std::make_unique<typename PreciseRow<Bits>::Exponentials>(precise<Bits>(),
                                                                               visible_, ones);
    }
    return *exponentials;
  }
  const ExactRow& exact() {
    if (!exact_) exact_ = std::make_unique<ExactRow>(rule_, row_);
    return *exact_;
  }
  const std::vector<std::size_t>& visible() const { return visible_; }
  const RowData& row() const { return row_; }

 private:
  template <unsigned Bits>
  struct Numbers {
    std::unique_ptr<PreciseRow<Bits>> row;
    std::unique_ptr<typename PreciseRow<Bits>::Exponentials> of_keys;
  };
  const Rule& rule_;
  const RowData& row_;
  bool of_masked_keys_;
  std::vector<std::size_t> visible_;
  std::tuple<Numbers<240>, Numbers<500>, Numbers<1000>> numbers_;
  std::unique_ptr<ExactRow> exact_;
};

template <unsigned Bits>
constexpr Certificate certificate_of = Bits == 240   ? Certificate::bits_240
                                       : Bits == 500 ? Certificate::bits_500
                                                     : Certificate::bits_1000;

// The ends of an interval, rounded; the element is settled where they are the same.
template <unsigned Bits>
struct Ends {
  double low, high;
  Ends(const typename PreciseRow<Bits>::Interval& interval, const NumberFormat& format)
      : low(round_to<Bits>(interval.low, format)), high(round_to<Bits>(interval.high, format)) {}
  bool settle(const typename PreciseRow<Bits>::Interval& interval,
              ReferenceElement& element) const {
    element.value = low;  // the best that is known, certified or not
    element.width = 1.001 * static_cast<double>(Float<Bits>(interval.high - interval.low));
    // 0 is for exact numbers; this width may have underflowed
    if (interval.high > interval.low) element.width = std::max(element.width, 0x1p-1074);
    if (!same_number(low, high)) return false;
    element.certificate = certificate_of<Bits>;
    return true;
  }
};

inline bool settle_ratio(const Integer& numerator, const Integer& denominator, int exponent,
                         const NumberFormat& format, ReferenceElement& element) {
  element.value = round_ratio(numerator, denominator, exponent, format);
  element.width = 0;
  element.certificate = Certificate::exact;
  return true;
}

// One score.
class ScoreQuestion {
 public:
  ScoreQuestion(ScoreStage stage, std::size_t key, const NumberFormat& format)
      : stage_(stage), key_(key), format_(format) {}

  bool answer(RowArithmetics& arithmetics, ReferenceElement& element) const {
    if (in_bits<240>(arithmetics, element)) return true;
    if (const std::optional<Ratio> ratio = arithmetics.exact().score(stage_, key_))
      return settle_ratio(ratio->numerator, ratio->denominator, ratio->exponent, format_, element);
    return in_bits<500>(arithmetics, element) || in_bits<1000>(arithmetics, element);
  }

 private:
  template <unsigned Bits>
  bool in_bits(RowArithmetics& arithmetics, ReferenceElement& element) const {
    const auto interval = arithmetics.precise<Bits>().score(stage_, key_);
    return Ends<Bits>(interval, format_).settle(interval, element);
  }

  ScoreStage stage_;
  std::size_t key_;
  const NumberFormat& format_;
};

// A mean Σ e_j v_j / Σ e_j of numbers v_j, integers times 2^exponent: a column of the values, or 1
// for one key and 0 for the others, whose mean is that key's weight.
class MeanQuestion {
 public:
  static MeanQuestion of_column(std::size_t column, const NumberFormat& format) {
    return {column, false, format};
  }
  static MeanQuestion of_weight(std::size_t key, const NumberFormat& format) {
    return {key, true, format};
  }

  bool answer(RowArithmetics& arithmetics, ReferenceElement& element) const {
    if (by_key(arithmetics, element)) return true;
    const Groups groups = sum_groups(arithmetics);
    if (all_means_equal(groups))
      return settle_ratio(groups.sums[0], groups.counts[0], exponent(), format_, element);
    return in_bits<240>(arithmetics, groups, element) ||
           in_bits<500>(arithmetics, groups, element) ||
           in_bits<1000>(arithmetics, groups, element);
  }

 private:
  // Groups of keys of equal score: one key of each, their numbers and the sums of their v_j.
  struct Groups {
    std::vector<std::size_t> keys, counts;
    std::vector<Integer> sums;
  };

  MeanQuestion(std::size_t which, bool weight, const NumberFormat& format)
      : which_(which), weight_(weight), format_(format) {}

  int exponent() const { return weight_ ? 0 : -1074; }

  bool by_key(RowArithmetics& arithmetics, ReferenceElement& element) const {
    const auto& exponentials = arithmetics.of_keys<240>();
    const std::vector<std::size_t>& visible = arithmetics.visible();
    std::optional<PreciseRow<240>::Interval> interval;
    if (weight_) {
      const auto place = std::lower_bound(visible.begin(), visible.end(), which_);
      interval = exponentials.share(static_cast<std::size_t>(place - visible.begin()));
    } else {
      std::vector<Float<240>> column;
      column.reserve(visible.size());
      for (const std::size_t j : visible) column.push_back(arithmetics.row().value(j)[which_]);
      interval = exponentials.quotient(column);
    }
    return interval && Ends<240>(*interval, format_).settle(*interval, element);
  }

  Groups sum_groups(RowArithmetics& arithmetics) const {
    Groups groups;
    for (const EqualScores& group : arithmetics.exact().groups()) {
      Integer sum = 0;
      for (const std::size_t j : group.members) {
        if (!weight_)
          sum += in_smallest_units(arithmetics.row().value(j)[which_]);
        else if (j == which_)
          sum += 1;
      }
      groups.keys.push_back(group.key);
      groups.counts.push_back(group.members.size());
      groups.sums.push_back(std::move(sum));
    }
    return groups;
  }

  static bool all_means_equal(const Groups& groups) {
    for (std::size_t g = 1; g < groups.keys.size(); ++g)
      if (groups.sums[g] * groups.counts[0] != groups.sums[0] * groups.counts[g]) return false;
    return true;
  }

  template <unsigned Bits>
  bool in_bits(RowArithmetics& arithmetics, const Groups& groups, ReferenceElement& element) const {
    using Exponentials = typename PreciseRow<Bits>::Exponentials;
    const PreciseRow<Bits>& row = arithmetics.precise<Bits>();
    std::vector<Float<Bits>> sums;
    for (const Integer& sum : groups.sums) sums.push_back(to_real<Bits>(sum, exponent()));
    const auto interval = Exponentials(row, groups.keys, groups.counts).quotient(sums);
    if (!interval) return false;
    const Ends<Bits> ends(*interval, format_);
    if (ends.settle(*interval, element)) return true;

    const std::optional<Halfway> middle = halfway(ends.low, ends.high, format_);
    if (!middle) return false;
    std::vector<std::size_t> keys, counts;
    std::vector<Float<Bits>> differences;
    for (std::size_t g = 0; g < groups.keys.size(); ++g) {
      const int common = std::min(exponent(), middle->exponent);
      const Integer difference = (groups.sums[g] << (exponent() - common)) -
                                 ((middle->odd * groups.counts[g]) << (middle->exponent - common));
      if (difference == 0) continue;
      keys.push_back(groups.keys[g]);
      counts.push_back(groups.counts[g]);
      differences.push_back(to_real<Bits>(difference, common));
    }
    const int side = Exponentials(row, keys, counts).sign(differences);
    if (side == 0) return false;
    element.value = side > 0 ? ends.high : ends.low;
    element.certificate = certificate_of<Bits>;
    return true;
  }

  std::size_t which_;  // column or key
  bool weight_;
  const NumberFormat& format_;
};

}  // namespace attest::oracle::detail
