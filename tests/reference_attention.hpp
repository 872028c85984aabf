// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Softmax and attention in a hundred decimal digits, written from their definitions and not from
// the headers, with the error the headers claim for what they compute.
#pragma once
#include <algorithm>
#include <attest/matrix.hpp>
#include <limits>
#include <vector>

#include "decimal.hpp"

namespace tests {

using Real = Decimal<100>;
using Reals = std::vector<std::vector<Real>>;

template <class T>
inline const Real unit_roundoff = Real(std::numeric_limits<T>::epsilon()) / 2;
template <class T>
inline const Real smallest = Real(std::numeric_limits<T>::denorm_min());

// The bounds are stated to first order in u. Where they are used every term is below 1/200, so that
// what is left out is less than one part in fifty.
inline const Real higher_orders = Real(51) / 50;

struct ReferenceSoftmax {
  std::vector<Real> weight;  // of hidden entries: 0
  std::vector<Real> below;   // a_j = max − x_j; of hidden entries: 0
  size_t seen = 0;
};

inline ReferenceSoftmax reference_softmax(const std::vector<Real>& x,
                                          const std::vector<bool>& visible) {
  ReferenceSoftmax result;
  result.weight.resize(x.size());
  result.below.resize(x.size());
  Real largest, sum;
  for (size_t j = 0; j < x.size(); ++j)
    if (visible[j] && (result.seen++ == 0 || x[j] > largest)) largest = x[j];
  for (size_t j = 0; j < x.size(); ++j)
    if (visible[j]) {
      result.below[j] = largest - x[j];
      result.weight[j] = exp(Real(x[j] - largest));
      sum += result.weight[j];
    }
  if (result.seen > 0)
    for (Real& w : result.weight) w /= sum;
  return result;
}

// (min(n, h + 1) + 2 + a_j + ln n)·u·g_j, h = ⌈N/32⌉ + 4, and two smallest subnormals for
// underflow.
template <class T>
Real softmax_bound(const ReferenceSoftmax& g, size_t j) {
  const size_t additions = std::min(g.seen, (g.weight.size() + 31) / 32 + 5);
  return higher_orders * (Real(additions) + 2 + g.below[j] + log(Real(g.seen))) * unit_roundoff<T> *
             g.weight[j] +
         2 * smallest<T>;
}

// The scores of one query, the errors with which they may be computed, and which of them count.
struct ReferenceScores {
  std::vector<Real> score, error;
  std::vector<bool> seen;
};

struct ReferenceRow {
  std::vector<Real> output, bound;
};

// Scores in, the weighted mean of the values out, and what the headers allow for it.
template <class T, size_t Tk, size_t Dv>
ReferenceRow reference_row(const ReferenceScores& scores, const attest::Matrix<T, Tk, Dv>& v) {
  const Real u = unit_roundoff<T>;
  const ReferenceSoftmax p = reference_softmax(scores.score, scores.seen);
  ReferenceRow row;
  for (size_t t = 0; t < Dv; ++t) {
    const auto value = [&](size_t j) { return j < Tk ? Real(v[j][t]) : Real(0); };  // a sink's is 0
    Real o, weighed, largest_value;
    for (size_t j = 0; j < p.weight.size(); ++j)
      if (scores.seen[j]) {
        o += p.weight[j] * value(j);
        weighed += p.weight[j] * abs(value(j));
        if (abs(value(j)) > largest_value) largest_value = abs(value(j));
      }
    Real from_weights;
    for (size_t j = 0; j < p.weight.size(); ++j)
      if (scores.seen[j])
        from_weights +=
            p.weight[j] * (scores.error[j] + u * (p.below[j] + 1)) * abs(Real(value(j) - o));
    row.output.push_back(o);
    row.bound.push_back(higher_orders * (from_weights + Real(p.seen) * u * (weighed + abs(o))) +
                        Real(p.seen) * smallest<T> * (4 + 2 * largest_value));
  }
  return row;
}

// q·k and Σ |q_k k_k|.
struct ReferenceProduct {
  Real product, magnitude;
};
template <class T, size_t D>
ReferenceProduct reference_product(const T (&q)[D], const T (&k)[D]) {
  ReferenceProduct result;
  for (size_t t = 0; t < D; ++t) {
    result.product += Real(q[t]) * Real(k[t]);
    result.magnitude += abs(Real(Real(q[t]) * Real(k[t])));
  }
  return result;
}

struct ReferenceAttention {
  Reals output;
  Reals bound;
};

// scale: null for 1/√d. visible(i, j): whether query i sees key j.
template <class T, size_t Tq, size_t Tk, size_t D, size_t Dv, class Visible>
ReferenceAttention reference_attention(const attest::Matrix<T, Tq, D>& q,
                                       const attest::Matrix<T, Tk, D>& k,
                                       const attest::Matrix<T, Tk, Dv>& v, const Visible& visible,
                                       const T* scale = nullptr) {
  const Real u = unit_roundoff<T>;
  const Real c = scale ? Real(*scale) : Real(1 / sqrt(Real(D)));
  ReferenceAttention result;
  for (size_t i = 0; i < Tq; ++i) {
    ReferenceScores scores{std::vector<Real>(Tk), std::vector<Real>(Tk), std::vector<bool>(Tk)};
    for (size_t j = 0; j < Tk; ++j) {
      scores.seen[j] = visible(i, j);
      if (!scores.seen[j]) continue;
      const auto [product, magnitude] = reference_product(q[i], k[j]);
      scores.score[j] = c * product;
      scores.error[j] =
          u * ((D + 1) * abs(c) * magnitude + (scale ? Real(0) : Real(2 * abs(scores.score[j]))));
    }
    ReferenceRow row = reference_row(scores, v);
    result.output.push_back(std::move(row.output));
    result.bound.push_back(std::move(row.bound));
  }
  return result;
}

}  // namespace tests
