// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Catch2, whichever of 2 and 3 is installed, with RapidCheck's properties inside it. This stands
// for rapidcheck/catch.h, which compiles all of a property's trying, shrinking and reporting anew
// for each (0.1 s): here it is compiled once, in compiled_once/property.cpp.
#pragma once
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif
#include <rapidcheck.h>

#include <functional>
#include <ostream>
#include <string>
#include <type_traits>

namespace tests {

void try_property(const std::string& description, const std::function<void()>& property);
void report_property(const std::string& description,
                     const std::function<rc::detail::TestResult()>& check);

// What fails the property under way. `show` writes what stood for the expression's parts.
[[noreturn]] void fail_property(const char* file, int line, const char* assertion,
                                void (*show)(const void* expression, std::ostream&),
                                const void* expression);

template <class Expression>
void assert_in_property(const Expression& expression, const char* file, int line,
                        const char* assertion) {
  if (static_cast<bool>(expression.value())) return;
  fail_property(
      file, line, assertion,
      [](const void* shown, std::ostream& out) {
        static_cast<const Expression*>(shown)->show(out);
      },
      &expression);
}

}  // namespace tests

namespace rc {

// A section of this name, in which the property is tried. Of two with one name in the same test
// case or section Catch2 runs the first alone.
template <class Property>
void prop(const std::string& description, Property&& property) {
  if constexpr (std::is_invocable_v<Property&>)
    tests::try_property(description, std::function<void()>(property));
  else  // its arguments are arbitrary
    tests::report_property(description, [&] { return detail::checkTestable(property); });
}

}  // namespace rc

#undef RC_ASSERT
#define RC_ASSERT(expression)                                                      \
  ::tests::assert_in_property(RC_INTERNAL_CAPTURE(expression), __FILE__, __LINE__, \
                              "RC_ASSERT(" #expression ")")
