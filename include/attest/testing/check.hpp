// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The whole suite on a function of one's own, without a test framework.
#pragma once
#include <attest/testing/arguments.hpp>
#include <attest/testing/examine.hpp>

#include <cstdio>
#include <utility>

namespace attest::testing {

// The scope with what follows from the function's type.
template <class T, class F>
oracle::Scope scope_for(oracle::Scope scope) {
  scope.type = element_type_of<T>;
  if (takes_one_width<F, T>) scope.one_width = true;
  return scope;
}

// All applicable needles and laws, and random calls, on `f`.
template <class T, callable_as_attention<T> F>
Examination examine(F f, const oracle::Scope& scope, const Options& options = {}) {
  return examine(subject<T>(std::move(f)), scope_for<T, F>(scope), options);
}

// For main: prints what fails to standard error. 0: nothing does.
template <class T, callable_as_attention<T> F>
int check(F f, const oracle::Scope& scope = {}, const Options& options = {}) {
  const Examination examination = examine<T>(std::move(f), scope, options);
  std::fputs(in_words(examination).c_str(), examination.passed() ? stdout : stderr);
  return examination.passed() ? 0 : 1;
}

}  // namespace attest::testing
