// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Evaluation, row by row.
#pragma once
#include <attest/oracle/dialect.hpp>
#include <attest/oracle/fault/backward.hpp>
#include <attest/oracle/fault/evaluation.hpp>
#include <attest/oracle/fault/row_evaluator.hpp>
#include <attest/oracle/fault/row_outputs.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attest::oracle {

ATTEST_ORACLE_INLINE Outputs evaluate(const Implementation& honest, const Implementation& faulty,
                                      const Place& place, const Precision& arithmetic,
                                      bool rounds) {
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

ATTEST_ORACLE_INLINE Example with_outputs(const Call& call, const Outputs& outputs) {
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
    const bool by_key = field.claim == &Problem::d_key || field.claim == &Problem::d_value;
    std::size_t n = 0;
    for (std::size_t b = 0; b < view.shape[0]; ++b)
      for (std::size_t h = 0; h < view.shape[1]; ++h)
        for (std::size_t i = 0; i < view.shape[2]; ++i)
          for (std::size_t t = 0; t < view.shape[3]; ++t, ++n) {
            // rows that an entry of a packed array does not have
            if (view.rows &&
                !(by_key ? reading.specifies_key(b, i) : reading.specifies_query(b, i)))
              continue;
            in_order[static_cast<std::size_t>((origin + view.place(b, h, i, t)) / size)] =
                numbers[n];
          }
    filled.array(claim->name, given.shape, in_order, given.type);
  }
  return filled;
}

}  // namespace attest::oracle
