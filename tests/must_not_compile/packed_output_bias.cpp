// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// out_proj.bias as a column.
// must fail with: bias_is_a_row_of_outputs_or_absent
#include <attest/layer.hpp>

constexpr attest::Matrix<float, 24, 8> in_proj_weight;
constexpr attest::Matrix<float, 8, 8> out_proj_weight;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<float, 1, 8> out_proj_bias;
#else
constexpr attest::Matrix<float, 8, 1> out_proj_bias;
#endif
constexpr auto layer =
    attest::from_pytorch<2>(in_proj_weight, attest::no_bias, out_proj_weight, out_proj_bias);
