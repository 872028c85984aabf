// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What a diagnosis finds, and what an input could have shown.
#pragma once
#include <attest/oracle/fault/definition.hpp>
#include <attest/oracle/fault/place.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace attest::oracle {

// A fault, or two together, that returns what was got.
struct Finding {
  std::vector<FaultCase> faults;
  Place place;
  std::vector<double> also;    // other numbers of the same fault that do as well
  bool irregular = false;      // it strikes only some rows, and no simple place holds just these
  bool as_inaccurate = false;  // its arithmetic's bound holds what was got, no more is known
  double closeness = 0;        // root mean square of the differences, of what is allowed

  const Fault& fault() const { return *faults.front().fault; }
  std::string in_words() const {
    std::string text;
    for (const FaultCase& one : faults) text += (text.empty() ? "" : "; and ") + one.in_words();
    if (irregular)
      text += ", in some rows only";
    else if (!place.is_everywhere())
      text += ", " + place.in_words();
    return text;
  }
};

struct Diagnosis {
  std::vector<Finding> findings;   // the likeliest first; one: it is unique, unless by its bound
  std::vector<std::string> hints;  // where there is none: what is known
  std::size_t rows = 0;            // looked at
  std::size_t all_rows = 0;
  std::string reading;      // of the dialect's text, where it is not the first
  bool of_suspect = false;  // the verdict is suspect: nothing is certainly wrong, hints only
  bool complete = true;  // every fault was tried, and every two; false: there was no time for some

  bool unique() const { return findings.size() == 1 && !findings.front().as_inaccurate; }
};

// A fault this input does not show.
struct BlindSpot {
  FaultCase fault;
  double moved = 0;  // the most that an output moves, in units of what is allowed
  std::string why;
  bool needs_extremes = false;  // only numbers near the ends of a format's range show it
};

struct Adequacy {
  std::size_t applicable = 0, shown = 0;
  std::vector<BlindSpot> blind;
  std::size_t rows = 0, all_rows = 0;  // looked at
  bool sampled() const { return rows < all_rows; }
  // Whether it shows all that ordinary numbers can show.
  bool adequate() const {
    return std::all_of(blind.begin(), blind.end(),
                       [](const BlindSpot& spot) { return spot.needs_extremes; });
  }
};

}  // namespace attest::oracle
