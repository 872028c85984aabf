// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Whether the processor computes several floating-point numbers at once. Results do not depend on
// it: it decides only what is computed side by side, and what scratch that may take.
#pragma once

namespace attest {

#if defined(__SSE2__) || defined(_M_X64) || defined(__aarch64__) || defined(__ALTIVEC__) || \
    defined(__riscv_vector) || defined(__wasm_simd128__)
inline constexpr bool processor_has_vectors = true;
#else
inline constexpr bool processor_has_vectors = false;
#endif

}  // namespace attest
