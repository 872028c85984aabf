// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Lanes: N doubles that are computed with at once, for kernels compiled once per instruction set.
//
// Every function is inlined into the kernel that calls it and so takes its instruction set. Vectors
// wider than the instruction set holds would be correct but many times slower (GCC keeps them in
// memory), so kernels choose N by it.
#pragma once
#include <attest/ieee.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace attest::oracle::detail {

// The same lanes as 64-bit integers.
template <std::size_t N>
struct IntegerLanes {
  typedef std::int64_t Numbers __attribute__((vector_size(8 * N)));
  Numbers x;

  [[gnu::always_inline]] friend IntegerLanes operator+(const IntegerLanes& a,
                                                       const IntegerLanes& b) {
    return {a.x + b.x};
  }
  [[gnu::always_inline]] friend IntegerLanes operator-(const IntegerLanes& a,
                                                       const IntegerLanes& b) {
    return {a.x - b.x};
  }
  [[gnu::always_inline]] friend IntegerLanes operator+(const IntegerLanes& a, std::int64_t b) {
    return {a.x + b};
  }
  [[gnu::always_inline]] friend IntegerLanes operator&(const IntegerLanes& a, std::int64_t b) {
    return {a.x & b};
  }
  [[gnu::always_inline]] friend IntegerLanes operator<<(const IntegerLanes& a, int b) {
    return {a.x << b};
  }
  [[gnu::always_inline]] void store(std::int64_t* to) const { std::memcpy(to, &x, sizeof x); }
};

template <std::size_t N>
struct Lanes {
  typedef double Numbers __attribute__((vector_size(8 * N)));
  using Integers = IntegerLanes<N>;
  Numbers x;

  [[gnu::always_inline]] static Lanes load(const double* from) {
    Lanes result;
    std::memcpy(&result.x, from, sizeof result.x);
    return result;
  }
  [[gnu::always_inline]] void store(double* to) const { std::memcpy(to, &x, sizeof x); }
  [[gnu::always_inline]] static Lanes all(double value) { return {value - Numbers{}}; }
  [[gnu::always_inline]] static Lanes of(const Integers& bits) {
    Lanes result;
    std::memcpy(&result.x, &bits.x, sizeof result.x);
    return result;
  }
  [[gnu::always_inline]] Integers bits() const {
    Integers result;
    std::memcpy(&result.x, &x, sizeof x);
    return result;
  }

  [[gnu::always_inline]] friend Lanes operator+(const Lanes& a, const Lanes& b) {
    return {a.x + b.x};
  }
  [[gnu::always_inline]] friend Lanes operator-(const Lanes& a, const Lanes& b) {
    return {a.x - b.x};
  }
  [[gnu::always_inline]] friend Lanes operator*(const Lanes& a, const Lanes& b) {
    return {a.x * b.x};
  }
  [[gnu::always_inline]] friend Lanes operator/(const Lanes& a, const Lanes& b) {
    return {a.x / b.x};
  }
  [[gnu::always_inline]] friend Lanes abs(const Lanes& a) {
    return of(a.bits() & std::int64_t{0x7fffffffffffffff});
  }
  [[gnu::always_inline]] friend Lanes max(const Lanes& a, const Lanes& b) {
    return {a.x > b.x ? a.x : b.x};
  }
  // `below` where a < b, else `otherwise`.
  [[gnu::always_inline]] friend Lanes where_less(const Lanes& a, const Lanes& b, const Lanes& below,
                                                 const Lanes& otherwise) {
    return {a.x < b.x ? below.x : otherwise.x};
  }
  [[gnu::always_inline]] double sum() const {
    double parts[N], total = 0;
    store(parts);
    for (const double part : parts) total += part;
    return total;
  }
  [[gnu::always_inline]] double largest() const {
    double parts[N];
    store(parts);
    double result = parts[0];
    for (const double part : parts) result = part > result ? part : result;
    return result;
  }
};

}  // namespace attest::oracle::detail
