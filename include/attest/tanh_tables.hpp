// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Constants of tanh.hpp, printed by tools/tables/tanh.cpp: not to be edited by hand.
#pragma once
#include <stdint.h>

namespace attest::tanh_tables {

// tanh x = x - x^3/3 + 2x^5/15 - ...: the magnitudes of the coefficients of x, x^3, ... x^13,
// times 2^127, truncated.
inline constexpr uint64_t coefficient[7][2] = {
    {0x8000000000000000, 0x0000000000000000},
    {0x2aaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa},
    {0x1111111111111111, 0x1111111111111111},
    {0x06e86e86e86e86e8, 0x6e86e86e86e86e86},
    {0x02cc9e9105821f3e, 0x65ad77493bb02cc9},
    {0x01226e355e6c23c8, 0xf5b51c3974fb201d},
    {0x0075b4f43855f77e, 0xd7f303697268f32f},
};

}  // namespace attest::tanh_tables
