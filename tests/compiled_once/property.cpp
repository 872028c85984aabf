// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"
//
#include <iostream>
#include <sstream>

namespace tests {

void report_property(const std::string& description,
                     const std::function<rc::detail::TestResult()>& check) {
  SECTION(description) {
    const rc::detail::TestResult result = check();
    std::ostringstream message;
    rc::detail::printResultMessage(result, message);
    if (!result.is<rc::detail::SuccessResult>()) {
      INFO(message.str() << "\n");
      FAIL();
    }
    if (!result.get<rc::detail::SuccessResult>().distribution.empty())
      std::cout << "- " << description << "\n" << message.str() << std::endl;
    SUCCEED();
  }
}

void try_property(const std::string& description, const std::function<void()>& property) {
  report_property(description, [&] { return rc::detail::checkTestable(property); });
}

void fail_property(const char* file, int line, const char* assertion,
                   void (*show)(const void* expression, std::ostream&), const void* expression) {
  std::ostringstream expansion;
  show(expression, expansion);
  throw rc::detail::CaseResult(
      rc::detail::CaseResult::Type::Failure,
      rc::detail::makeExpressionMessage(file, line, assertion, expansion.str()));
}

}  // namespace tests
