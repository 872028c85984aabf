// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Softmax and attention in a hundred decimal digits, written from their definitions and not from
// the headers, with the error the headers claim for what they compute.
#pragma once
#include <algorithm>
#include <attest/matrix.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <limits>
#include <vector>

namespace tests {

using Real = boost::multiprecision::cpp_bin_float_100;
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
  ReferenceAttention result{Reals(Tq, std::vector<Real>(Dv)), Reals(Tq, std::vector<Real>(Dv))};
  for (size_t i = 0; i < Tq; ++i) {
    std::vector<Real> score(Tk), score_error(Tk);
    std::vector<bool> seen(Tk);
    for (size_t j = 0; j < Tk; ++j) {
      seen[j] = visible(i, j);
      if (!seen[j]) continue;
      Real product, magnitude;
      for (size_t t = 0; t < D; ++t) {
        product += Real(q[i][t]) * Real(k[j][t]);
        magnitude += abs(Real(Real(q[i][t]) * Real(k[j][t])));
      }
      score[j] = c * product;
      score_error[j] =
          u * ((D + 1) * abs(c) * magnitude + (scale ? Real(0) : Real(2 * abs(score[j]))));
    }
    const ReferenceSoftmax p = reference_softmax(score, seen);
    for (size_t t = 0; t < Dv; ++t) {
      Real o, weighed, largest_value;
      for (size_t j = 0; j < Tk; ++j)
        if (seen[j]) {
          o += p.weight[j] * Real(v[j][t]);
          weighed += p.weight[j] * abs(Real(v[j][t]));
          if (abs(Real(v[j][t])) > largest_value) largest_value = abs(Real(v[j][t]));
        }
      Real from_weights;
      for (size_t j = 0; j < Tk; ++j)
        if (seen[j])
          from_weights +=
              p.weight[j] * (score_error[j] + u * (p.below[j] + 1)) * abs(Real(Real(v[j][t]) - o));
      result.output[i][t] = o;
      result.bound[i][t] = higher_orders * (from_weights + Real(p.seen) * u * (weighed + abs(o))) +
                           Real(p.seen) * smallest<T> * (4 + 2 * largest_value);
    }
  }
  return result;
}

}  // namespace tests
