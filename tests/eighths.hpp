// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Random matrices of −7/8, −6/8, … 7/8, which every number type holds: floats of eight bits, fixed
// point, exact fractions.
#pragma once
#include "random_matrix.hpp"

namespace tests {

template <class T, size_t R, size_t C>
Matrix<T, R, C> eighths(int largest = 7) {
  return random_integers(R, C, largest, 0.125).as<T, R, C>();
}

}  // namespace tests
