// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The loops of attention over a block of query rows and a range of keys, in double and, for sums
// that lose almost nothing, in split double; once for each instruction set of the processor.
//
// Split double. A number x is taken apart as x₁ + x₂, x₁ a multiple of a power of two that it is
// rounded to by adding and subtracting 1.5·2^52 of it. Products of leading parts and their sums
// are then exact in double, whatever the order and whether or not they are fused; the rest,
// Σ x₁ y₂ + Σ x₂ y, is smaller by 2^-23 and summed apart (Ozaki, Ogita, Oishi, Rump, Numer.
// Algorithms 59, 2012). Errors: docs/enclosure.md.
#pragma once
#include <attest/oracle/arithmetic.hpp>
#include <attest/oracle/lanes.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace attest::oracle::detail {

// Keys are held transposed in panels of this many: entry (j, t) of a head stands at
// ((j / 24)·width + t)·24 + j mod 24.
inline constexpr std::size_t panel_keys = 24;
// Values are summed in runs of this many keys, each small enough that leading parts sum exactly.
inline constexpr std::size_t run_keys = 128;
// Columns of values are padded to a multiple of this, the widest vector.
inline constexpr std::size_t column_padding = 8;
// Leading bits of exponentials and values: 2·23 bits and 7 of the number of keys in a run.
inline constexpr int value_bits = 23;

// Queries against panels of keys: scores[r·stride + n] for key panel_keys·first + n.
struct ScoreStep {
  const double* queries;  // rows × width
  std::size_t rows, width;
  const double* panels;
  std::size_t first, last;  // panels
  double* scores;
  std::size_t stride;
  // Split only. queries: the leading parts; shifts: of each key what rounds to its leading part;
  // room: 2·panel_keys·width numbers.
  const double* query_rests = nullptr;
  const double* key_shifts = nullptr;
  double* score_rests = nullptr;
  double* room = nullptr;
};

// One row of sums q·k in place: scaled, capped and biased; returns the largest.
struct RowStep {
  double* scores;
  double* score_rests;                     // split only
  std::size_t count;                       // a multiple of panel_keys
  double scale;                            // split: 26 bits of it
  double scale_rest;                       // split only
  double softcap;                          // not split; 0: none
  const double* bias;                      // or null
  std::size_t hidden_before, hidden_from;  // keys outside get −∞
};

// Exponentials times values: outputs[r·columns + t] += Σ_j e[r·stride + j] v[j·columns + t].
struct ValueStep {
  const double* exponentials;
  std::size_t rows, stride;
  const double* values;  // of the key of the first exponential
  std::size_t count;     // keys
  std::size_t columns;   // a multiple of column_padding
  double* outputs;
  // Split only. room: 2·run_keys·panel_keys numbers.
  const double* exponential_rests = nullptr;
  const double* column_shifts = nullptr;
  double* output_rests = nullptr;
  double* room = nullptr;
};

// 2^(i/256), leading 26 bits and the nearest double of the rest.
struct PowerTable {
  double leading[256], rest[256];
};
inline const PowerTable& power_table() {
  static const PowerTable table = [] {
    PowerTable result;
    for (int i = 0; i < 256; ++i) {
      const Wide power =
          boost::multiprecision::exp(Wide(boost::multiprecision::log(Wide(2)) * i / 256));
      result.leading[i] = std::ldexp(std::floor(std::ldexp(static_cast<double>(power), 25)), -25);
      result.rest[i] = static_cast<double>(Wide(power - result.leading[i]));
    }
    return result;
  }();
  return table;
}

template <std::size_t N>
struct KernelBody {
  using V = Lanes<N>;
  // Tiles that fill the registers: 32 of 8 lanes, 16 of 4 or 2.
  static constexpr std::size_t tile_rows = N == 8 ? 8 : N == 4 ? 4 : 2;
  static constexpr std::size_t split_rows = N == 8 ? 4 : 2;
  static constexpr std::size_t split_vectors = N == 8 ? 3 : 2;

  // Arithmetic<double>::exp in every lane; 0 below its smallest exponent.
  [[gnu::always_inline]] static V exp(const V& y) {
    const V shift = V::all(0x1.8p52);
    const V shifted = y * V::all(0x1.71547652b82fep+0) + shift;
    const V k = shifted - shift;
    const V r = (y - k * V::all(0x1.62e42fee00000p-1)) - k * V::all(0x1.a39ef35793c76p-33);
    V p = V::all(1.0 / 6227020800);
    p = p * r + V::all(1.0 / 479001600);
    p = p * r + V::all(1.0 / 39916800);
    p = p * r + V::all(1.0 / 3628800);
    p = p * r + V::all(1.0 / 362880);
    p = p * r + V::all(1.0 / 40320);
    p = p * r + V::all(1.0 / 5040);
    p = p * r + V::all(1.0 / 720);
    p = p * r + V::all(1.0 / 120);
    p = p * r + V::all(1.0 / 24);
    p = p * r + V::all(1.0 / 6);
    p = p * r + V::all(0.5);
    p = p * r + V::all(1.0);
    p = p * r + V::all(1.0);
    const V power = V::of(p.bits() + (shifted.bits() << 52));
    return where_less(y, V::all(Arithmetic<double>::smallest_exponent), V::all(0), power);
  }

  // Arithmetic<double>::tanh in every lane.
  [[gnu::always_inline]] static V tanh(const V& z) {
    const V a = abs(z), s = z * z;
    const V series =
        z * (V::all(1) +
             s * (V::all(-1.0 / 3) +
                  s * (V::all(2.0 / 15) + s * (V::all(-17.0 / 315) + s * V::all(62.0 / 2835)))));
    const V w = exp(V::all(-2) * a);
    const V quotient = (V::all(1) - w) / (V::all(1) + w);
    const V signed_quotient = where_less(z, V::all(0), V::all(0) - quotient, quotient);
    return where_less(a, V::all(0x1p-5), series, signed_quotient);
  }

  template <std::size_t Rows, std::size_t Vectors>
  [[gnu::always_inline]] static void score_tile(const ScoreStep& step, std::size_t row,
                                                const double* panel, double* to) {
    V sum[Rows][Vectors];
    for (auto& of_row : sum)
      for (V& x : of_row) x = V::all(0);
    const double* const q = step.queries + row * step.width;
    for (std::size_t t = 0; t < step.width; ++t) {
      V k[Vectors];
      for (std::size_t c = 0; c < Vectors; ++c) k[c] = V::load(panel + t * panel_keys + c * N);
      for (std::size_t r = 0; r < Rows; ++r) {
        const V x = V::all(q[r * step.width + t]);
        for (std::size_t c = 0; c < Vectors; ++c) sum[r][c] = sum[r][c] + x * k[c];
      }
    }
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t c = 0; c < Vectors; ++c) sum[r][c].store(to + r * step.stride + c * N);
  }

  [[gnu::always_inline]] static void scores(const ScoreStep& step) {
    constexpr std::size_t vectors = 3;
    for (std::size_t p = step.first; p < step.last; ++p) {
      const double* const panel = step.panels + p * step.width * panel_keys;
      double* const column = step.scores + (p - step.first) * panel_keys;
      std::size_t row = 0;
      for (; row + tile_rows <= step.rows; row += tile_rows)
        for (std::size_t n = 0; n < panel_keys; n += vectors * N)
          score_tile<tile_rows, vectors>(step, row, panel + n, column + row * step.stride + n);
      for (; row < step.rows; ++row)
        for (std::size_t n = 0; n < panel_keys; n += vectors * N)
          score_tile<1, vectors>(step, row, panel + n, column + row * step.stride + n);
    }
  }

  template <std::size_t Rows, std::size_t Vectors>
  [[gnu::always_inline]] static void split_score_tile(const ScoreStep& step, std::size_t row,
                                                      const double* panel, const double* leading,
                                                      const double* rest, std::size_t to) {
    V sum[Rows][Vectors], rests[Rows][Vectors];
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t c = 0; c < Vectors; ++c) sum[r][c] = rests[r][c] = V::all(0);
    const double* const q1 = step.queries + row * step.width;
    const double* const q2 = step.query_rests + row * step.width;
    for (std::size_t t = 0; t < step.width; ++t) {
      V x1[Rows], x2[Rows];
      for (std::size_t r = 0; r < Rows; ++r) {
        x1[r] = V::all(q1[r * step.width + t]);
        x2[r] = V::all(q2[r * step.width + t]);
      }
      for (std::size_t c = 0; c < Vectors; ++c) {
        const std::size_t at = t * panel_keys + c * N;
        const V k = V::load(panel + at), k1 = V::load(leading + at), k2 = V::load(rest + at);
        for (std::size_t r = 0; r < Rows; ++r) {
          sum[r][c] = sum[r][c] + x1[r] * k1;
          rests[r][c] = (rests[r][c] + x1[r] * k2) + x2[r] * k;
        }
      }
    }
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t c = 0; c < Vectors; ++c) {
        sum[r][c].store(step.scores + to + r * step.stride + c * N);
        rests[r][c].store(step.score_rests + to + r * step.stride + c * N);
      }
  }

  [[gnu::always_inline]] static void split_scores(const ScoreStep& step) {
    double* const leading = step.room;
    double* const rest = step.room + panel_keys * step.width;
    for (std::size_t p = step.first; p < step.last; ++p) {
      const double* const panel = step.panels + p * step.width * panel_keys;
      for (std::size_t n = 0; n < panel_keys; n += N) {
        const V shift = V::load(step.key_shifts + p * panel_keys + n);
        for (std::size_t t = 0; t < step.width; ++t) {
          const V k = V::load(panel + t * panel_keys + n);
          const V k1 = (k + shift) - shift;
          k1.store(leading + t * panel_keys + n);
          (k - k1).store(rest + t * panel_keys + n);
        }
      }
      const std::size_t column = (p - step.first) * panel_keys;
      std::size_t row = 0;
      for (; row + split_rows <= step.rows; row += split_rows)
        for (std::size_t n = 0; n < panel_keys; n += split_vectors * N)
          split_score_tile<split_rows, split_vectors>(step, row, panel + n, leading + n, rest + n,
                                                      column + row * step.stride + n);
      for (; row < step.rows; ++row)
        for (std::size_t n = 0; n < panel_keys; n += split_vectors * N)
          split_score_tile<1, split_vectors>(step, row, panel + n, leading + n, rest + n,
                                             column + row * step.stride + n);
    }
  }

  static void hide(const RowStep& step, double* scores) {
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < step.hidden_before; ++j) scores[j] = hidden;
    for (std::size_t j = step.hidden_from; j < step.count; ++j) scores[j] = hidden;
  }

  [[gnu::always_inline]] static double biased_scores(const RowStep& step) {
    const V scale = V::all(step.scale);
    const V cap = V::all(step.softcap);
    for (std::size_t j = 0; j < step.count; j += N) {
      V s = V::load(step.scores + j) * scale;
      if (step.softcap != 0) s = cap * tanh(s / cap);
      if (step.bias) s = s + V::load(step.bias + j);
      s.store(step.scores + j);
    }
    hide(step, step.scores);
    V most = V::load(step.scores);
    for (std::size_t j = N; j < step.count; j += N) most = max(most, V::load(step.scores + j));
    return most.largest();
  }

  [[gnu::always_inline]] static double exponentials(double* scores, std::size_t count,
                                                    double maximum) {
    const V m = V::all(maximum);
    V sum = V::all(0);
    for (std::size_t j = 0; j < count; j += N) {
      const V e = exp(V::load(scores + j) - m);
      e.store(scores + j);
      sum = sum + e;
    }
    return sum.sum();
  }

  // Leading part and rest of c·(sum + rest) + bias, c = scale + scale_rest.
  [[gnu::always_inline]] static double split_biased_scores(const RowStep& step) {
    constexpr std::int64_t half = std::int64_t{1} << 26;
    const V c1 = V::all(step.scale), c2 = V::all(step.scale_rest);
    for (std::size_t j = 0; j < step.count; j += N) {
      const V sum = V::load(step.scores + j), rest = V::load(step.score_rests + j);
      const V a1 = V::of((sum.bits() + half) & ~(2 * half - 1));
      V s = a1 * c1;  // 26 bits each: exact
      V low = (sum - a1) * c1 + (sum * c2 + rest * (c1 + c2));
      if (step.bias) {
        const V b = V::load(step.bias + j);
        const V biased = s + b;
        const V b_part = biased - s;
        low = low + ((s - (biased - b_part)) + (b - b_part));
        s = biased;
      }
      s.store(step.scores + j);
      low.store(step.score_rests + j);
    }
    hide(step, step.scores);
    V most = V::load(step.scores);
    for (std::size_t j = N; j < step.count; j += N) most = max(most, V::load(step.scores + j));
    return most.largest();
  }

  // e^(score + rest − maximum) as a multiple of 2^-23 and a rest, in place, and the sums of both.
  [[gnu::always_inline]] static void split_exponentials(double* scores, double* rests,
                                                        std::size_t count, double maximum,
                                                        double sums[2]) {
    const PowerTable& table = power_table();
    const V m = V::all(maximum);
    const V shift = V::all(0x1.8p52);
    const V grid = V::all(0x1.8p29);           // rounds to a multiple of 2^-23
    const V argument_grid = V::all(0x1.8p18);  // of 2^-34
    V sum = V::all(0), rest_sum = V::all(0);
    for (std::size_t j = 0; j < count; j += N) {
      const V s = V::load(scores + j);
      // y + low = s − m + rest
      const V y = s - m;
      const V m_part = s - y;
      const V s_part = y + m_part;
      const V low = ((s - s_part) + (m_part - m)) + V::load(rests + j);
      // y = k ln 2 / 256 + r, ln 2 / 256 = l1 + l2 + l3; k·l1 and k·l2 are exact
      const V shifted = y * V::all(0x1.71547652b82fep+8) + shift;
      const V k = shifted - shift;
      const V near = y - k * V::all(0x1.62e42fef00000p-9);
      const V kl2 = k * V::all(0x1.473de6af00000p-42);
      const V r = near - kl2;
      const V kl2_part = near - r;
      const V near_part = r + kl2_part;
      const V r_rest =
          ((near - near_part) + (kl2_part - kl2)) + (low - k * V::all(0x1.3c7673007e5edp-77));
      const V x = r + r_rest;
      V p = V::all(1.0 / 720);
      p = p * x + V::all(1.0 / 120);
      p = p * x + V::all(1.0 / 24);
      p = p * x + V::all(1.0 / 6);
      p = p * x + V::all(0.5);
      const V beyond = r_rest + x * x * p;  // e^(r + r_rest) = 1 + r + beyond
      const typename V::Integers number = shifted.bits() - shift.bits();
      const typename V::Integers index = number & 255;
      std::int64_t places[N];
      index.store(places);
      double leading_powers[N], rest_powers[N];
      for (std::size_t i = 0; i < N; ++i) {
        leading_powers[i] = table.leading[places[i]];
        rest_powers[i] = table.rest[places[i]];
      }
      const V t1 = V::load(leading_powers), t2 = V::load(rest_powers);
      const V r1 = (r + argument_grid) - argument_grid;
      const V r2 = r - r1;
      const V product = t1 * r1;  // 26 and 25 bits: exact
      const V head = t1 + product;
      const V tail = (product - (head - t1)) + (t2 + (t1 * r2 + (t2 * r + (t1 + t2) * beyond)));
      const V e = head + tail;
      const V rest = tail - (e - head);
      const V power = V::of(((number - index) << 44) + (std::int64_t{1023} << 52));
      const V scaled = e * power;
      const V leading = (scaled + grid) - grid;
      const V scaled_rest = (scaled - leading) + rest * power;
      const V nothing = V::all(0);
      const V lowest = V::all(-700);
      const V e1 = where_less(y, lowest, nothing, leading);
      const V e2 = where_less(y, lowest, nothing, scaled_rest);
      e1.store(scores + j);
      e2.store(rests + j);
      sum = sum + e1;
      rest_sum = rest_sum + e2;
    }
    sums[0] = sum.sum();
    sums[1] = rest_sum.sum();
  }

  // Adds Σ e v over these keys; Σ e |v| over every `every`-th of them if `sizes`.
  template <std::size_t Rows, std::size_t Vectors, bool sizes>
  [[gnu::always_inline]] static void value_tile(const ValueStep& step, std::size_t row,
                                                std::size_t column, std::size_t begin,
                                                std::size_t end, std::size_t every) {
    V sum[Rows][Vectors];
    double* const to = step.outputs + row * step.columns + column;
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t c = 0; c < Vectors; ++c) sum[r][c] = V::load(to + r * step.columns + c * N);
    const double* const e = step.exponentials + row * step.stride;
    const double* const rests =
        sizes && step.exponential_rests ? step.exponential_rests + row * step.stride : nullptr;
    for (std::size_t j = begin; j < end; j += sizes ? every : 1) {
      V v[Vectors];
      for (std::size_t c = 0; c < Vectors; ++c) {
        v[c] = V::load(step.values + j * step.columns + column + c * N);
        if (sizes) v[c] = abs(v[c]);
      }
      for (std::size_t r = 0; r < Rows; ++r) {
        const std::size_t at = r * step.stride + j;
        const V x = V::all(sizes && rests ? e[at] + rests[at] : e[at]);
        for (std::size_t c = 0; c < Vectors; ++c) sum[r][c] = sum[r][c] + x * v[c];
      }
    }
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t c = 0; c < Vectors; ++c) sum[r][c].store(to + r * step.columns + c * N);
  }

  template <std::size_t Vectors, bool sizes>
  [[gnu::always_inline]] static void value_columns(const ValueStep& step, std::size_t column,
                                                   std::size_t every) {
    for (std::size_t begin = 0; begin < step.count; begin += run_keys) {
      const std::size_t end = begin + run_keys < step.count ? begin + run_keys : step.count;
      std::size_t row = 0;
      for (; row + tile_rows <= step.rows; row += tile_rows)
        value_tile<tile_rows, Vectors, sizes>(step, row, column, begin, end, every);
      for (; row < step.rows; ++row)
        value_tile<1, Vectors, sizes>(step, row, column, begin, end, every);
    }
  }

  template <bool sizes>
  [[gnu::always_inline]] static void all_columns(const ValueStep& step, std::size_t every) {
    std::size_t column = 0;
    for (; column + 3 * N <= step.columns; column += 3 * N)
      value_columns<3, sizes>(step, column, every);
    if (column + 2 * N <= step.columns) {
      value_columns<2, sizes>(step, column, every);
      column += 2 * N;
    }
    if (column < step.columns) value_columns<1, sizes>(step, column, every);
  }

  [[gnu::always_inline]] static void outputs(const ValueStep& step) { all_columns<false>(step, 1); }

  // outputs[r·columns + t] += Σ e |v| over at least every `every`-th key.
  [[gnu::always_inline]] static void sizes(const ValueStep& step, std::size_t every) {
    all_columns<true>(step, every);
  }

  // The leading parts of outputs are summed exactly within a run of keys; between runs what a sum
  // rounds away is added to the rests.
  template <std::size_t Rows, std::size_t Vectors>
  [[gnu::always_inline]] static void split_value_tile(const ValueStep& step, std::size_t row,
                                                      std::size_t column, std::size_t begin,
                                                      std::size_t end, const double* leading,
                                                      const double* rest) {
    V sum[Rows][Vectors], rests[Rows][Vectors];
    double* const to = step.outputs + row * step.columns + column;
    double* const rests_to = step.output_rests + row * step.columns + column;
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t c = 0; c < Vectors; ++c) {
        sum[r][c] = V::all(0);
        rests[r][c] = V::load(rests_to + r * step.columns + c * N);
      }
    const double* const e1 = step.exponentials + row * step.stride;
    const double* const e2 = step.exponential_rests + row * step.stride;
    for (std::size_t j = begin; j < end; ++j) {
      V x1[Rows], x2[Rows];
      for (std::size_t r = 0; r < Rows; ++r) {
        x1[r] = V::all(e1[r * step.stride + j]);
        x2[r] = V::all(e2[r * step.stride + j]);
      }
      for (std::size_t c = 0; c < Vectors; ++c) {
        const std::size_t at = ((j - begin) * Vectors + c) * N;
        const V v = V::load(step.values + j * step.columns + column + c * N);
        const V v1 = V::load(leading + at), v2 = V::load(rest + at);
        for (std::size_t r = 0; r < Rows; ++r) {
          sum[r][c] = sum[r][c] + x1[r] * v1;
          rests[r][c] = (rests[r][c] + x1[r] * v2) + x2[r] * v;
        }
      }
    }
    for (std::size_t r = 0; r < Rows; ++r)
      for (std::size_t c = 0; c < Vectors; ++c) {
        double* const place = to + r * step.columns + c * N;
        const V before = V::load(place);
        const V after = before + sum[r][c];
        const V part = after - before;
        const V lost = (before - (after - part)) + (sum[r][c] - part);
        after.store(place);
        (rests[r][c] + lost).store(rests_to + r * step.columns + c * N);
      }
  }

  template <std::size_t Vectors>
  [[gnu::always_inline]] static void split_value_columns(const ValueStep& step,
                                                         std::size_t column) {
    double* const leading = step.room;
    double* const rest = step.room + run_keys * panel_keys;
    for (std::size_t begin = 0; begin < step.count; begin += run_keys) {
      const std::size_t end = begin + run_keys < step.count ? begin + run_keys : step.count;
      for (std::size_t c = 0; c < Vectors; ++c) {
        const V shift = V::load(step.column_shifts + column + c * N);
        for (std::size_t j = begin; j < end; ++j) {
          const V v = V::load(step.values + j * step.columns + column + c * N);
          const V v1 = (v + shift) - shift;
          v1.store(leading + ((j - begin) * Vectors + c) * N);
          (v - v1).store(rest + ((j - begin) * Vectors + c) * N);
        }
      }
      std::size_t row = 0;
      for (; row + split_rows <= step.rows; row += split_rows)
        split_value_tile<split_rows, Vectors>(step, row, column, begin, end, leading, rest);
      for (; row < step.rows; ++row)
        split_value_tile<1, Vectors>(step, row, column, begin, end, leading, rest);
    }
  }

  [[gnu::always_inline]] static void split_outputs(const ValueStep& step) {
    std::size_t column = 0;
    for (; column + split_vectors * N <= step.columns; column += split_vectors * N)
      split_value_columns<split_vectors>(step, column);
    for (; column < step.columns; column += N) split_value_columns<1>(step, column);
  }

  // outputs[r·columns + t] += Σ e² v².
  [[gnu::always_inline]] static void squares(const ValueStep& step) {
    for (std::size_t row = 0; row < step.rows; ++row) {
      const double* const e = step.exponentials + row * step.stride;
      double* const to = step.outputs + row * step.columns;
      for (std::size_t j = 0; j < step.count; ++j) {
        const double rest =
            step.exponential_rests ? step.exponential_rests[row * step.stride + j] : 0;
        const V x = V::all(e[j] + rest);
        const double* const v = step.values + j * step.columns;
        for (std::size_t t = 0; t < step.columns; t += N) {
          const V term = x * V::load(v + t);
          (V::load(to + t) + term * term).store(to + t);
        }
      }
    }
  }
};

// The kernels as compiled for one instruction set.
struct Kernels {
  const char* name;
  void (*scores)(const ScoreStep&);
  double (*biased_scores)(const RowStep&);
  double (*exponentials)(double* scores, std::size_t count, double maximum);
  void (*outputs)(const ValueStep&);
  void (*sizes)(const ValueStep&, std::size_t every);
  void (*squares)(const ValueStep&);
  void (*split_scores)(const ScoreStep&);
  double (*split_biased_scores)(const RowStep&);
  void (*split_exponentials)(double* scores, double* rests, std::size_t count, double maximum,
                             double sums[2]);
  void (*split_outputs)(const ValueStep&);
};

// A kernel must be a function of its own to be compiled for an instruction set the program as a
// whole is not built for.
#define ATTEST_ORACLE_KERNELS(set, label, lanes, target)                                          \
  struct set {                                                                                    \
    using Body = KernelBody<lanes>;                                                               \
    target static void scores(const ScoreStep& step) { Body::scores(step); }                      \
    target static double biased_scores(const RowStep& step) { return Body::biased_scores(step); } \
    target static double exponentials(double* scores, std::size_t count, double maximum) {        \
      return Body::exponentials(scores, count, maximum);                                          \
    }                                                                                             \
    target static void outputs(const ValueStep& step) { Body::outputs(step); }                    \
    target static void sizes(const ValueStep& step, std::size_t every) {                          \
      Body::sizes(step, every);                                                                   \
    }                                                                                             \
    target static void squares(const ValueStep& step) { Body::squares(step); }                    \
    target static void split_scores(const ScoreStep& step) { Body::split_scores(step); }          \
    target static double split_biased_scores(const RowStep& step) {                               \
      return Body::split_biased_scores(step);                                                     \
    }                                                                                             \
    target static void split_exponentials(double* scores, double* rests, std::size_t count,       \
                                          double maximum, double sums[2]) {                       \
      Body::split_exponentials(scores, rests, count, maximum, sums);                              \
    }                                                                                             \
    target static void split_outputs(const ValueStep& step) { Body::split_outputs(step); }        \
    static constexpr Kernels kernels{                                                             \
        label,   scores,       biased_scores,       exponentials,       outputs,      sizes,      \
        squares, split_scores, split_biased_scores, split_exponentials, split_outputs};           \
  };

ATTEST_ORACLE_KERNELS(BaselineKernels, "baseline", 2, )
#if defined(__x86_64__)
ATTEST_ORACLE_KERNELS(Avx2Kernels, "AVX2", 4, [[gnu::target("avx2,fma")]])
ATTEST_ORACLE_KERNELS(Avx512Kernels, "AVX-512", 8, [[gnu::target("avx2,fma,avx512f")]])
#endif
#undef ATTEST_ORACLE_KERNELS

// Those this processor can run, the widest last.
inline std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> result = {&BaselineKernels::kernels};
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2) result.push_back(&Avx2Kernels::kernels);
  if (avx2 && __builtin_cpu_supports("avx512f")) result.push_back(&Avx512Kernels::kernels);
#endif
  return result;
}

inline const Kernels& best_kernels() {
  static const Kernels& best = *available_kernels().back();
  return best;
}

}  // namespace attest::oracle::detail
