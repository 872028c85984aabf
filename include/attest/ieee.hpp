// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Refuses to compile where + − × ÷ are not those of IEEE 754: what was proved would not be what
// runs.
#pragma once

// GCC tells of each of these flags on its own, clang of -ffast-math and -ffinite-math-only. Without
// NaN and infinity x != x is folded to false, and what a mask hides comes back as a weight; sums
// taken in another order, quotients taken as products and zeros without sign have other bits.
// Contraction no compiler tells of: for that there is attest::bit_exact.
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__)
#error "attest: under -ffast-math, or a part of it, what runs is not what was proved"
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "attest: under -ffinite-math-only, what runs on NaN and infinity is not what was proved"
#endif

// 16 concerns _Float16 alone. The registers of the x87 (2) round every result twice.
#if defined(__FLT_EVAL_METHOD__)
#if __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error "attest: float or double is computed in a wider format, as by -mfpmath=387"
#endif
#endif

// The vectors of MVE flush subnormal numbers to zero, and compilers use them unasked (GCC at -O3).
#if defined(__ARM_FEATURE_MVE) && (__ARM_FEATURE_MVE & 2) && !defined(ATTEST_FLUSHED_SUBNORMALS)
#error "attest: MVE flushes subnormal numbers to zero: compile for cortex-m55+nomve.fp instead"
#endif
