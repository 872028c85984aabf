// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The log-sum-exp of number types without infinity, which is of float or double: within what the
// scores, the exponentials and their sum may lose, and −∞ of no key.
#include "random_matrix.hpp"
//
#include <attest/error_bound.hpp>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference_rule.hpp"
#include "rounded_matrix.hpp"

namespace {
using namespace attest;
using namespace tests;

// With ε the largest error of a score, a the largest distance of one from the maximum and n keys:
// each exponential is off by (1 + u)·e^{u·(a + 2·ε)} and by half a unit, the sum by (1 + u)^{n−1},
// and is 1 or more; then a logarithm and a sum of float, which are off by less than 2^-22 of
// themselves.
template <class T>
void is_within_its_bound(double magnitude) {
  const auto q = rounded<T>(magnitude * numbers<double, 2, 3>());
  const auto k = rounded<T>(magnitude * numbers<double, 4, 3>());
  const auto v = rounded<T>(magnitude * numbers<double, 4, 1>());
  const auto mask = masks<2, 4>();
  const auto result = attention_with_log_sum_exp(Query{q}, Key{k}, Value{v}, mask);
  const ReferenceRuled exact = reference_attention(Rule{}, widened(q), widened(k), widened(v),
                                                   CallParts<double, 2, 4>{&mask});
  const double u = losses_of<T>.u;
  for (size_t i = 0; i < 2; ++i) {
    if (exact.empty[i]) {
      RC_ASSERT(static_cast<double>(result.log_sum_exp[i]) ==
                -std::numeric_limits<double>::infinity());
      continue;
    }
    double worst = 0, largest = -1e30, smallest = 1e30;
    int n = 0;
    for (size_t j = 0; j < 4; ++j)
      if (mask[i][j]) {
        const DotProduct dot = dot_in_double(q.entries[i], k.entries[j]);
        worst = std::fmax(worst, error_of_scaled_dot<Rule{}, 3>(losses_of<T>, dot));
        largest = std::fmax(largest, dot.value / std::sqrt(3.));
        smallest = std::fmin(smallest, dot.value / std::sqrt(3.));
        ++n;
      }
    const double a = largest - smallest + 2 * worst;
    const double relative = std::expm1(n * std::log1p(u) + u * (a + 2 * worst));
    const double off = relative + n * (half_unit<T> + smallest_number<T>);
    if (off >= 1) continue;
    const double lse = static_cast<double>(result.log_sum_exp[i]);
    const double bound = worst - std::log1p(-off) + 0x1p-22 * (std::fabs(lse) + 4);
    RC_ASSERT(abs(Real(Real(lse) - exact.log_sum_exp[i])) <= Real(bound));
  }
}

}  // namespace

TEST_CASE("log-sum-exp of eight bits without infinity") {
  rc::prop("float8_e4m3fn", [] { is_within_its_bound<float8_e4m3fn>(0.125); });
}
TEST_CASE("log-sum-exp of fixed point") {
  rc::prop("8 bits", [] { is_within_its_bound<fixed<std::int8_t, 4>>(0.0625); });
  rc::prop("16 bits", [] { is_within_its_bound<fixed<std::int16_t, 10>>(0.125); });
  rc::prop("32 bits", [] { is_within_its_bound<fixed<std::int32_t, 24>>(0.25); });
}
