// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The law kit on honest attention: nothing is found, in any precision or dialect; and each law can
// be broken.
#include "catch.hpp"

#include <attest/oracle/needle/dialects.hpp>
#include <attest/testing/examine.hpp>

#include <set>
#include <string>

#include "faulty.hpp"

namespace {

using namespace attest;
using testing::Examination;
using testing::Options;

Options without_files() {
  Options options;
  options.save_to.clear();
  return options;
}

}  // namespace

TEST_CASE("honest attention is found to be that in every precision") {
  for (const oracle::ElementType type :
       {oracle::ElementType::float32, oracle::ElementType::float16, oracle::ElementType::bfloat16,
        oracle::ElementType::float64}) {
    CAPTURE(oracle::facts(type).name);
    Options options = without_files();
    options.random_calls = 40;
    options.law_calls = 30;
    options.needles = false;  // tests/oracle/needle looks at them
    options.most_failures = 20;
    const Examination found =
        testing::examine(test::honest_subject(), test::whole_scope(type), options);
    INFO(testing::in_words(found));
    CHECK(found.passed());
    CHECK(found.laws_asked > 300);
  }
}

TEST_CASE("honest attention is found to be that in every dialect") {
  for (const oracle::RecipeDialect& dialect : oracle::recipe_dialects) {
    CAPTURE(dialect.name);
    Options options = without_files();
    options.random_calls = 20;
    options.law_calls = 10;
    options.most_failures = 20;
    options.needles = false;
    const Examination found = testing::examine(
        test::honest_subject(),
        test::whole_scope(oracle::ElementType::float32, std::string(dialect.name)), options);
    INFO(testing::in_words(found));
    CHECK(found.passed());
  }
}
