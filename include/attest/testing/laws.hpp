// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The laws of attention, asked of a subject: each compares answers to calls that differ in one way.
// No reference output is needed; only how far apart the claimed arithmetic may be.
//
// They are those of attest/laws.hpp for calls whose extents and rule are known at run time.
#pragma once
#include <attest/oracle/fault/mask.hpp>
#include <attest/oracle/needle/random.hpp>
#include <attest/testing/trial.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attest::testing {

struct Law {
  std::string_view name;
  std::string_view statement;
  bool (*applies)(const EditableCall&, const Problem&);
  void (*ask)(Trial&);
};

namespace detail {

// Nothing depends on where a query or key stands.
inline bool has_no_positions(const EditableCall& call, const Problem& p) {
  return !p.rule.causal && p.rule.window_left < 0 && p.rule.window_right < 0 &&
         p.alibi_slopes.empty() && !call.has_lengths();
}
inline bool always(const EditableCall&, const Problem&) {
  return true;
}
inline bool hides(const Problem& p, RowIndex at, std::size_t j) {
  return p.bias(at.batch, at.head, at.row, j) == -std::numeric_limits<double>::infinity();
}
inline std::vector<std::size_t> reversed(std::size_t n) {
  std::vector<std::size_t> order = counted(n);
  std::reverse(order.begin(), order.end());
  return order;
}
// Rotated by about a third: no order of it is its own inverse.
inline std::vector<std::size_t> rotated(std::size_t n) {
  std::vector<std::size_t> order = counted(n);
  std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n / 3 + (n > 1)),
              order.end());
  return order;
}

inline void ask_again(Trial& trial) {
  const Answered again = trial.ask(trial.call);
  trial.base().each_row([&](RowIndex at) {
    for (std::size_t t = 0; t < trial.problem().value_width(); ++t)
      trial.compare(at, "out", again.output(at, t), trial.base().output(at, t), 0);
  });
}

inline void ask_hull(Trial& trial) {
  const Answered& base = trial.base();
  const Problem& p = trial.problem();
  std::vector<double> value(p.value_width()), low, high;
  base.each_row([&](RowIndex at) {
    if (!base.is_blend(at)) return;
    const double zero = p.sinks.empty() ? std::numeric_limits<double>::quiet_NaN() : 0;
    low.assign(p.value_width(), zero);
    high.assign(p.value_width(), zero);
    for (std::size_t j = 0; j < p.given_keys(); ++j) {
      if (hides(p, at, j)) continue;
      p.read_value(at.batch, p.key_value_head_of(at.head), j, value.data());
      for (std::size_t t = 0; t < value.size(); ++t) {
        low[t] = std::fmin(low[t], value[t]);
        high[t] = std::fmax(high[t], value[t]);
      }
    }
    for (std::size_t t = 0; t < value.size(); ++t) {
      const double got = base.output(at, t);
      trial.compare(at, "out, no blend of the values it may see,", got,
                    std::isnan(got) ? low[t] : std::clamp(got, low[t], high[t]),
                    base.allowed(at, t));
    }
  });
}

inline void ask_equal_values(Trial& trial) {
  EditableCall other = trial.call;
  for (const char* name : {"v", "past_value"})
    if (other.has(name)) {
      EditableArray& v = other[name];
      const std::size_t columns = v.shape.back();
      for (std::size_t n = 0; n < v.numbers.size(); ++n)
        v.numbers[n] = 0.5 + 0.25 * static_cast<double>(n % columns % 5);
    }
  const Answered answered = trial.ask(other);
  answered.each_row([&](RowIndex at) {
    if (!answered.is_blend(at)) return;
    for (std::size_t t = 0; t < trial.problem().value_width(); ++t)
      trial.compare(at, "out", answered.output(at, t), 0.5 + 0.25 * static_cast<double>(t % 5),
                    answered.allowed(at, t));
  });
}

// With values of 1 for one key and 0 for the others an output is the weight of that key: as many of
// them at once as values are wide.
inline void ask_weights(Trial& trial) {
  const Problem& p = trial.problem();
  const std::size_t width = p.value_width(), keys = p.given_keys();
  for (std::size_t first = 0; first < keys && first < 4 * width && !trial.broken; first += width) {
    EditableCall other = trial.call;
    const auto one_for_each_key = [&](const char* name, std::size_t before) {
      EditableArray& v = other[name];
      for (std::size_t n = 0; n < v.numbers.size(); ++n)
        v.numbers[n] = before + n / width % v.shape[2] == first + n % width ? 1 : 0;
    };
    one_for_each_key("v", p.past());
    if (other.has("past_value")) one_for_each_key("past_value", 0);
    const Answered answered = trial.ask(other);
    answered.each_row([&](RowIndex at) {
      if (!answered.is_blend(at)) return;
      for (std::size_t t = 0; t < width; ++t) {
        const bool seen = first + t < keys && !hides(p, at, first + t);
        const double weight = answered.output(at, t);
        trial.compare(at, "weight", weight, seen ? std::clamp(weight, 0.0, 1.0) : 0.0,
                      answered.allowed(at, t));
      }
    });
  }
}
// Where only some of the past counts, new keys stand elsewhere than in the arrays.
inline bool keys_are_in_their_places(const EditableCall&, const Problem& p) {
  return std::all_of(p.past_lengths.begin(), p.past_lengths.end(),
                     [&](std::size_t rows) { return rows == p.past(); });
}

// Each key in turn is given other numbers: rows that do not see it are as they were.
inline void ask_hidden_keys(Trial& trial) {
  const Problem& p = trial.problem();
  const std::size_t keys = p.given_keys(), past = p.past();
  const std::size_t step = keys > 6 ? keys / 5 : 1;
  for (std::size_t j = 0; j < keys && !trial.broken; j += step) {
    EditableCall other = trial.call;
    const auto change = [&](const char* name, std::size_t row) {
      EditableArray& array = other[name];
      const std::size_t rows = array.shape[2], columns = array.shape[3];
      for (std::size_t n = 0; n < array.shape[0] * array.shape[1]; ++n)
        for (std::size_t t = 0; t < columns; ++t) {
          double& x = array.numbers[(n * rows + row) * columns + t];
          x = x < 0 ? 3 : -3;
        }
    };
    change(j < past ? "past_key" : "k", j < past ? j : j - past);
    change(j < past ? "past_value" : "v", j < past ? j : j - past);
    const Answered answered = trial.ask(other);
    answered.each_row([&](RowIndex at) {
      if (hides(p, at, j) && trial.base().is_blend(at)) trial.compare_rows(answered, at, at);
    });
  }
}
inline bool may_hide(const EditableCall&, const Problem& p) {
  return oracle::detail::may_hide(p);
}

inline bool may_hide_keys_in_their_places(const EditableCall& call, const Problem& p) {
  return oracle::detail::may_hide(p) && keys_are_in_their_places(call, p);
}

inline void ask_order_of_keys(Trial& trial) {
  EditableCall other = trial.call;
  other.choose_keys(rotated(other.extent(Axis::key)));
  const Answered answered = trial.ask(other);
  answered.each_row([&](RowIndex at) { trial.compare_rows(answered, at, at); });
}
inline void ask_order_of_queries(Trial& trial) {
  EditableCall other = trial.call;
  const std::vector<std::size_t> order = rotated(other.extent(Axis::query));
  other.choose(Axis::query, order);
  const Answered answered = trial.ask(other);
  answered.each_row([&](RowIndex at) {
    trial.compare_rows(answered, at, {at.batch, at.head, order[at.row]});
  });
}
inline void ask_order_of_batches(Trial& trial) {
  EditableCall other = trial.call;
  const std::vector<std::size_t> order = reversed(other.extent(Axis::batch));
  other.choose(Axis::batch, order);
  const Answered answered = trial.ask(other);
  answered.each_row([&](RowIndex at) {
    trial.compare_rows(answered, at, {order[at.batch], at.head, at.row});
  });
}

// One query head with the key/value head it reads, of one batch entry.
inline EditableCall one_head(const EditableCall& call, const Problem& p, std::size_t b,
                             std::size_t h) {
  EditableCall alone = call;
  alone.choose(Axis::batch, {b});
  alone.choose(Axis::query_head, {h});
  alone.choose(Axis::key_value_head, {p.key_value_head_of(h)});
  return alone;
}
inline void ask_heads_alone(Trial& trial) {
  const Problem& p = trial.problem();
  const std::size_t step = p.query_heads() > 8 ? 5 : 1;
  for (std::size_t b = 0; b < p.batches(); ++b)
    for (std::size_t h = 0; h < p.query_heads() && !trial.broken; h += step) {
      const Answered alone = trial.ask(one_head(trial.call, p, b, h));
      alone.each_row([&](RowIndex at) { trial.compare_rows(alone, at, {b, h, at.row}); });
    }
}
inline bool several_heads_or_batches(const EditableCall&, const Problem& p) {
  return p.query_heads() * p.batches() > 1;
}

// Each query head gets the key/value head it reads for itself.
inline void ask_repeated_heads(Trial& trial) {
  const Problem& p = trial.problem();
  std::vector<std::size_t> read;
  for (std::size_t h = 0; h < p.query_heads(); ++h) read.push_back(p.key_value_head_of(h));
  EditableCall other = trial.call;
  other.choose(Axis::key_value_head, read);
  const Answered answered = trial.ask(other);
  answered.each_row([&](RowIndex at) { trial.compare_rows(answered, at, at); });
}
inline bool has_grouped_heads(const EditableCall&, const Problem& p) {
  return p.key_value_heads() < p.query_heads();
}

// What the cache holds and what is new, handed over as one.
inline void ask_without_cache(Trial& trial) {
  EditableCall other = trial.call;
  for (const auto& [past_name, name] : {std::pair{"past_key", "k"}, {"past_value", "v"}}) {
    const EditableArray past = other[past_name], added = other[name];
    const std::size_t of_past = past.shape[2] * past.shape[3];
    const std::size_t of_added = added.shape[2] * added.shape[3];
    EditableArray& all = other[name];
    all.shape[2] += past.shape[2];
    all.numbers.clear();
    for (std::size_t n = 0; n < past.shape[0] * past.shape[1]; ++n) {
      const auto append = [&](const std::vector<double>& from, std::size_t count) {
        for (std::size_t m = 0; m < count; ++m) all.numbers.push_back(from[n * count + m]);
      };
      append(past.numbers, of_past);
      append(added.numbers, of_added);
    }
  }
  for (const char* name : {"past_key", "past_value", "present_key", "present_value"})
    other.arrays.erase(name);
  const Answered answered = trial.ask(other);
  answered.each_row([&](RowIndex at) { trial.compare_rows(answered, at, at); });
}
inline bool has_a_cache_without_positions(const EditableCall& call, const Problem& p) {
  return p.past() > 0 && has_no_positions(call, p) && keys_are_in_their_places(call, p);
}

// A query alone; causal ones that end with the keys only at the last.
inline void ask_queries_alone(Trial& trial) {
  const Problem& p = trial.problem();
  const std::size_t step = p.queries() > 6 ? p.queries() / 5 : 1;
  for (std::size_t i = 0; i < p.queries() && !trial.broken; i += step) {
    EditableCall alone = trial.call;
    alone.choose(Axis::query, {i});
    const Answered answered = trial.ask(alone);
    answered.each_row([&](RowIndex at) {
      trial.compare_rows(answered, at, {at.batch, at.head, i});
    });
  }
}

// Keys behind a causal query can be cut off: the first i + 1 + offset keys and the first i + 1
// queries, where the first of each stand together.
inline void ask_prefix(Trial& trial) {
  const Problem& p = trial.problem();
  const std::size_t least = std::min(p.queries(), p.given_keys());
  for (const std::size_t n : {std::size_t{1}, least / 2, least}) {
    if (n == 0 || trial.broken) continue;
    EditableCall shorter = trial.call;
    shorter.choose(Axis::query, counted(n));
    shorter.choose_keys(counted(n));
    const Answered answered = trial.ask(shorter);
    answered.each_row([&](RowIndex at) { trial.compare_rows(answered, at, at); });
  }
}
inline bool is_causal_from_the_start(const EditableCall& call, const Problem& p) {
  return p.rule.causal && p.past() == 0 && !call.has_lengths() &&
         std::all_of(p.offsets.begin(), p.offsets.end(),
                     [&](long offset) { return offset + p.rule.offset == 0; });
}
// Where the last of each stand together, queries can be cut off at the start.
inline void ask_suffix(Trial& trial) {
  const Problem& p = trial.problem();
  for (const std::size_t n : {std::size_t{1}, p.queries() / 2}) {
    if (n == 0 || trial.broken) continue;
    const std::size_t from = p.queries() - n;
    EditableCall shorter = trial.call;
    shorter.choose(Axis::query, counted(n, from));
    const Answered answered = trial.ask(shorter);
    answered.each_row([&](RowIndex at) {
      trial.compare_rows(answered, at, {at.batch, at.head, from + at.row});
    });
  }
}
inline bool ends_with_its_keys(const EditableCall& call, const Problem& p) {
  if (p.past() != 0 || call.has_lengths()) return false;
  const long offset = static_cast<long>(p.given_keys()) - static_cast<long>(p.queries());
  return (p.rule.causal || p.rule.window_left >= 0 || p.rule.window_right >= 0) &&
         call.call.attributes.count("causal") != 0 &&
         call.call.attributes.at("causal") == oracle::Attribute(std::string("bottom-right")) &&
         p.offsets[0] + p.rule.offset == offset;
}

// q, k (and v) with few enough bits that sums of them are exact.
inline void round_to_eighths(EditableArray& array) {
  for (double& x : array.numbers) x = std::clamp(std::round(x * 8) / 8, -8.0, 8.0);
}
inline void ask_shift(Trial& trial) {
  EditableCall simple = trial.call;
  round_to_eighths(simple["k"]);
  if (simple.has("past_key")) round_to_eighths(simple["past_key"]);
  EditableCall shifted = simple;
  for (const char* name : {"k", "past_key"})
    if (shifted.has(name)) {
      const std::size_t columns = shifted[name].shape.back();
      for (std::size_t n = 0; n < shifted[name].numbers.size(); ++n)
        shifted[name].numbers[n] += static_cast<double>(n % columns % 3) - 0.5;
    }
  const Answered before = trial.ask(simple), after = trial.ask(shifted);
  before.each_row([&](RowIndex at) {
    if (!before.is_defined(at)) return;
    for (std::size_t t = 0; t < trial.problem().value_width(); ++t)
      trial.compare(at, "out", after.output(at, t), before.output(at, t),
                    after.allowed(at, t) + before.allowed(at, t));
  });
}
inline bool shift_applies(const EditableCall&, const Problem& p) {
  return p.rule.softcap == 0 && p.sinks.empty();
}

// Twice the values, twice the output; and outputs of two arrays of values add.
inline void ask_linearity(Trial& trial) {
  EditableCall doubled = trial.call;
  for (const char* name : {"v", "past_value"})
    if (doubled.has(name))
      for (double& x : doubled[name].numbers) x *= -2;
  const Answered answered = trial.ask(doubled);
  answered.each_row([&](RowIndex at) {
    if (!trial.base().is_blend(at)) return;
    for (std::size_t t = 0; t < trial.problem().value_width(); ++t)
      trial.compare(at, "out of -2 v", answered.output(at, t), -2 * trial.base().output(at, t),
                    answered.allowed(at, t) + 2 * trial.base().allowed(at, t));
  });
  if (trial.broken) return;
  // Values in another order are other values; of few bits their sums are exact.
  EditableCall one = trial.call, two = trial.call, both = trial.call;
  for (const char* name : {"v", "past_value"})
    if (one.has(name)) {
      round_to_eighths(one[name]);
      const std::vector<double>& numbers = one[name].numbers;
      for (std::size_t n = 0; n < numbers.size(); ++n) {
        const double other = numbers[(n + numbers.size() / 3 + 1) % numbers.size()];
        if (trial.problem().format.round(numbers[n] + other) != numbers[n] + other) return;
        two[name].numbers[n] = other;
        both[name].numbers[n] = numbers[n] + other;
      }
    }
  const Answered of_one = trial.ask(one), of_two = trial.ask(two), of_both = trial.ask(both);
  of_both.each_row([&](RowIndex at) {
    if (!of_both.is_blend(at)) return;
    for (std::size_t t = 0; t < trial.problem().value_width(); ++t)
      trial.compare(at, "out of the sum of two values", of_both.output(at, t),
                    of_one.output(at, t) + of_two.output(at, t),
                    of_one.allowed(at, t) + of_two.allowed(at, t) + of_both.allowed(at, t));
  });
}
inline bool values_are_of_ordinary_size(const EditableCall& call, const Problem&) {
  for (const double x : call.at("v").numbers)
    if (!(std::fabs(x) < 1e4)) return false;
  return true;
}

// Without scores weights are e^bias over their sum, and the log-sum-exp is its logarithm.
inline void ask_zero_queries(Trial& trial) {
  EditableCall other = trial.call;
  std::fill(other["q"].numbers.begin(), other["q"].numbers.end(), 0.0);
  const Answered answered = trial.ask(other);
  const Problem& p = answered.problem();
  std::vector<double> value(p.value_width()), out, weights(p.keys());
  answered.each_row([&](RowIndex at) {
    if (!answered.is_blend(at)) return;
    double most = -HUGE_VAL, sum = 0;
    for (std::size_t j = 0; j < p.keys(); ++j)
      most = std::fmax(most, p.bias(at.batch, at.head, at.row, j));
    for (std::size_t j = 0; j < p.keys(); ++j)
      sum += weights[j] = std::exp(p.bias(at.batch, at.head, at.row, j) - most);
    out.assign(p.value_width(), 0);
    for (std::size_t j = 0; j < p.given_keys(); ++j) {
      if (weights[j] == 0) continue;
      p.read_value(at.batch, p.key_value_head_of(at.head), j, value.data());
      for (std::size_t t = 0; t < value.size(); ++t) out[t] += weights[j] / sum * value[t];
    }
    for (std::size_t t = 0; t < value.size(); ++t)
      trial.compare(at, "out", answered.output(at, t), out[t], answered.allowed(at, t));
    if (!p.log_sum_exp) return;
    const double base = p.rule.log_sum_exp_base == LogBase::two ? std::log(2.0) : 1;
    trial.compare(at, "lse", answered.log_sum_exp(at), (most + std::log(sum)) / base,
                  answered.log_sum_exp_allowed(at));
  });
}

// Of two keys the odds are e to the difference of their scores. With values 1 and 0 the output of
// the first is its weight.
inline void ask_odds(Trial& trial) {
  const Problem& p = trial.problem();
  const std::size_t keys = trial.call.extent(Axis::key);
  oracle::Random random(keys);
  for (int turn = 0; turn < 3 && !trial.broken; ++turn) {
    EditableCall other = trial.call;
    const std::size_t a = random.below(keys), b = (a + 1 + random.below(keys - 1)) % keys;
    other.choose(Axis::key, {a, b});
    other.choose(Axis::all_keys, {a, b});
    EditableArray& v = other["v"];
    for (std::size_t n = 0; n < v.numbers.size(); ++n)
      v.numbers[n] = n / v.shape.back() % 2 == 0 ? 1 : 0;
    const Answered answered = trial.ask(other);
    const Problem& two = answered.problem();
    const double scale = two.rule.scale.by_width ? 1 / std::sqrt(static_cast<double>(two.width()))
                                                 : two.rule.scale.given;
    std::vector<double> q(p.width()), k(p.width());
    answered.each_row([&](RowIndex at) {
      if (!answered.is_blend(at)) return;
      two.query.read_row(at.batch, at.head, at.row, q.data());
      double score[3] = {0, 0, -HUGE_VAL};
      for (std::size_t j = 0; j < two.keys(); ++j) {
        if (j < 2) {
          two.read_key(at.batch, two.key_value_head_of(at.head), j, k.data());
          for (std::size_t t = 0; t < q.size(); ++t) score[j] += q[t] * k[t];
          score[j] *= scale;
          if (two.rule.softcap != 0)
            score[j] = two.rule.softcap * std::tanh(score[j] / two.rule.softcap);
        } else {
          score[j] = 0;
        }
        score[j] += two.bias(at.batch, at.head, at.row, j);
      }
      const double most = std::max({score[0], score[1], score[2]});
      const double weight =
          std::exp(score[0] - most) /
          (std::exp(score[0] - most) + std::exp(score[1] - most) + std::exp(score[2] - most));
      // Below the smallest normal number exponentials are flushed to 0 or stay where they are cut
      // off.
      const double least = std::ldexp(1.0, two.format.min_exponent);
      for (std::size_t t = 0; t < two.value_width(); ++t)
        trial.compare(at, "weight", answered.output(at, t), weight,
                      answered.allowed(at, t) + least);
    });
  }
}
inline bool odds_apply(const EditableCall& call, const Problem& p) {
  return has_no_positions(call, p) && p.past() == 0 && p.given_keys() > 2;
}

// Queries 8 times as large: with h the mean of the n values whose keys have the largest score, and
// g_j how far another is below it, the output is within Σ_j e^{−g_j}·|v_j − h|/n of h
// (attest/hard.hpp).
inline void ask_sharp_queries(Trial& trial) {
  EditableCall sharp = trial.call;
  round_to_eighths(sharp["q"]);
  for (double& x : sharp["q"].numbers) x *= 8;
  const Answered answered = trial.ask(sharp);
  const Problem& p = answered.problem();
  const double scale =
      p.rule.scale.by_width ? 1 / std::sqrt(static_cast<double>(p.width())) : p.rule.scale.given;
  std::vector<double> q(p.width()), k(p.width()), v(p.value_width()), score(p.keys()), h, off;
  answered.each_row([&](RowIndex at) {
    if (!answered.is_blend(at)) return;
    const std::size_t read = p.key_value_head_of(at.head);
    p.query.read_row(at.batch, at.head, at.row, q.data());
    for (std::size_t j = 0; j < p.keys(); ++j) {
      score[j] = 0;
      if (j < p.given_keys()) p.read_key(at.batch, read, j, k.data());
      for (std::size_t t = 0; t < q.size() && j < p.given_keys(); ++t) score[j] += q[t] * k[t];
      score[j] = score[j] * scale + p.bias(at.batch, at.head, at.row, j);
    }
    const double best = *std::max_element(score.begin(), score.end());
    const double n = static_cast<double>(std::count(score.begin(), score.end(), best));
    h.assign(v.size(), 0);
    off.assign(v.size(), 0);
    const auto each_value = [&](const auto& f) {
      for (std::size_t j = 0; j < p.keys(); ++j) {
        if (score[j] == -HUGE_VAL) continue;
        v.assign(v.size(), 0);  // of a sink
        if (j < p.given_keys()) p.read_value(at.batch, read, j, v.data());
        for (std::size_t t = 0; t < v.size(); ++t) f(j, t);
      }
    };
    each_value([&](std::size_t j, std::size_t t) { h[t] += score[j] == best ? v[t] / n : 0; });
    each_value([&](std::size_t j, std::size_t t) {
      if (score[j] != best) off[t] += std::exp(score[j] - best) * std::fabs(v[t] - h[t]) / n;
    });
    for (std::size_t t = 0; t < v.size(); ++t)
      trial.compare(at, "out", answered.output(at, t), h[t],
                    answered.allowed(at, t) + off[t] * (1 + 1e-9));
  });
}
inline bool may_be_sharpened(const EditableCall& call, const Problem& p) {
  if (p.rule.softcap != 0) return false;
  for (const char* name : {"q", "k", "v", "past_key", "past_value"})
    if (call.has(name))
      for (const double x : call.at(name).numbers)
        if (!(std::fabs(x) < 1e3)) return false;
  return true;
}

// Four times the width filled with zeros and twice the query give the same scores: 1/√(4d) · 2q·k.
inline void ask_width(Trial& trial) {
  const std::size_t d = trial.problem().width(), narrow = d / 4;
  EditableCall small = trial.call, wide = trial.call;
  for (const char* name : {"q", "k", "past_key", "dq", "dk", "present_key"})
    if (small.has(name)) EditableCall::choose(small[name], 3, counted(narrow));
  for (const char* name : {"q", "k", "past_key"})
    if (wide.has(name))
      for (std::size_t n = 0; n < wide[name].numbers.size(); ++n)
        wide[name].numbers[n] *= n % d >= narrow ? 0 : name[0] == 'q' ? 2 : 1;
  const Answered before = trial.ask(small), after = trial.ask(wide);
  before.each_row([&](RowIndex at) {
    if (!before.is_defined(at)) return;
    for (std::size_t t = 0; t < trial.problem().value_width(); ++t)
      trial.compare(at, "out", after.output(at, t), before.output(at, t),
                    after.allowed(at, t) + before.allowed(at, t));
  });
}

// Twice the scale is twice the query.
inline void ask_scale(Trial& trial) {
  EditableCall other = trial.call;
  const char* name = nullptr;
  for (const char* one : oracle::scale_names)
    if (other.call.attributes.count(one) && !trial.scope().attributes.count(one)) name = one;
  // in some dialects every call says a scale
  if (!name || !trial.scope().features.scale) return;
  const auto* scale = std::get_if<double>(&other.call.attributes.at(name));
  if (!scale) return;
  other.call.attributes[name] = *scale / 2;
  for (double& x : other["q"].numbers) x *= 2;
  const Answered answered = trial.ask(other);
  answered.each_row([&](RowIndex at) { trial.compare_rows(answered, at, at); });
}
inline bool scale_is_given(const EditableCall& call, const Problem& p) {
  return !p.rule.scale.by_width &&
         std::all_of(call.at("q").numbers.begin(), call.at("q").numbers.end(),
                     [](double x) { return std::fabs(x) < 1e4; });
}

// Every key twice, its value with it, changes the weights of none; the log-sum-exp rises by ln 2.
inline void ask_keys_twice(Trial& trial) {
  EditableCall other = trial.call;
  const std::size_t keys = other.extent(Axis::key);
  std::vector<std::size_t> twice = counted(keys);
  for (std::size_t j = 0; j < keys; ++j) twice.push_back(j);
  other.choose_keys(twice);
  const Answered answered = trial.ask(other);
  const Problem& p = trial.problem();
  const double rise = p.rule.log_sum_exp_base == LogBase::two ? 1 : std::log(2.0);
  answered.each_row([&](RowIndex at) {
    if (!trial.base().is_blend(at)) return;
    for (std::size_t t = 0; t < p.value_width(); ++t)
      trial.compare(at, "out", answered.output(at, t), trial.base().output(at, t),
                    answered.allowed(at, t) + trial.base().allowed(at, t));
    if (p.log_sum_exp)
      trial.compare(at, "lse", answered.log_sum_exp(at), trial.base().log_sum_exp(at) + rise,
                    answered.log_sum_exp_allowed(at) + trial.base().log_sum_exp_allowed(at));
  });
}
inline bool keys_twice_apply(const EditableCall& call, const Problem& p) {
  return has_no_positions(call, p) && p.sinks.empty() && p.past() == 0;
}

// Keys in two parts, put together by their log-sum-exps.
inline void ask_parts(Trial& trial) {
  const Problem& p = trial.problem();
  const std::size_t keys = p.given_keys(), half = (keys + 1) / 3 + 1;
  EditableCall first = trial.call, second = trial.call;
  first.choose_keys(counted(half));
  second.choose_keys(counted(keys - half, half));
  const Answered a = trial.ask(first), b = trial.ask(second);
  const double base = p.rule.log_sum_exp_base == LogBase::two ? std::log(2.0) : 1;
  trial.base().each_row([&](RowIndex at) {
    if (!trial.base().is_blend(at) || !a.is_blend(at) || !b.is_blend(at)) return;
    const double x = a.log_sum_exp(at) * base, y = b.log_sum_exp(at) * base;
    const double most = std::fmax(x, y), ex = std::exp(x - most), ey = std::exp(y - most);
    const double share = ex / (ex + ey);
    // the share's error is share (1 − share) of the difference's
    const double off =
        share * (1 - share) * base * (a.log_sum_exp_allowed(at) + b.log_sum_exp_allowed(at));
    for (std::size_t t = 0; t < p.value_width(); ++t) {
      const double merged = share * a.output(at, t) + (1 - share) * b.output(at, t);
      const double allowed = share * a.allowed(at, t) + (1 - share) * b.allowed(at, t) +
                             2 * off * std::fabs(a.output(at, t) - b.output(at, t));
      trial.compare(at, "out", trial.base().output(at, t), merged,
                    trial.base().allowed(at, t) + allowed);
    }
    trial.compare(at, "lse", trial.base().log_sum_exp(at), (most + std::log(ex + ey)) / base,
                  trial.base().log_sum_exp_allowed(at) + a.log_sum_exp_allowed(at) +
                      b.log_sum_exp_allowed(at));
  });
}
inline bool parts_apply(const EditableCall& call, const Problem& p) {
  return has_no_positions(call, p) && p.log_sum_exp && p.sinks.empty() && p.past() == 0 &&
         p.given_keys() > 2;
}

inline void ask_rows_without_keys(Trial& trial) {
  const Answered& base = trial.base();
  const Problem& p = trial.problem();
  base.each_row([&](RowIndex at) {
    if (!base.sees_nothing(at) || !base.is_defined(at)) return;
    const double expected =
        p.rule.empty_row == EmptyRow::nan ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    if (p.rule.empty_row == EmptyRow::zero || p.rule.empty_row == EmptyRow::nan)
      for (std::size_t t = 0; t < p.value_width(); ++t)
        trial.compare(at, "out of a query that sees no key", base.output(at, t), expected, 0);
    if (!p.log_sum_exp) return;
    if (p.empty_log_sum_exp == oracle::EmptyLogSumExp::minus_infinity)
      trial.compare(at, "lse of a query that sees no key", base.log_sum_exp(at), -HUGE_VAL, 0);
    if (p.empty_log_sum_exp == oracle::EmptyLogSumExp::plus_infinity)
      trial.compare(at, "lse of a query that sees no key", base.log_sum_exp(at), HUGE_VAL, 0);
  });
}

// The sum of outputs times dout (and of log-sum-exps times dlse) changes along a direction as the
// gradients say. The derivative's third order: with scores that change by at most a per unit and
// values that span r, an expectation's third derivative is at most 4 (2a)³ r, so that a central
// difference of step h is off by h²/6 times it; with values moving by b, 12 (2a)² b more.
inline void ask_gradients(Trial& trial) {
  const Problem& p = trial.problem();
  const double u = p.format.unit_roundoff();
  if (u > 0x1p-20) return;  // a difference of two rounded outputs says nothing
  struct Direction {
    const char* array;
    const char* gradient;
  };
  for (const Direction& direction :
       {Direction{"q", "dq"}, Direction{"k", "dk"}, Direction{"v", "dv"}}) {
    const oracle::Tensor* const gradient = trial.base().call().call.find(direction.gradient);
    if (!gradient || trial.broken) continue;
    oracle::Random random(7);
    EditableCall plus = trial.call, minus = trial.call;
    const std::vector<double> got = numbers_of(*gradient);
    const double h = 0x1p-7;
    double derivative = 0, size = 0;
    for (std::size_t n = 0; n < plus[direction.array].numbers.size(); ++n) {
      const double step = random.one_in(2) ? 1 : -1;
      double& up = plus[direction.array].numbers[n];
      double& down = minus[direction.array].numbers[n];
      up = p.format.round(up + h * step);
      down = p.format.round(down - h * step);
      derivative += got[n] * (up - down) / (2 * h);
      size += std::fabs(got[n]);
    }
    const Answered above = trial.ask(plus), below = trial.ask(minus);
    const double scale = p.rule.scale.by_width ? 1 / std::sqrt(static_cast<double>(p.width()))
                                               : std::fabs(p.rule.scale.given);
    double largest = 0, values = 0;
    for (const double x : trial.call.at(direction.array[0] == 'q' ? "k" : "q").numbers)
      largest = std::fmax(largest, std::fabs(x));
    for (const double x : trial.call.at("v").numbers) values = std::fmax(values, std::fabs(x));
    const double a =
        direction.array[0] == 'v' ? 0 : scale * largest * static_cast<double>(p.width());
    double difference = 0, allowed = 0;
    trial.base().each_row([&](RowIndex at) {
      double row = 0;
      for (std::size_t t = 0; t < p.value_width(); ++t) {
        const double weight = p.d_output->number(at.batch, at.head, at.row, t);
        difference += weight * (above.output(at, t) - below.output(at, t));
        allowed += std::fabs(weight) * (above.allowed(at, t) + below.allowed(at, t)) / (2 * h);
        row += std::fabs(weight);
      }
      if (p.d_log_sum_exp && p.log_sum_exp && trial.base().is_blend(at)) {
        const double weight = p.d_log_sum_exp->number(at.batch, at.head, at.row, 0);
        difference += weight * (above.log_sum_exp(at) - below.log_sum_exp(at));
        allowed += std::fabs(weight) *
                   (above.log_sum_exp_allowed(at) + below.log_sum_exp_allowed(at)) / (2 * h);
        row += std::fabs(weight);
      }
      allowed += row * h * h / 6 * 4 * std::pow(2 * a, 3) * (2 * values + 1);
    });
    // of the gradients themselves: a few roundings of each sum
    allowed += size * u * 64 * static_cast<double>(p.keys() + p.queries());
    trial.compare({}, (std::string("derivative along a direction of ") + direction.array).c_str(),
                  derivative, difference / (2 * h), allowed);
  }
}
inline bool has_gradients(const EditableCall&, const Problem& p) {
  return p.has_gradients();
}

}  // namespace detail

inline const std::vector<Law>& laws() {
  using namespace detail;
  static const std::vector<Law> all{
      {"repetition", "The same call again gives the same bits.", always, ask_again},
      {"convex hull", "An output lies between the least and the greatest value its query may see.",
       always, ask_hull},
      {"rows sum to one", "If all values are equal, the output is that value.",
       [](const EditableCall&, const Problem& p) { return p.sinks.empty(); }, ask_equal_values},
      {"positive weights", "No weight is negative or above one, and a hidden key has none.",
       keys_are_in_their_places, ask_weights},
      {"hidden keys", "What a query may not see changes nothing for it.",
       may_hide_keys_in_their_places, ask_hidden_keys},
      {"order of keys", "Keys in another order, their values with them, change nothing.",
       [](const EditableCall& call, const Problem& p) {
         return has_no_positions(call, p) && p.past() == 0 && p.given_keys() > 1;
       },
       ask_order_of_keys},
      {"order of queries", "Queries in another order give their outputs in that order.",
       [](const EditableCall& call, const Problem& p) {
         return has_no_positions(call, p) && p.queries() > 1;
       },
       ask_order_of_queries},
      {"order of batch entries", "Batch entries in another order give their outputs in that order.",
       [](const EditableCall&, const Problem& p) { return p.batches() > 1; }, ask_order_of_batches},
      {"heads alone", "A head's output is that of the head alone.", several_heads_or_batches,
       ask_heads_alone},
      {"repeated heads", "Grouped heads are heads that each have a copy of what they share.",
       has_grouped_heads, ask_repeated_heads},
      {"without cache", "Keys and values from a cache are as good as new ones.",
       has_a_cache_without_positions, ask_without_cache},
      {"queries alone", "A query's output is that of the query alone.",
       [](const EditableCall& call, const Problem& p) {
         return has_no_positions(call, p) && p.queries() > 1;
       },
       ask_queries_alone},
      {"causal prefix", "No query sees a later key: what follows can be cut off.",
       is_causal_from_the_start, ask_prefix},
      {"causal suffix",
       "Where the last query stands at the last key, earlier queries can be cut off.",
       ends_with_its_keys, ask_suffix},
      {"shift of keys", "One vector added to every key changes no weight.", shift_applies,
       ask_shift},
      {"linear in values",
       "-2 times the values is -2 times the output, and outputs of two values add to that of their "
       "sum.",
       values_are_of_ordinary_size, ask_linearity},
      {"zero queries", "Without scores the weights are e^bias over their sum.", always,
       ask_zero_queries},
      {"odds of two keys", "The odds of two keys are e to the difference of their scores.",
       odds_apply, ask_odds},
      {"sharp queries",
       "Of queries 8 times as large little is left but the values whose keys score highest.",
       may_be_sharpened, ask_sharp_queries},
      {"scale by width",
       "Four times the width, filled with zeros, and twice the query change nothing.",
       [](const EditableCall&, const Problem& p) {
         return p.rule.scale.by_width && p.width() % 4 == 0;
       },
       ask_width},
      {"scale times query", "Half the scale and twice the query change nothing.", scale_is_given,
       ask_scale},
      {"keys twice", "Every key twice changes no output; the log-sum-exp rises by ln 2.",
       keys_twice_apply, ask_keys_twice},
      {"parts of keys", "Parts of the keys, put together by their log-sum-exps, are the whole.",
       parts_apply, ask_parts},
      {"rows without keys", "A query that sees no key returns what the definition says.", may_hide,
       ask_rows_without_keys},
      {"gradients", "Outputs change along a direction as the gradients say.", has_gradients,
       ask_gradients},
  };
  return all;
}

}  // namespace attest::testing
