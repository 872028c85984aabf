// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The plain loops that vectors are compared with. CMakeLists.txt switches automatic vectorisation
// off for this file.
#include <attest/exp.hpp>

#include "measured.hpp"

void measured::plain_softmax(float* x, std::size_t n) {
  float largest = x[0];
  for (std::size_t j = 1; j < n; ++j)
    if (x[j] > largest) largest = x[j];
  float total = 0;
  for (std::size_t j = 0; j < n; ++j) total = total + (x[j] = attest::exp(x[j] - largest));
  for (std::size_t j = 0; j < n; ++j) x[j] = x[j] / total;
}

void measured::plain_softmax(float* x, const bool* seen, std::size_t n) {
  std::size_t first = 0;
  while (first < n && !seen[first]) x[first++] = 0;
  if (first == n) return;
  float largest = x[first];
  for (std::size_t j = first + 1; j < n; ++j)
    if (seen[j] && x[j] > largest) largest = x[j];
  float total = 0;
  for (std::size_t j = first; j < n; ++j)
    if (seen[j])
      total = total + (x[j] = attest::exp(x[j] - largest));
    else
      x[j] = 0;
  for (std::size_t j = first; j < n; ++j)
    if (seen[j]) x[j] = x[j] / total;
}
