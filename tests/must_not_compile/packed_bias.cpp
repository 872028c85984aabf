// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// in_proj_bias for the map of queries only: a third of what PyTorch packs.
// must fail with: packed_bias_has_a_row_of_outputs_or_is_absent
#include <attest/layer.hpp>

constexpr attest::Matrix<float, 24, 8> in_proj_weight;
#ifdef ATTEST_CONTROL
constexpr attest::Matrix<float, 1, 24> in_proj_bias;
#else
constexpr attest::Matrix<float, 1, 8> in_proj_bias;
#endif
constexpr auto layer = attest::from_pytorch<2>(in_proj_weight, in_proj_bias,
                                               attest::Matrix<float, 8, 8>{}, attest::no_bias);
