// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Verdict: whether each number a subject returned can come from the arithmetic it claims.
//
// A row is enclosed in double first. Where that does not decide about each of its elements it is
// enclosed again in Wide.
#pragma once
#include <attest/oracle/dialect.hpp>
#include <attest/oracle/special.hpp>
#include <attest/oracle/tolerance.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace attest::oracle {

// In order of weight: an output is as its worst element, a call as its worst output.
enum class Verdict {
  pass,            // within what the claimed arithmetic may lose
  no_certificate,  // neither can be proved: the scores decide nothing at this precision, or the
                   // call is not defined here
  fail             // certainly further from the exact result than the claimed arithmetic can be
};

constexpr const char* to_string(Verdict verdict) {
  return verdict == Verdict::pass ? "pass" : verdict == Verdict::fail ? "fail" : "no_certificate";
}

// One element, what it is and what it should be.
struct Element {
  std::array<std::size_t, 4> index{};  // batch, head, row, column
  double got = 0;
  Enclosure exact;     // meaningful where `expected` accepts nothing special
  Special expected;    // NaN, ∞ … where no number is expected
  double allowed = 0;  // largest |got − exact| of the claimed arithmetic
  // Of an output: the least and the greatest of the values its query may see. A number certainly
  // beyond them, roundings included, is no blend of them: something else took part.
  double lowest = 0, highest = 0;
  bool beyond_hull = false;
  std::string reading;  // under which reading, where it is not the exact one
  Verdict verdict = Verdict::pass;

  // How far off it is, in units of what is allowed.
  double excess() const {
    if (expected.any()) return verdict == Verdict::pass ? 0 : HUGE_VAL;
    if (!std::isfinite(got)) return verdict == Verdict::pass ? 0 : HUGE_VAL;
    const double error = exact.farthest(got);
    return error == 0 ? 0 : error / allowed;
  }
};

struct OutputReport {
  std::string name;
  Shape shape;  // (batch, head, row, column)
  Verdict verdict = Verdict::pass;
  std::size_t elements = 0;
  std::size_t failed = 0;
  std::size_t undecided = 0;
  std::size_t unspecified = 0;  // of them, elements the definition says nothing about
  std::size_t beyond_hull = 0;  // of the failed ones, those that are no blend of the visible values
  std::optional<Element> worst;  // of the gravest verdict the one furthest off

  void count(const Element& element) {
    ++elements;
    if (element.expected.anything) {
      ++unspecified;
      return;
    }
    failed += element.verdict == Verdict::fail;
    beyond_hull += element.beyond_hull;
    undecided += element.verdict == Verdict::no_certificate;
    if (!worst || element.verdict > worst->verdict ||
        (element.verdict == worst->verdict && element.excess() > worst->excess()))
      worst = element;
    verdict = std::max(verdict, element.verdict);
  }
};

struct Report {
  Verdict verdict = Verdict::pass;
  std::string reading;  // under which of the dialect's readings, where it is not the first
  std::vector<OutputReport> outputs;
  std::vector<std::string> not_judged;  // arrays no enclosure exists for yet
  Precision claim{};
  std::size_t rows = 0;
  std::size_t wide_rows = 0;  // of them, rows that double did not decide
};

namespace detail {

enum class Decision { within, beyond, open };

// Whether `got`, a number of `format`, is within `allowed` of the exact value.
inline Decision decide(double got, const Enclosure& exact, double allowed,
                       const NumberFormat& format) {
  if (std::isnan(got)) return Decision::beyond;
  if (std::isinf(got)) {
    // what rounds to ∞: the largest number and half a unit more
    const double threshold =
        format.largest + std::ldexp(1.0, format.max_exponent - format.precision);
    const double towards = got > 0 ? exact.high : -exact.high;
    if (towards - exact.radius + allowed >= threshold) return Decision::within;
    return towards + exact.radius + allowed < threshold ? Decision::beyond : Decision::open;
  }
  if (exact.farthest(got) <= allowed) return Decision::within;
  return exact.nearest(got) > allowed ? Decision::beyond : Decision::open;
}

inline bool all_finite(const double* x, std::size_t count) {
  double sum = 0;  // 0·x is NaN exactly where x is not finite
  for (std::size_t i = 0; i < count; ++i) sum += 0 * x[i];
  return sum == 0;
}

constexpr Verdict verdict_of(Decision decision) {
  return decision == Decision::within   ? Verdict::pass
         : decision == Decision::beyond ? Verdict::fail
                                        : Verdict::no_certificate;
}

// Judges one query row: its outputs and, if the subject returned them, its scores.
class RowJudge {
 public:
  RowJudge(const Problem& problem, const Precision& claim) : problem_(problem), claim_(claim) {}

  // Results of the last row judged, in order of column and key.
  std::vector<Element> outputs, scores;
  bool wide = false;

  // `head_is_finite`: no key or value of the row's head is a NaN or an infinity.
  // `got_outputs`, `got_scores`: d_v and T numbers, or null where the subject returned none.
  void judge(const RowData& row, bool head_is_finite, const double* got_outputs,
             const double* got_scores) {
    const Rule& rule = problem_.rule;
    const bool negative_root =
        rule.scale_by_square_roots && !rule.scale.by_width && rule.scale.given < 0;
    std::optional<SpecialRow> special;
    if (negative_root || !head_is_finite || is_special(row))
      special = separate(rule, row, negative_root);
    const RowData& finite = special ? special->finite : row;
    wide = false;
    if (!judge_in<double>(finite, special, got_outputs, got_scores)) {
      wide = true;
      judge_in<Wide>(finite, special, got_outputs, got_scores);
    }
  }

 private:
  // Whether the row itself needs more than the ordinary path: something in it is not finite, or no
  // key is visible.
  static bool is_special(const RowData& row) {
    bool any_visible = false, finite = true;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      any_visible = any_visible || row.visible(j);
      finite = finite && (std::isfinite(row.bias[j]) || !row.visible(j));
    }
    return !any_visible || !finite || !all_finite(row.query, row.width);
  }

  // Returns whether every element was decided.
  template <class Real>
  bool judge_in(const RowData& row, const std::optional<SpecialRow>& special,
                const double* got_outputs, const double* got_scores) {
    RowEnclosure<Real> exact;
    RowTolerance tolerance;
    enclose_scores(problem_.rule, row, got_scores != nullptr, exact);
    tolerate_scores(problem_.rule, claim_, row, exact, tolerance);
    enclose_outputs(row, exact);
    if (exact.bounded) tolerate_outputs(claim_, row, exact, tolerance);
    bool decided = true;
    if (got_scores) decided = judge_scores(row, special, exact, tolerance, got_scores);
    if (got_outputs)
      decided = judge_outputs(row, special, exact, tolerance, got_outputs) && decided;
    return decided;
  }

  template <class Real>
  bool judge_scores(const RowData& row, const std::optional<SpecialRow>& special,
                    const RowEnclosure<Real>& exact, const RowTolerance& tolerance,
                    const double* got) {
    const NumberFormat& format = *problem_.scores->got.format();
    scores.assign(row.key_count, {});
    bool all_decided = true;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      Element& element = scores[j];
      element.got = got[j];
      const ScoreEnclosure<Real>& score = exact.scores[j];
      double error = 0;
      bool bounded = true;
      switch (problem_.score_stage) {
        case ScoreStage::scaled:
          element.exact = enclosure(score.scaled, score.scaled_radius);
          error = tolerance.scaled[j];
          if (special) element.expected = special->scaled[j];
          break;
        case ScoreStage::capped:
          element.exact = enclosure(score.capped, score.capped_radius);
          error = tolerance.capped[j];
          if (special) element.expected = special->capped[j];
          break;
        case ScoreStage::biased:
          element.exact = enclosure(score.biased, score.biased_radius);
          error = tolerance.biased[j];
          if (special) element.expected = special->biased[j];
          if (!special && !row.visible(j)) element.expected.minus_infinity = true;
          break;
        case ScoreStage::weights:
          bounded = exact.bounded;
          if (special) element.expected = special->weights[j];
          if (!special && !row.visible(j)) element.expected.zero = true;
          if (bounded && !element.expected.any()) {
            element.exact = enclosure(exact.weights[j], exact.weight_radius[j]);
            error = tolerance.weights[j];
            bounded = !tolerance.may_overflow;
          }
          break;
      }
      if (element.expected.any()) {
        element.verdict = element.expected.accepts(got[j]) ? Verdict::pass : Verdict::fail;
        continue;
      }
      if (!bounded) {
        element.verdict = Verdict::no_certificate;
        all_decided = all_decided && exact.bounded;
        continue;
      }
      element.allowed =
          error + format.half_ulp(std::fabs(element.exact.high) + element.exact.radius + error);
      const Decision decision = decide(got[j], element.exact, element.allowed, format);
      element.verdict = verdict_of(decision);
      all_decided = all_decided && decision != Decision::open;
    }
    return all_decided;
  }

  template <class Real>
  bool judge_outputs(const RowData& row, const std::optional<SpecialRow>& special,
                     const RowEnclosure<Real>& exact, const RowTolerance& tolerance,
                     const double* got) {
    const NumberFormat& format = *problem_.output->got.format();
    outputs.assign(row.value_width, {});
    bool all_decided = true;
    bool scores_decide_nothing = false;
    // infinite values all have weights that no arithmetic of the claim takes for 0
    const bool infinities_count =
        special && exact.bounded && !special->infinite_values.empty() &&
        std::all_of(special->infinite_values.begin(), special->infinite_values.end(),
                    [&](std::size_t j) { return exact.weights[j] - tolerance.weights[j] > 0; });
    for (std::size_t t = 0; t < row.value_width; ++t) {
      Element& element = outputs[t];
      element.got = got[t];
      if (special && special->outputs[t].any()) {
        element.expected = special->outputs[t];
        if (infinities_count && (element.expected.plus_infinity || element.expected.minus_infinity))
          element.expected.nan = false;
        element.verdict = element.expected.accepts(got[t]) ? Verdict::pass : Verdict::fail;
        continue;
      }
      if (!exact.bounded) {
        element.verdict = Verdict::no_certificate;
        all_decided = false;
        continue;
      }
      element.exact = exact.outputs[t];
      element.allowed = allowed(tolerance.outputs[t], element.exact, format);
      element.lowest = tolerance.lowest[t];
      element.highest = tolerance.highest[t];
      const double slack = allowed(tolerance.beyond_hull[t], element.exact, format);
      const auto outside = [&](double lowest, double highest) {
        return got[t] < lowest - slack || got[t] > highest + slack;
      };
      Decision decision = decide(got[t], element.exact, element.allowed, format);
      if (tolerance.vacuous[t]) {
        // Any blend of the visible values may be right; where a score overflows so may 0, for a
        // guarded row, and a NaN.
        const bool not_a_number = tolerance.may_overflow && !std::isfinite(got[t]);
        const bool no_blend =
            tolerance.may_overflow
                ? outside(std::min(0.0, element.lowest), std::max(0.0, element.highest))
                : outside(element.lowest, element.highest) || std::isnan(got[t]);
        decision = no_blend && !not_a_number ? Decision::beyond : Decision::open;
        scores_decide_nothing = true;
      } else if (decision == Decision::open) {
        all_decided = false;
      }
      element.beyond_hull = decision == Decision::beyond && std::isfinite(got[t]) &&
                            outside(element.lowest, element.highest);
      element.verdict = verdict_of(decision);
    }
    if (scores_decide_nothing) all_decided = judge_held(row, exact, tolerance, got) && all_decided;
    return all_decided;
  }

  // Second reading of the elements the scores of which are rounded away at the claimed precision:
  // the definition evaluated in numbers of the claimed format. What is right by it passes.
  template <class Real>
  bool judge_held(const RowData& row, const RowEnclosure<Real>& exact,
                  const RowTolerance& tolerance, const double* got) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const NumberFormat& format = *problem_.output->got.format();
    std::vector<double> held, error;
    hold_scores(problem_.rule, claim_, row, exact, tolerance, held, error);

    Special whole;
    bool all_hidden = true;
    for (std::size_t j = 0; j < row.key_count; ++j) {
      if (!row.visible(j)) continue;
      if (!(held[j] < infinity) && error[j] == 0) whole.nan = true;  // ∞ − ∞
      if (!(held[j] == -infinity && error[j] == 0)) all_hidden = false;
    }
    if (all_hidden) whole.nan = whole.zero = true;  // as in special.hpp

    RowEnclosure<Real> reading;
    RowTolerance allowance;
    std::vector<double> bias(row.key_count, -infinity);
    RowData finite = row;
    finite.bias = bias.data();
    if (!whole.any()) {
      reading.scores.resize(row.key_count);
      allowance.biased = error;
      for (std::size_t j = 0; j < row.key_count; ++j) {
        if (!row.visible(j) || held[j] == -infinity) continue;
        bias[j] = 0;
        reading.scores[j].biased = Real(held[j]);
        if (!(error[j] < infinity)) allowance.may_overflow = true;
      }
      enclose_outputs(finite, reading);
      if (reading.bounded) tolerate_outputs(claim_, finite, reading, allowance);
    }

    bool all_decided = true;
    for (std::size_t t = 0; t < row.value_width; ++t) {
      Element& element = outputs[t];
      if (!tolerance.vacuous[t] || element.expected.any()) continue;
      Element second = element;
      second.reading = "scores rounded to " + std::string(claim_.scores.name);
      if (whole.any()) {
        second.expected = whole;
        second.verdict = whole.accepts(got[t]) ? Verdict::pass : Verdict::fail;
      } else if (!reading.bounded) {
        all_decided = false;
        continue;
      } else {
        second.exact = reading.outputs[t];
        second.allowed = allowed(allowance.outputs[t], second.exact, format);
        const Decision decision = decide(got[t], second.exact, second.allowed, format);
        if (decision == Decision::open) all_decided = false;
        second.verdict = allowance.vacuous[t] ? Verdict::no_certificate : verdict_of(decision);
      }
      if (second.verdict == Verdict::pass) element = second;
    }
    return all_decided;
  }

  double allowed(double internal, const Enclosure& exact, const NumberFormat& format) const {
    return internal +
           output_rounding(claim_, format, std::fabs(exact.high) + exact.radius + internal);
  }

  const Problem& problem_;
  const Precision& claim_;
};

// A copied array: bit for bit what was given, any NaN being as good as another.
template <class Expected>
OutputReport judge_copy(const Claim& claim, const NumberFormat& format, Expected&& expected) {
  OutputReport report;
  report.name = claim.name;
  report.shape = claim.got.shape;
  Element element;
  auto& [b, g, j, d] = element.index;
  for (b = 0; b < report.shape[0]; ++b)
    for (g = 0; g < report.shape[1]; ++g)
      for (j = 0; j < report.shape[2]; ++j)
        for (d = 0; d < report.shape[3]; ++d) {
          const double given = expected(b, g, j, d);
          element.got = claim.got.number(b, g, j, d);
          element.expected = Special::of(given);
          element.exact = enclosure(std::isfinite(given) ? given : 0, 0);
          const bool same =
              std::isnan(given)
                  ? std::isnan(element.got)
                  : given == element.got && std::signbit(given) == std::signbit(element.got);
          element.verdict = same && claim.got.format() && *claim.got.format() == format
                                ? Verdict::pass
                                : Verdict::fail;
          report.count(element);
        }
  return report;
}

}  // namespace detail

// Judges every output of a call that an enclosure exists for, by the problem's first rule.
inline Report judge_by_rule(const Problem& problem, const Precision& claim) {
  Report report;
  report.claim = claim;
  report.not_judged = problem.not_judged;
  const std::size_t width = problem.width(), value_width = problem.value_width(),
                    keys = problem.keys();

  if (problem.output || problem.scores) {
    OutputReport output, scores;
    if (problem.output)
      output.name = problem.output->name, output.shape = problem.output->got.shape;
    if (problem.scores)
      scores.name = problem.scores->name, scores.shape = problem.scores->got.shape;
    detail::RowJudge row_judge(problem, claim);
    std::vector<double> query(width), key(keys * width), value(keys * value_width), bias(keys);
    std::vector<double> got_outputs(value_width), got_scores(keys);

    for (std::size_t b = 0; b < problem.batches(); ++b)
      for (std::size_t g = 0; g < problem.key_value_heads(); ++g) {
        for (std::size_t j = 0; j < keys; ++j) {
          problem.read_key(b, g, j, key.data() + j * width);
          problem.read_value(b, g, j, value.data() + j * value_width);
        }
        const bool finite = detail::all_finite(key.data(), key.size()) &&
                            detail::all_finite(value.data(), value.size());
        for (std::size_t h = 0; h < problem.query_heads(); ++h) {
          if (key_value_head(problem.rule.head_map, h, problem.query_heads(),
                             problem.key_value_heads()) != g)
            continue;
          for (std::size_t i = 0; i < problem.queries(); ++i) {
            problem.query.read_row(b, h, i, query.data());
            for (std::size_t j = 0; j < keys; ++j) bias[j] = problem.bias(b, h, i, j);
            if (problem.output) problem.output->got.read_row(b, h, i, got_outputs.data());
            if (problem.scores) problem.scores->got.read_row(b, h, i, got_scores.data());
            row_judge.judge(
                {query.data(), key.data(), value.data(), bias.data(), width, value_width, keys},
                finite, problem.output ? got_outputs.data() : nullptr,
                problem.scores ? got_scores.data() : nullptr);
            ++report.rows;
            report.wide_rows += row_judge.wide;
            const auto count = [&](OutputReport& into, std::vector<Element>& elements) {
              for (std::size_t column = 0; column < elements.size(); ++column) {
                elements[column].index = {b, h, i, column};
                into.count(elements[column]);
              }
            };
            if (problem.output) count(output, row_judge.outputs);
            if (problem.scores) count(scores, row_judge.scores);
          }
        }
      }
    for (OutputReport* judged : {&output, &scores})
      if (judged->elements != 0 && judged->unspecified == judged->elements)
        judged->verdict = Verdict::no_certificate;
    if (problem.output) report.outputs.push_back(std::move(output));
    if (problem.scores) report.outputs.push_back(std::move(scores));
  }
  if (problem.present_key)
    report.outputs.push_back(
        detail::judge_copy(*problem.present_key, *problem.key.format(),
                           [&](std::size_t b, std::size_t g, std::size_t j, std::size_t d) {
                             const std::size_t past = problem.past();
                             return j < past ? problem.past_key->number(b, g, j, d)
                                             : problem.key.number(b, g, j - past, d);
                           }));
  if (problem.present_value)
    report.outputs.push_back(
        detail::judge_copy(*problem.present_value, *problem.value.format(),
                           [&](std::size_t b, std::size_t g, std::size_t j, std::size_t d) {
                             const std::size_t past = problem.past();
                             return j < past ? problem.past_value->number(b, g, j, d)
                                             : problem.value.number(b, g, j - past, d);
                           }));
  for (const OutputReport& output : report.outputs)
    report.verdict = std::max(report.verdict, output.verdict);
  return report;
}

// Judges by each rule the dialect's text allows; the outputs must all be right by the same one. The
// mildest verdict counts, the first rule before the others.
inline Report judge(const Problem& problem, const Precision& claim) {
  Report best = judge_by_rule(problem, claim);
  for (const AlternativeRule& alternative : problem.alternatives) {
    if (best.verdict == Verdict::pass) break;
    Problem other = problem;
    other.rule = alternative.rule;
    Report report = judge_by_rule(other, claim);
    report.reading = alternative.reading;
    if (report.verdict < best.verdict) best = std::move(report);
  }
  return best;
}

// The whole way from a captured call to its verdict. Throws BadCall where the call cannot be meant.
inline Report judge(const Call& call) {
  const Problem problem = read_problem(call);
  return judge(problem, claimed_precision(call, problem));
}

}  // namespace attest::oracle
