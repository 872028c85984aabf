// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// rational: exact fractions for proofs, with 2^x on the integers in place of e^x.
#pragma once
#include <boost/multiprecision/cpp_int.hpp>
#include <concepts>
#include <cstdint>
#include <stdexcept>

namespace attest {

// attest's templates take any number type. What they promise of attention uses only that the weight
// is positive, increasing and turns sums into products; 2^x on integer scores is such a weight, and
// with it every law that holds of real numbers holds here with ==.
//
// The integer type must report an overflow. rational has up to 512 bits: one that would need more
// is no constant expression, and at run time an exception. small_rational, on built-in integers,
// costs a tenth of that at compile time; there an overflow is no constant expression either, but at
// run time it is undefined. Dividing by zero and the weight of a fraction are refused like an
// overflow.
//
// GCC 12 cannot divide integers of several words in a constant expression. So a fraction of which a
// part exceeds 64 bits is only freed of common factors of two, all there are in sums of weights.
// Equality and order multiply crosswise, which does not mind.
template <class Integer>
class basic_rational {
 public:
  constexpr basic_rational() = default;
  constexpr basic_rational(int whole) : numerator_(whole) {}
  // Exact; a fraction of more digits behind the point than the integer has is an overflow.
  template <std::same_as<double> Double>
  explicit constexpr basic_rational(Double x) {
    Integer power = 1;
    while (x != static_cast<Double>(static_cast<long long>(x))) x *= 2, power *= 2;
    numerator_ = static_cast<long long>(x);
    denominator_ = power;
    reduce();
  }
  constexpr basic_rational(const Integer& numerator, const Integer& denominator)
      : numerator_(numerator), denominator_(denominator) {
    if (denominator_ < 0) {
      numerator_ = -numerator_;
      denominator_ = -denominator_;
    }
    reduce();
  }

  constexpr const Integer& numerator() const { return numerator_; }
  constexpr const Integer& denominator() const { return denominator_; }

  friend constexpr basic_rational operator+(const basic_rational& x, const basic_rational& y) {
    if (x.denominator_ == y.denominator_) return {x.numerator_ + y.numerator_, x.denominator_};
    return {x.numerator_ * y.denominator_ + y.numerator_ * x.denominator_,
            x.denominator_ * y.denominator_};
  }
  friend constexpr basic_rational operator-(const basic_rational& x, const basic_rational& y) {
    return x + -y;
  }
  friend constexpr basic_rational operator*(const basic_rational& x, const basic_rational& y) {
    return {x.numerator_ * y.numerator_, x.denominator_ * y.denominator_};
  }
  friend constexpr basic_rational operator/(const basic_rational& x, const basic_rational& y) {
    return {x.numerator_ * y.denominator_, x.denominator_ * y.numerator_};
  }
  friend constexpr basic_rational operator-(const basic_rational& x) {
    basic_rational negated = x;
    negated.numerator_ = -x.numerator_;
    return negated;
  }

  friend constexpr bool operator==(const basic_rational& x, const basic_rational& y) {
    return x.numerator_ * y.denominator_ == y.numerator_ * x.denominator_;
  }
  friend constexpr bool operator<(const basic_rational& x, const basic_rational& y) {
    return x.numerator_ * y.denominator_ < y.numerator_ * x.denominator_;
  }
  friend constexpr bool operator>(const basic_rational& x, const basic_rational& y) {
    return y < x;
  }
  friend constexpr bool operator<=(const basic_rational& x, const basic_rational& y) {
    return !(y < x);
  }
  friend constexpr bool operator>=(const basic_rational& x, const basic_rational& y) {
    return !(x < y);
  }

  // 2^x: positive, increasing, weight(x + y) = weight(x)·weight(y).
  friend constexpr basic_rational weight(const basic_rational& x) {
    if (x.denominator_ != 1) throw std::domain_error("the weight of a fraction");
    const bool negative = x.numerator_ < 0;
    const Integer exponent = negative ? Integer(-x.numerator_) : x.numerator_;
    if (exponent > highest_exponent) throw std::overflow_error("the weight of too large a score");
    const Integer power = Integer(1) << static_cast<unsigned>(exponent);
    basic_rational result(1);
    (negative ? result.denominator_ : result.numerator_) = power;
    return result;
  }
  // The name under which softmax and attention look for their weight.
  friend constexpr basic_rational exp(const basic_rational& x) { return weight(x); }

 private:
  static constexpr int highest_exponent =
      std::integral<Integer> ? static_cast<int>(sizeof(Integer) * 8) - 2 : 511;

  constexpr void reduce() {
    if (denominator_ == 0) throw std::domain_error("division by zero");
    if (denominator_ == 1) return;
    if (numerator_ == 0) {
      denominator_ = 1;
      return;
    }
    const bool negative = numerator_ < 0;
    if (negative) numerator_ = -numerator_;
    if constexpr (std::integral<Integer>) {
      divide_by(greatest_common_divisor(numerator_, denominator_));
    } else if (msb(numerator_) < 64 && msb(denominator_) < 64) {
      divide_by(greatest_common_divisor(static_cast<std::uint64_t>(numerator_),
                                        static_cast<std::uint64_t>(denominator_)));
    } else {
      const auto twos = lsb(numerator_) < lsb(denominator_) ? lsb(numerator_) : lsb(denominator_);
      numerator_ >>= twos;
      denominator_ >>= twos;
    }
    if (negative) numerator_ = -numerator_;
  }

  template <class Word>
  static constexpr Word greatest_common_divisor(Word a, Word b) {
    while (b != 0) {
      const Word remainder = a % b;
      a = b;
      b = remainder;
    }
    return a;
  }

  // Divides both parts, neither negative nor of more bits than the divisor's type.
  template <class Word>
  constexpr void divide_by(Word divisor) {
    numerator_ = static_cast<Word>(numerator_) / divisor;
    denominator_ = static_cast<Word>(denominator_) / divisor;
  }

  Integer numerator_ = 0;
  Integer denominator_ = 1;
};

using rational = basic_rational<boost::multiprecision::number<
    boost::multiprecision::cpp_int_backend<512, 512, boost::multiprecision::signed_magnitude,
                                           boost::multiprecision::checked, void>,
    boost::multiprecision::et_off>>;
using small_rational = basic_rational<long long>;

}  // namespace attest
