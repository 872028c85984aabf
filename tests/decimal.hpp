// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Decimal<digits>: Boost.Multiprecision's binary floating point of at least so many decimal digits,
// 50 or 100, rounded to nearest. Its templates are compiled once, in compiled_once/decimal.cpp, not
// in each test: they take a second and a half to read alone.
#pragma once
#include <concepts>
#include <iosfwd>

namespace tests {

template <int digits>
class Decimal {
 public:
  Decimal();
  Decimal(const Decimal&);
  Decimal& operator=(const Decimal&);
  Decimal(double);
  Decimal(long long);
  Decimal(unsigned long long);
  explicit Decimal(const char*);
  template <std::signed_integral I>
  Decimal(I n) : Decimal(static_cast<long long>(n)) {}
  template <std::unsigned_integral I>
  Decimal(I n) : Decimal(static_cast<unsigned long long>(n)) {}

  explicit operator double() const;     // to nearest
  explicit operator long long() const;  // towards zero
  template <std::integral I>
  explicit operator I() const {
    return static_cast<I>(static_cast<long long>(*this));
  }

  Decimal& operator+=(const Decimal&);
  Decimal& operator-=(const Decimal&);
  Decimal& operator*=(const Decimal&);
  Decimal& operator/=(const Decimal&);
  Decimal operator-() const;
  friend Decimal operator+(Decimal a, const Decimal& b) { return a += b; }
  friend Decimal operator-(Decimal a, const Decimal& b) { return a -= b; }
  friend Decimal operator*(Decimal a, const Decimal& b) { return a *= b; }
  friend Decimal operator/(Decimal a, const Decimal& b) { return a /= b; }

  bool is_below(const Decimal&) const;
  bool equals(const Decimal&) const;
  friend bool operator==(const Decimal& a, const Decimal& b) { return a.equals(b); }
  friend bool operator<(const Decimal& a, const Decimal& b) { return a.is_below(b); }
  friend bool operator>(const Decimal& a, const Decimal& b) { return b.is_below(a); }
  friend bool operator<=(const Decimal& a, const Decimal& b) { return a < b || a == b; }
  friend bool operator>=(const Decimal& a, const Decimal& b) { return b < a || a == b; }

  enum class Function { abs, cos, cosh, exp, exp2, floor, log, log2, sin, sqrt, tanh };
  Decimal apply(Function) const;
  friend Decimal abs(const Decimal& x) { return x.apply(Function::abs); }
  friend Decimal cos(const Decimal& x) { return x.apply(Function::cos); }
  friend Decimal cosh(const Decimal& x) { return x.apply(Function::cosh); }
  friend Decimal exp(const Decimal& x) { return x.apply(Function::exp); }
  friend Decimal exp2(const Decimal& x) { return x.apply(Function::exp2); }
  friend Decimal floor(const Decimal& x) { return x.apply(Function::floor); }
  friend Decimal log(const Decimal& x) { return x.apply(Function::log); }
  friend Decimal log2(const Decimal& x) { return x.apply(Function::log2); }
  friend Decimal sin(const Decimal& x) { return x.apply(Function::sin); }
  friend Decimal sqrt(const Decimal& x) { return x.apply(Function::sqrt); }
  friend Decimal tanh(const Decimal& x) { return x.apply(Function::tanh); }
  Decimal to_the(const Decimal& exponent) const;
  Decimal times_two_to_the(int exponent) const;
  int binary_exponent() const;
  bool is_infinite() const;
  friend Decimal pow(const Decimal& x, const Decimal& exponent) { return x.to_the(exponent); }
  friend Decimal ldexp(const Decimal& x, int exponent) { return x.times_two_to_the(exponent); }
  friend int ilogb(const Decimal& x) { return x.binary_exponent(); }
  friend bool isinf(const Decimal& x) { return x.is_infinite(); }

  void print(std::ostream&) const;
  friend std::ostream& operator<<(std::ostream& out, const Decimal& x) {
    x.print(out);
    return out;
  }

 private:
  struct Number;  // Boost's, in these bytes
  alignas(16) unsigned char bytes[96];
};

extern template class Decimal<50>;
extern template class Decimal<100>;

}  // namespace tests
