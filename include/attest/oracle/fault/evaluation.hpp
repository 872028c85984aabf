// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Everything an implementation returns for a call, as doubles.
#pragma once
#include <attest/oracle/dialect.hpp>
#include <attest/oracle/fault/backward.hpp>
#include <attest/oracle/fault/example.hpp>
#include <attest/oracle/fault/row_evaluator.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attest::oracle {

// In C order of (batch, head, row, column) whatever the call's layout is; empty where the call has
// no such output, but for `out`, which is always computed.
struct Outputs {
  std::vector<double> out, scores, log_sum_exp, present_key, present_value;
  std::vector<double> d_query, d_key, d_value, d_sinks, d_bias;
};

namespace detail {

// The score output of a row, at the stage the call asks for.
inline double score_output(const Problem& problem, const RowEvaluator& row, std::size_t j) {
  switch (problem.score_stage) {
    case ScoreStage::scaled:
      return row.scaled[j];
    case ScoreStage::capped:
      return row.capped[j];
    case ScoreStage::biased:
      return row.row.scores[j];
    case ScoreStage::weights:
      return row.row.hidden[j] ? 0 : row.row.weights[j];
  }
  return 0;
}

inline std::vector<double> present_rows(const Implementation& of, const Claim& claim,
                                        const std::optional<Tensor>& past, const Tensor& current) {
  const Shape& shape = claim.got.shape;
  const std::size_t before = past ? past->shape[2] : 0;
  std::vector<double> rows(element_count(shape), 0);
  std::size_t n = 0;
  for (std::size_t b = 0; b < shape[0]; ++b)
    for (std::size_t h = 0; h < shape[1]; ++h)
      for (std::size_t j = 0; j < shape[2]; ++j) {
        const std::size_t from = of.steps.present_row ? of.steps.present_row(of.problem, j) : j;
        for (std::size_t t = 0; t < shape[3]; ++t, ++n)
          if (from < before)
            rows[n] = past->number(b, h, from, t);
          else if (from - before < current.shape[2])
            rows[n] = current.number(b, h, from - before, t);
      }
  return rows;
}

}  // namespace detail

// `faulty` where `place` is, `honest` elsewhere; by the claim's formats at every step if `rounds`.
// Gradients of the queries in place; of keys, values, sinks and bias the faulty sums over rows in
// place and the honest ones over the others.
inline Outputs evaluate(const Implementation& honest, const Implementation& faulty,
                        const Place& place, const Precision& arithmetic, bool rounds) {
  const Problem& problem = honest.problem;
  const auto shared = std::make_shared<SharedRows>(problem);
  const auto how = rounds ? RowEvaluator::Rounds::everything : RowEvaluator::Rounds::nothing;
  RowEvaluator right(honest, arithmetic, how, shared);
  RowEvaluator wrong(faulty, arithmetic, how, shared);
  Outputs result;
  BackwardSums backward(problem, arithmetic, rounds);
  for (std::size_t b = 0; b < problem.batches(); ++b)
    for (std::size_t h = 0; h < problem.query_heads(); ++h)
      for (std::size_t i = 0; i < problem.queries(); ++i) {
        const RowIndex at{b, h, i};
        const bool in_place = place.holds(at);
        if (!in_place || !place.keys.all()) right.compute(at);
        if (in_place) wrong.compute(at, right, place.keys);
        RowEvaluator& row = in_place ? wrong : right;
        if (problem.has_gradients()) backward.add(row);
        result.out.insert(result.out.end(), row.output.begin(), row.output.end());
        if (problem.log_sum_exp) result.log_sum_exp.push_back(row.log_sum_exp);
        if (problem.scores)
          for (std::size_t j = 0; j < problem.keys(); ++j) {
            const double score = detail::score_output(problem, row, j);
            result.scores.push_back(rounds ? problem.scores->got.format()->round(score) : score);
          }
      }
  if (problem.has_gradients()) {
    backward.finish();
    result.d_query = backward.d_query.values(rounds);
    result.d_key = backward.d_key.values(rounds);
    result.d_value = backward.d_value.values(rounds);
    result.d_sinks = backward.d_sinks.values(rounds);
    result.d_bias = backward.d_bias.values(rounds);
  }
  if (problem.present_key)
    result.present_key =
        detail::present_rows(faulty, *problem.present_key, problem.past_key, problem.key);
  if (problem.present_value)
    result.present_value =
        detail::present_rows(faulty, *problem.present_value, problem.past_value, problem.value);
  return result;
}

// An array that a subject may return, and where its numbers are among Outputs.
struct OutputField {
  std::optional<Claim> Problem::*claim;
  std::vector<double> Outputs::*numbers;
};
inline constexpr OutputField output_fields[] = {
    {&Problem::output, &Outputs::out},
    {&Problem::scores, &Outputs::scores},
    {&Problem::log_sum_exp, &Outputs::log_sum_exp},
    {&Problem::present_key, &Outputs::present_key},
    {&Problem::present_value, &Outputs::present_value},
    {&Problem::d_query, &Outputs::d_query},
    {&Problem::d_key, &Outputs::d_key},
    {&Problem::d_value, &Outputs::d_value},
    {&Problem::d_sinks, &Outputs::d_sinks},
    {&Problem::d_bias, &Outputs::d_bias},
};

// The call with these outputs in place of its own, each array in the call's layout and of the type
// it has there.
inline Example with_outputs(const Call& call, const Outputs& outputs) {
  Example filled(call.dialect);
  filled.call = call;
  const Problem reading = read_problem(call);
  for (const OutputField& field : output_fields) {
    const std::optional<Claim>& claim = reading.*field.claim;
    const std::vector<double>& numbers = outputs.*field.numbers;
    if (!claim || numbers.size() != element_count(claim->got.shape)) continue;
    const Tensor& given = call.arrays.at(claim->name);
    const Tensor whole = Tensor::row_major(given.type, given.shape, given.data);
    if (given.strides != whole.strides)
      throw BadCall("array \"" + claim->name + "\": expected in C order");
    const Tensor& view = claim->got;
    const std::ptrdiff_t origin = view.data - given.data;
    const auto size = static_cast<std::ptrdiff_t>(facts(given.type).bytes);
    std::vector<double> in_order(element_count(given.shape), 0);
    std::size_t n = 0;
    for (std::size_t b = 0; b < view.shape[0]; ++b)
      for (std::size_t h = 0; h < view.shape[1]; ++h)
        for (std::size_t i = 0; i < view.shape[2]; ++i)
          for (std::size_t t = 0; t < view.shape[3]; ++t, ++n)
            in_order[static_cast<std::size_t>((origin + view.place(b, h, i, t)) / size)] =
                numbers[n];
    filled.array(claim->name, given.shape, in_order, given.type);
  }
  return filled;
}

}  // namespace attest::oracle
