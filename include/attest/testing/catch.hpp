// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The whole suite in a Catch2 test case, Catch2 2 and 3 alike:
//
//   TEST_CASE("my attention") { ATTEST_CHECK_ATTENTION(float, my_kernel, {}); }
#pragma once
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif
#include <attest/testing/check.hpp>

// ATTEST_CHECK_ATTENTION(T, f, scope [, options]): fails the test case with the smallest failing
// call, its diagnosis, and where it is saved. T: float, double, attest::float16 or bfloat16.
#define ATTEST_CHECK_ATTENTION(T, f, ...)                                \
  do {                                                                   \
    const auto attest_examination =                                      \
        ::attest::testing::detail::examine_for_catch<T>(f, __VA_ARGS__); \
    INFO(::attest::testing::in_words(attest_examination));               \
    CHECK(attest_examination.passed());                                  \
  } while (false)

namespace attest::testing::detail {

template <class T, class F>
Examination examine_for_catch(F f, const oracle::Scope& scope, const Options& options = {}) {
  return examine<T>(std::move(f), scope, options);
}

}  // namespace attest::testing::detail
