// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Whether a·b + c, written in one expression, may become one rounding where the target has such an
// instruction: each body with a product says which it needs.
#pragma once

// It may not: the first line of a body. clang knows this pragma; GCC knows none, only
// -ffp-contract=off (attest::bit_exact).
//
// It may, whichever is faster, in sums whose proof allows either: ATTEST_MULTIPLY_ADD in a body
// that begins with ATTEST_MULTIPLICATIONS_MAY_FUSE. GCC fuses what it is told to fuse, in constant
// evaluation as well; clang what its pragma says, but only at run time.
#ifdef __clang__
#define ATTEST_NO_CONTRACTION _Pragma("STDC FP_CONTRACT OFF")
#define ATTEST_MULTIPLICATIONS_MAY_FUSE _Pragma("clang fp contract(fast)")
#else
#define ATTEST_NO_CONTRACTION
#define ATTEST_MULTIPLICATIONS_MAY_FUSE
#endif
#if defined(__FP_FAST_FMA) && !defined(__clang__)
#define ATTEST_MULTIPLY_ADD(a, b, c) __builtin_fma(a, b, c)
#else
#define ATTEST_MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#endif
