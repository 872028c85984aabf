// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// in_proj_weight with the maps of queries and keys only: two thirds of what PyTorch packs.
// must fail with: query_key_and_value_maps_are_packed
#include <attest/layer.hpp>

#ifdef ATTEST_CONTROL
constexpr attest::Matrix<float, 24, 8> in_proj_weight;
#else
constexpr attest::Matrix<float, 16, 8> in_proj_weight;
#endif
constexpr auto layer = attest::from_pytorch<2>(in_proj_weight, attest::no_bias,
                                               attest::Matrix<float, 8, 8>{}, attest::no_bias);
