// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A causal kernel for a cache, whose last query should stand at the last key. It sees one key too
// many: only where there is one. attest finds it, shrinks the call and names the fault.
#include <attest/testing/check.hpp>

#include <cmath>
#include <cstdio>
#include <vector>

using attest::testing::Arguments;

void causal_attention(const Arguments<float>& a) {
  for (std::size_t b = 0; b < a.batches; ++b)
    for (std::size_t h = 0; h < a.query_heads; ++h) {
      const auto q = a.q_of(b, h), k = a.k_of(b, h), v = a.v_of(b, h);
      const auto out = a.out_of(b, h);
      std::vector<float> weight(a.keys);
      for (std::size_t i = 0; i < a.queries; ++i) {
        const long own = static_cast<long>(i) + a.offsets[b];
        float most = -INFINITY, sum = 0;
        for (std::size_t j = 0; j < a.keys; ++j) {
          weight[j] = 0;
          for (std::size_t t = 0; t < a.width; ++t)
            weight[j] += q[i * a.width + t] * k[j * a.width + t];
          weight[j] *= static_cast<float>(a.scale);
          const bool visible = !a.causal || static_cast<long>(j) <= own + 1;  // <= own is meant
          if (!visible) weight[j] = -INFINITY;
          most = std::fmax(most, weight[j]);
        }
        for (float& w : weight) sum += w = most == -INFINITY ? 0 : std::exp(w - most);
        for (std::size_t t = 0; t < a.value_width; ++t) {
          float blend = 0;
          for (std::size_t j = 0; j < a.keys; ++j) blend += weight[j] * v[j * a.value_width + t];
          out[i * a.value_width + t] = sum == 0 ? 0 : blend / sum;
        }
      }
    }
}

int main() {
  attest::oracle::Scope scope;  // what the kernel is for
  scope.features.causal = scope.features.bottom_right = scope.features.grouped_heads = true;
  const auto found = attest::testing::examine<float>(causal_attention, scope);
  std::puts(in_words(found).c_str());
  // it is named, and the smallest call has at most two queries and four keys
  const bool named =
      !found.passed() && !found.failures[0].diagnosis.empty() &&
      found.failures[0].diagnosis[0].find("causal mask 1 key too wide") != std::string::npos;
  const auto& smallest = found.failures[0].call.call;
  const bool small = smallest.arrays.at("q").size() <= 2 && smallest.arrays.at("k").size() <= 4;
  return named && small ? 0 : 1;
}
