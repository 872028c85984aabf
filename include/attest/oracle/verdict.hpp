// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Verdict: whether each number a subject returned can come from the arithmetic it claims.
#pragma once
#include <attest/oracle/dialect.hpp>
#include <attest/oracle/row_judge.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {
namespace detail {

// A copied array: past followed by new, bit for bit, any NaN being as good as another.
inline OutputReport judge_copy(const Claim& claim, const Tensor* past, const Tensor& current) {
  OutputReport report;
  report.name = claim.name;
  report.shape = claim.got.shape;
  const std::size_t past_rows = past ? past->shape[2] : 0;
  const bool same_type = claim.got.type == current.type;
  Element element;
  auto& [b, h, j, t] = element.index;
  for (b = 0; b < report.shape[0]; ++b)
    for (h = 0; h < report.shape[1]; ++h)
      for (j = 0; j < report.shape[2]; ++j)
        for (t = 0; t < report.shape[3]; ++t) {
          const double given =
              j < past_rows ? past->number(b, h, j, t) : current.number(b, h, j - past_rows, t);
          element.got = claim.got.number(b, h, j, t);
          element.expected = Special::of(given);
          element.exact = enclosure(std::isfinite(given) ? given : 0, 0);
          const bool same =
              std::isnan(given)
                  ? std::isnan(element.got)
                  : given == element.got && std::signbit(given) == std::signbit(element.got);
          element.verdict = same && same_type ? Verdict::pass : Verdict::fail;
          report.count(element);
        }
  return report;
}

// Judges output and scores row by row, and adds what was found to the report.
inline void judge_rows(const Problem& problem, const Precision& claim, Report& report) {
  const std::size_t width = problem.width();
  // without an output there is nothing the values matter for
  const std::size_t value_width = problem.output ? problem.value_width() : 0;
  const std::size_t keys = problem.keys();
  OutputReport output, scores;
  const auto describe = [](OutputReport& judged, const Claim& claimed) {
    judged.name = claimed.name;
    judged.shape = claimed.got.shape;
  };
  if (problem.output) describe(output, *problem.output);
  if (problem.scores) describe(scores, *problem.scores);

  std::vector<double> query(width), key(keys * width), value(keys * value_width), bias(keys);
  std::vector<double> got_output(value_width), got_scores(keys);
  const RowData row{query.data(), key.data(), value.data(), bias.data(), width, value_width, keys};

  for (std::size_t b = 0; b < problem.batches(); ++b)
    for (std::size_t g = 0; g < problem.key_value_heads(); ++g) {
      for (std::size_t j = 0; j < keys; ++j) {
        problem.read_key(b, g, j, key.data() + j * width);
        if (problem.output) problem.read_value(b, g, j, value.data() + j * value_width);
      }
      RowJudge row_judge(problem, claim, row);
      for (std::size_t h = 0; h < problem.query_heads(); ++h) {
        if (problem.key_value_head_of(h) != g) continue;
        for (std::size_t i = 0; i < problem.queries(); ++i) {
          problem.query.read_row(b, h, i, query.data());
          for (std::size_t j = 0; j < keys; ++j) bias[j] = problem.bias(b, h, i, j);
          if (problem.output) problem.output->got.read_row(b, h, i, got_output.data());
          if (problem.scores) problem.scores->got.read_row(b, h, i, got_scores.data());
          row_judge.judge(row, problem.output ? got_output.data() : nullptr,
                          problem.scores ? got_scores.data() : nullptr);
          ++report.rows;
          report.wide_rows += row_judge.wide;
          if (problem.output) output.count_row(row_judge.outputs, {b, h, i});
          if (problem.scores) scores.count_row(row_judge.scores, {b, h, i});
        }
      }
    }
  if (problem.output) report.outputs.push_back(std::move(output));
  if (problem.scores) report.outputs.push_back(std::move(scores));
}

}  // namespace detail

// Judges every output of a call that an enclosure exists for, by the problem's first rule.
inline Report judge_by_rule(const Problem& problem, const Precision& claim) {
  Report report;
  report.claim = claim;
  report.not_judged = problem.not_judged;
  if (problem.output || problem.scores) detail::judge_rows(problem, claim, report);
  if (problem.present_key)
    report.outputs.push_back(detail::judge_copy(
        *problem.present_key, problem.past_key ? &*problem.past_key : nullptr, problem.key));
  if (problem.present_value)
    report.outputs.push_back(detail::judge_copy(*problem.present_value,
                                                problem.past_value ? &*problem.past_value : nullptr,
                                                problem.value));
  for (OutputReport& output : report.outputs) {
    if (output.elements != 0 && output.unspecified == output.elements)
      output.verdict = Verdict::no_certificate;  // nothing judged, nothing certified
    report.verdict = std::max(report.verdict, output.verdict);
  }
  return report;
}

// Judges by each reading the dialect's text allows: each of its rules, and the softmax in the
// format the call asks for where that is coarser than the claim's, since a finer one may always be
// used. The outputs must all be right by the same reading; the mildest verdict counts, earlier
// readings first.
inline Report judge(const Problem& problem, const Precision& claim) {
  Report best = judge_by_rule(problem, claim);
  const auto judge_also = [&](const std::string& reading, const Problem& as, const Precision& by) {
    if (best.verdict == Verdict::pass) return;
    Report report = judge_by_rule(as, by);
    report.reading = reading;
    if (report.verdict < best.verdict) best = std::move(report);
  };
  Precision asked = claim;
  const bool coarser_softmax =
      problem.softmax_format && problem.softmax_format->precision < claim.softmax.precision;
  if (coarser_softmax) {
    asked.softmax = *problem.softmax_format;
    judge_also("softmax in " + std::string(asked.softmax.name), problem, asked);
  }
  for (const AlternativeRule& alternative : problem.alternatives) {
    Problem other = problem;
    other.rule = alternative.rule;
    judge_also(alternative.reading, other, claim);
    if (coarser_softmax) judge_also(alternative.reading, other, asked);
  }
  return best;
}

// The whole way from a captured call to its verdict. Throws BadCall where the call cannot be meant.
inline Report judge(const Call& call) {
  const Problem problem = read_problem(call);
  return judge(problem, claimed_precision(call, problem));
}

}  // namespace attest::oracle
