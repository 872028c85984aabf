// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Numbers with the error that any honest program may make of them: the exact value in a hundred
// digits, and a bound that grows with each operation as IEEE arithmetic in T lets it.
#pragma once
#include <vector>

#include "reference_attention.hpp"

namespace tests {

// |what a program in T computes − value| ≤ error. Values carry no rounding of their own.
template <class T>
struct Computed {
  Real value;
  Real error;
};
template <class T>
using Row = std::vector<Computed<T>>;
template <class T>
using Rows = std::vector<Row<T>>;

template <class T>
Real largest_size(const Computed<T>& x) {
  return abs(x.value) + x.error;
}

template <class T>
Computed<T> product(const Computed<T>& a, const Computed<T>& b) {
  const Real value = a.value * b.value;
  const Real inherited = abs(a.value) * b.error + a.error * abs(b.value) + a.error * b.error;
  return {value, inherited + unit_roundoff<T> * (abs(value) + inherited) + smallest<T>};
}

// The sum of n terms, added in any order: (n − 1)·u·Σ|terms| (Jeannerod & Rump 2013). With terms
// that are products it covers fused multiply-adds too, which round less often.
template <class T>
Computed<T> sum(const Row<T>& terms) {
  Computed<T> result;
  Real sizes;
  for (const auto& term : terms) {
    result.value += term.value;
    result.error += term.error;
    sizes += largest_size(term);
  }
  if (!terms.empty()) result.error += (terms.size() - 1) * unit_roundoff<T> * sizes;
  return result;
}
template <class T>
Computed<T> negative(const Computed<T>& x) {
  return {-x.value, x.error};
}

// Softmax over the visible scores: e^{s_j − m}/Σ, where any m is as good as the exact maximum, so
// that its error counts only in the rounding of the subtraction. exp may be off by a unit in the
// last place, at most 2·u, and the quotient may be a product with a reciprocal, 2·u.
template <class T>
Row<T> softmax(const Row<T>& scores, const std::vector<bool>& visible) {
  const Real u = unit_roundoff<T>;
  Real largest, worst;
  bool any = false;
  for (std::size_t j = 0; j < scores.size(); ++j)
    if (visible[j]) {
      if (!any || scores[j].value > largest) largest = scores[j].value;
      if (scores[j].error > worst) worst = scores[j].error;
      any = true;
    }
  Row<T> exponentials, weights(scores.size());
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (!visible[j]) continue;
    const Real below = largest - scores[j].value;
    const Real off = scores[j].error + u * (below + scores[j].error + worst);
    const Real value = exp(Real(-below));
    const Real error = value * (exp(off) - 1);
    exponentials.push_back({value, error + 2 * u * (value + error) + smallest<T>});
  }
  const Computed<T> total = sum(exponentials);
  for (std::size_t j = 0, seen = 0; j < scores.size(); ++j) {
    if (!visible[j]) continue;
    const auto& e = exponentials[seen++];
    const Real value = e.value / total.value;
    const Real inherited = (e.error + value * total.error) / (total.value - total.error);
    weights[j] = {value, inherited + 2 * u * (value + inherited) + smallest<T>};
  }
  return weights;
}

}  // namespace tests
