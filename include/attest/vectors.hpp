// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Whether the processor computes several floating-point numbers at once. Results do not depend on
// it: it decides only what is computed side by side, and what scratch that may take.
#pragma once
#include <stddef.h>

#include <attest/special.hpp>

namespace attest {

#if defined(__SSE2__) || defined(__aarch64__) || defined(__ALTIVEC__) || \
    defined(__riscv_vector) || defined(__wasm_simd128__)
inline constexpr bool processor_has_vectors = true;
#else
inline constexpr bool processor_has_vectors = false;
#endif

#if defined(__AVX512F__)
inline constexpr size_t vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr size_t vector_bytes = 32;
#else
inline constexpr size_t vector_bytes = 16;
#endif

// Width numbers in a register, read from an array of them and written to it.
template <class T, size_t Width>
struct VectorOf {
  typedef T type __attribute__((vector_size(Width * sizeof(T))));

  static type read(const T* from) {
    type vector;
    __builtin_memcpy(&vector, from, sizeof vector);
    return vector;
  }
  static void write(const type& vector, T* to) { __builtin_memcpy(to, &vector, sizeof vector); }
};

// A number type of which the processor holds several in a register.
template <class T>
inline constexpr bool has_vectors = is_float_or_double<T> ? processor_has_vectors : false;

}  // namespace attest
