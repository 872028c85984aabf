// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What the needles show of the catalogue of faults: everywhere, and confined to one row.
#include "catch.hpp"

#include <attest/oracle/needle.hpp>
#include <attest/oracle/needle/coverage.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace attest::oracle;

constexpr std::size_t rows = 64;

Scope scope_of(ElementType type) {
  Scope scope;
  scope.type = type;
  if (facts(type).format->precision < 24) scope.precision["scores"] = std::string("float32");
  return scope;
}

// Of each case of a fault, whether it was seen, and of each fault the rows in which it was.
struct Seen {
  std::map<std::string, bool> cases;
  std::map<std::string_view, std::set<std::size_t>> in_rows;
};

// Gradients are sums over rows and the judge has to say; it is asked about these rows.
const std::set<std::size_t> rows_of_gradients{0, 30, 63};

bool is_of_rows(const Fault& fault) {
  return fault.name != "present without the past";  // a copy, which no query takes part in
}
std::set<std::size_t> rows_to_see(const Fault& fault) {
  if (fault.family == FaultFamily::gradient) return rows_of_gradients;
  std::set<std::size_t> all;
  for (std::size_t i = 0; i < rows; ++i) all.insert(i);
  return all;
}

Place row(std::size_t i) {
  Place place;
  place.rows = Stretch::one(i);
  return place;
}

void look(const CallCoverage& call, const FaultCase& one, Seen& seen) {
  bool& shown = seen.cases[one.in_words()];
  std::set<std::size_t>& in_rows = seen.in_rows[one.fault->name];
  const std::set<std::size_t> wanted = rows_to_see(*one.fault);
  if (shown && in_rows.size() == wanted.size()) return;
  if (one.fault->family == FaultFamily::gradient || !is_of_rows(*one.fault)) {
    shown = shown || call.judged_to_fail(one, Place::everywhere());
    for (const std::size_t i : wanted)
      if (is_of_rows(*one.fault) && i < call.problem().queries() && !in_rows.count(i) &&
          call.judged_to_fail(one, row(i)))
        in_rows.insert(i);
    return;
  }
  const std::vector<RowIndex> at = call.all_rows();
  const std::vector<char> shows = call.rows_that_show(one);
  for (std::size_t n = 0; n < shows.size(); ++n)
    if (shows[n]) {
      shown = true;
      in_rows.insert(at[n].row);
    }
}

Seen look_at_all(const std::vector<Needle>& needles) {
  Seen seen;
  for (const Needle& needle : needles) {
    const CallCoverage call(needle.call.call);
    for (const Fault& fault : faults())
      for (const FaultCase& one : cases_of(fault, call.problem())) look(call, one, seen);
  }
  return seen;
}

}  // namespace

TEST_CASE(
    "one set of at most 40 calls of at most 64 x 96 x 16 shows every fault, and in every row") {
  const std::vector<Needle> needles = needles_of_the_whole_rule(scope_of(ElementType::float32));
  CHECK(needles.size() <= 40);
  for (const Needle& needle : needles) {
    CAPTURE(needle.recipe.aim);
    CHECK(needle.recipe.queries <= rows);
    CHECK(needle.recipe.keys <= 96);
    CHECK(needle.recipe.width <= 16);
    CHECK(needle.recipe.value_width <= 16);
  }
  const Seen seen = look_at_all(needles);
  // Errors of 16 and 67 units in the last place where 8 are claimed of each exponential and keys
  // blend several; a factor that overflows where values do not; and what float16 alone has.
  const auto may_be_unseen = [](const std::string& words) {
    return words.starts_with("exponential inaccurate") || words.starts_with("output times 1.267") ||
           words == "softcap held in the inputs' format";
  };
  std::size_t cases = 0;
  for (const auto& [words, shown] : seen.cases) {
    CAPTURE(words);
    CHECK((shown || may_be_unseen(words)));
    cases += shown;
  }
  CHECK(cases >= 450);
  std::size_t pairs = 0, shown = 0;
  for (const Fault& fault : faults()) {
    CAPTURE(fault.name);
    if (fault.name == "softcap held in the inputs' format") continue;  // float16's alone
    CHECK(seen.in_rows.count(fault.name));
    if (!is_of_rows(fault)) continue;
    const std::size_t wanted = rows_to_see(fault).size();
    // the gradients' rows stand for all
    pairs += rows;
    shown += rows * seen.in_rows.at(fault.name).size() / wanted;
  }
  CAPTURE(shown, pairs);
  CHECK(static_cast<double>(shown) >= 0.95 * static_cast<double>(pairs));
}

TEST_CASE("what a needle is said to show, the judge fails; and passes what is honest") {
  for (const ElementType type : {ElementType::float32, ElementType::bfloat16}) {
    std::set<std::string_view> left;
    for (const Fault& fault : faults()) left.insert(fault.name);
    for (const Needle& needle : needles_of_the_whole_rule(scope_of(type))) {
      CAPTURE(needle.recipe.aim);
      const CallCoverage call(needle.call.call);
      const Example honest = with_outputs(needle.call.call, evaluate(call.problem(), call.claim()));
      CHECK(judge(read_problem(honest.call), call.claim()).verdict == Verdict::pass);
      if (needle.recipe.queries > 40) continue;  // for the time it takes
      for (const Fault& fault : faults())
        for (const FaultCase& one : cases_of(fault, call.problem()))
          if (left.count(fault.name) && call.shows(one)) {
            CAPTURE(one.in_words());
            CHECK(call.judged_to_fail(one, Place::everywhere()));
            left.erase(fault.name);
          }
    }
    CHECK(left.size() < 60);
  }
}
