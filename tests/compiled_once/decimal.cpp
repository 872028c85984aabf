// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0
#include "decimal.hpp"

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <limits>
#include <new>
#include <ostream>
#include <type_traits>

namespace tests {

template <int digits>
struct Decimal<digits>::Number {
  using type =
      boost::multiprecision::number<boost::multiprecision::cpp_bin_float<unsigned(digits)>>;
  static_assert(sizeof(type) <= sizeof(Decimal) && alignof(type) <= alignof(Decimal) &&
                std::is_trivially_destructible_v<type>);

  static const type& in(const Decimal& x) {
    return *std::launder(reinterpret_cast<const type*>(x.bytes));
  }
  static type& in(Decimal& x) { return *std::launder(reinterpret_cast<type*>(x.bytes)); }
  static Decimal decimal(const type& value) {
    Decimal result;
    in(result) = value;
    return result;
  }
};

template <int digits>
Decimal<digits>::Decimal() {
  new (bytes) typename Number::type();
}
template <int digits>
Decimal<digits>::Decimal(const Decimal& x) {
  new (bytes) typename Number::type(Number::in(x));
}
template <int digits>
Decimal<digits>& Decimal<digits>::operator=(const Decimal& x) {
  Number::in(*this) = Number::in(x);
  return *this;
}
template <int digits>
Decimal<digits>::Decimal(double x) {
  new (bytes) typename Number::type(x);
}
template <int digits>
Decimal<digits>::Decimal(long long n) {
  new (bytes) typename Number::type(n);
}
template <int digits>
Decimal<digits>::Decimal(unsigned long long n) {
  new (bytes) typename Number::type(n);
}
template <int digits>
Decimal<digits>::Decimal(const char* text) {
  new (bytes) typename Number::type(text);
}

template <int digits>
Decimal<digits>::operator double() const {
  return static_cast<double>(Number::in(*this));
}
template <int digits>
Decimal<digits>::operator long long() const {
  return static_cast<long long>(Number::in(*this));
}

template <int digits>
Decimal<digits>& Decimal<digits>::operator+=(const Decimal& x) {
  Number::in(*this) += Number::in(x);
  return *this;
}
template <int digits>
Decimal<digits>& Decimal<digits>::operator-=(const Decimal& x) {
  Number::in(*this) -= Number::in(x);
  return *this;
}
template <int digits>
Decimal<digits>& Decimal<digits>::operator*=(const Decimal& x) {
  Number::in(*this) *= Number::in(x);
  return *this;
}
template <int digits>
Decimal<digits>& Decimal<digits>::operator/=(const Decimal& x) {
  Number::in(*this) /= Number::in(x);
  return *this;
}
template <int digits>
Decimal<digits> Decimal<digits>::operator-() const {
  return Number::decimal(-Number::in(*this));
}

template <int digits>
bool Decimal<digits>::is_below(const Decimal& x) const {
  return Number::in(*this) < Number::in(x);
}
template <int digits>
bool Decimal<digits>::equals(const Decimal& x) const {
  return Number::in(*this) == Number::in(x);
}

template <int digits>
Decimal<digits> Decimal<digits>::apply(Function function) const {
  const typename Number::type& x = Number::in(*this);
  switch (function) {
    case Function::abs:
      return Number::decimal(abs(x));
    case Function::cos:
      return Number::decimal(cos(x));
    case Function::cosh:
      return Number::decimal(cosh(x));
    case Function::exp:
      return Number::decimal(exp(x));
    case Function::exp2:
      return Number::decimal(exp2(x));
    case Function::floor:
      return Number::decimal(floor(x));
    case Function::log:
      return Number::decimal(log(x));
    case Function::log2:
      return Number::decimal(log2(x));
    case Function::sin:
      return Number::decimal(sin(x));
    case Function::sqrt:
      return Number::decimal(sqrt(x));
    case Function::tanh:
      return Number::decimal(tanh(x));
  }
  return std::numeric_limits<double>::quiet_NaN();
}
template <int digits>
Decimal<digits> Decimal<digits>::to_the(const Decimal& exponent) const {
  return Number::decimal(pow(Number::in(*this), Number::in(exponent)));
}
template <int digits>
Decimal<digits> Decimal<digits>::times_two_to_the(int exponent) const {
  return Number::decimal(ldexp(Number::in(*this), exponent));
}
template <int digits>
int Decimal<digits>::binary_exponent() const {
  return ilogb(Number::in(*this));
}
template <int digits>
bool Decimal<digits>::is_infinite() const {
  return boost::multiprecision::isinf(Number::in(*this));
}
template <int digits>
void Decimal<digits>::print(std::ostream& out) const {
  out << Number::in(*this);
}

template class Decimal<50>;
template class Decimal<100>;

}  // namespace tests
