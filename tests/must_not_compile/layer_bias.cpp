// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A bias of 4 for a map of 8 outputs.
// must fail with: bias_is_a_row_of_outputs_or_absent
#include <attest/layer.hpp>

#ifdef ATTEST_CONTROL
constexpr attest::Linear map{attest::Matrix<float, 8, 6>{}, attest::Matrix<float, 1, 8>{}};
#else
constexpr attest::Linear map{attest::Matrix<float, 8, 6>{}, attest::Matrix<float, 1, 4>{}};
#endif
