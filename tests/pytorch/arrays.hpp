// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The arrays of a capture of PyTorch as matrices.
#pragma once
#include "catch.hpp"
//
#include <attest/format/npz.hpp>
#include <attest/matrix.hpp>
#include <string>
#include <type_traits>

namespace tests {

namespace format = attest::format;
namespace oracle = attest::oracle;
using attest::Matrix;
using std::size_t;

// The arrays of one capture, of which each is looked at by its name.
template <class T>
class Arrays {
 public:
  explicit Arrays(const std::string& name)
      : arrays_(format::read_npz(std::string(ATTEST_PYTORCH_DATA) + "/" + name +
                                 (sizeof(T) == 4 ? "_float32.npz" : "_float64.npz"))) {}

  // Matrix number n of those that an array is made of, whatever its axes in front.
  template <size_t R, size_t C, class U = T>
  Matrix<U, R, C> matrix(const std::string& name, size_t n = 0) const {
    INFO(name);
    const oracle::Tensor view = arrays_.at(name).view();
    using oracle::ElementType;
    REQUIRE(view.type == (std::is_same_v<U, bool>    ? ElementType::boolean
                          : std::is_same_v<U, float> ? ElementType::float32
                                                     : ElementType::float64));
    REQUIRE(view.shape.back() == C);
    REQUIRE(view.size() % (R * C) == 0);
    REQUIRE((n + 1) * R * C <= view.size());
    Matrix<U, R, C> result;
    for (size_t i = 0; i < R; ++i)
      for (size_t j = 0; j < C; ++j)
        result[i][j] = static_cast<U>(
            view.number_at(view.data + ((n * R + i) * C + j) * oracle::facts(view.type).bytes));
    return result;
  }

 private:
  format::NpzArrays arrays_;
};

}  // namespace tests
