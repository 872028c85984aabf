// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Report: what was found about a call — per element, per output, altogether.
#pragma once
#include <attest/oracle/number_enclosure.hpp>
#include <attest/oracle/precision.hpp>
#include <attest/oracle/special.hpp>
#include <attest/oracle/tensor.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attest::oracle {

// In order of weight: an output is as its worst element, a call as its worst output.
enum class Verdict {
  pass,            // within what the claimed arithmetic may lose, and where that is known, within
                   // what its roundings reach if they are independent
  no_certificate,  // neither can be proved: the scores decide nothing at this precision, or the
                   // call is not defined here
  suspect,         // further off than independent roundings reach but once in a million outputs,
                   // yet the worst case of the claimed arithmetic is
  fail             // certainly further from the exact result than the claimed arithmetic can be
};

constexpr const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::no_certificate:
      return "no_certificate";
    case Verdict::suspect:
      return "suspect";
    case Verdict::fail:
      return "fail";
  }
  return "";
}

// By which bound an output passes.
enum class Bound {
  worst_case,  // whatever direction the roundings of the claimed arithmetic take
  likely,      // what they reach if they are independent, with probability 1 − 10^-6
  replay       // the same roundings of weights again, and the worst case of the rest
};

constexpr const char* to_string(Bound bound) {
  return bound == Bound::worst_case ? "worst_case" : bound == Bound::likely ? "likely" : "replay";
}

// One element, what it is and what it should be.
struct Element {
  std::array<std::size_t, 4> index{};  // batch, head, row, column
  double got = 0;
  Enclosure exact;           // meaningful where `expected` accepts nothing special
  bool enclosed = true;      // whether `exact` and `allowed` could be had at all
  Special expected;          // NaN, ∞ … where no number is expected
  double allowed = 0;        // largest |got − exact| of the claimed arithmetic
  double likely = HUGE_VAL;  // what independent roundings reach; ∞: not known
  // Of an output: the least and the greatest of the values its query may see. A number certainly
  // beyond them, roundings included, is no blend of them: something else took part.
  double lowest = 0, highest = 0;
  bool beyond_hull = false;
  std::string reading;  // under which reading, where it is not the exact one
  std::string open;     // why there is no certificate
  Verdict verdict = Verdict::pass;

  // How far off it is, in units of what is allowed.
  double excess() const {
    if (expected.any()) return verdict == Verdict::pass ? 0 : HUGE_VAL;
    if (!std::isfinite(got)) return verdict == Verdict::pass ? 0 : HUGE_VAL;
    const double error = exact.farthest(got);
    return error == 0 ? 0 : error / std::min(allowed, verdict == Verdict::fail ? allowed : likely);
  }
};

struct OutputReport {
  std::string name;
  Shape shape;  // (batch, head, row, column)
  Verdict verdict = Verdict::pass;
  std::size_t elements = 0;
  std::size_t failed = 0;
  std::size_t suspected = 0;
  std::size_t undecided = 0;
  std::size_t unspecified = 0;  // of them, elements the definition says nothing about
  std::size_t beyond_hull = 0;  // of the failed ones, those that are no blend of the visible values
  // Of all elements, those that were not looked at since the output had failed: counts of others
  // are then at least what they say.
  std::size_t not_looked_at = 0;
  Bound bound = Bound::worst_case;
  std::optional<Element> worst;  // of the gravest verdict the one furthest off

  void count(const Element& element) {
    ++elements;
    if (element.expected.anything) {
      ++unspecified;
      return;
    }
    failed += element.verdict == Verdict::fail;
    beyond_hull += element.beyond_hull;
    suspected += element.verdict == Verdict::suspect;
    undecided += element.verdict == Verdict::no_certificate;
    consider(element);
  }
  // An element that has been counted, as candidate for the worst.
  void consider(const Element& element) {
    if (element.expected.anything) return;
    if (!worst || element.verdict > worst->verdict ||
        (element.verdict == worst->verdict && element.excess() > worst->excess()))
      worst = element;
    verdict = std::max(verdict, element.verdict);
  }
  // What was found about other elements of the same output.
  void add(const OutputReport& other) {
    elements += other.elements;
    failed += other.failed;
    suspected += other.suspected;
    undecided += other.undecided;
    unspecified += other.unspecified;
    beyond_hull += other.beyond_hull;
    not_looked_at += other.not_looked_at;
    verdict = std::max(verdict, other.verdict);
    if (other.worst) consider(*other.worst);
  }
  // The elements of one row, whose place is batch, head and row.
  void count_row(std::vector<Element>& row, const std::array<std::size_t, 3>& place) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      row[column].index = {place[0], place[1], place[2], column};
      count(row[column]);
    }
  }
};

// A difference under which a failed output is right: the dialects that differ from the call's by
// just this, and those that differ by more.
struct OtherReading {
  std::vector<std::string> dialects, as_in;
  std::string difference;
};

// The scale that an output fits best (scale_estimate.hpp).
struct ScaleFit {
  double scale = 0;
  double standard_error = 0;
  double expected = 0;   // the rule's
  std::size_t rows = 0;  // that were looked at
  // How much of the output's difference is left by the fitted scale: a ratio of sums of squares.
  double left = 1;
  double elements = 0;  // about how many elements the fit rests on
};

// A scale by which an output that is not right by its rule's own is right.
struct ScaleEstimate {
  ScaleFit fit;
  double scale = 0;            // by which all of it passes: a usual one near the fit, or the fit
  std::string named;           // "1/√128"; empty: no usual one
  std::string expected_named;  // of the rule's
};

struct Report {
  Verdict verdict = Verdict::pass;
  std::string reading;  // under which of the dialect's readings, where it is not the first
  std::vector<OtherReading> other_readings;     // of a call that fails
  std::optional<ScaleEstimate> scale_estimate;  // of a call that does not pass
  std::vector<OutputReport> outputs;
  std::vector<std::string> not_judged;  // arrays no enclosure exists for yet
  Precision claim{};
  std::size_t rows = 0;
  std::size_t double_double_rows = 0;  // of them, rows that double did not decide
  std::size_t wide_rows = 0;           // of these, rows that double-double did not decide either
};

}  // namespace attest::oracle
