// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention as one writes it with Eigen: two products, between them exp over rows; the sums divide
// the output, which is smaller than the weights. Sizes in the types, and sizes known at run time.
#include <Eigen/Core>
#include <cmath>

#include "measured.hpp"

namespace {

template <class Rows, class Scores>
void attend(const Rows& query, const Rows& key, const Rows& value, Scores& weights,
            Eigen::Map<typename std::remove_const_t<typename Rows::PlainObject>>& output) {
  const float scale = 1 / std::sqrt(static_cast<float>(query.cols()));
  weights.noalias() = query * key.transpose();
  output.setZero();
  Eigen::Array<float, Scores::RowsAtCompileTime, 1> total(weights.rows());
  for (Eigen::Index i = 0; i < weights.rows(); ++i) {
    auto row = weights.row(i).array();
    row = ((row - row.maxCoeff()) * scale).exp();
    total(i) = row.sum();
  }
  output.noalias() = weights * value;
  output.array().colwise() /= total;
}

}  // namespace

template <std::size_t Tokens, std::size_t D>
void measured::eigen_fixed(Problem<Tokens, D>& problem) {
  using Rows = Eigen::Matrix<float, Tokens, D, Eigen::RowMajor>;
  using In = Eigen::Map<const Rows, Eigen::Aligned64>;
  static Eigen::Matrix<float, Tokens, Tokens, Eigen::RowMajor> weights;
  Eigen::Map<Rows> output(problem.output[0]);
  attend(In(problem.query[0]), In(problem.key[0]), In(problem.value[0]), weights, output);
}

template <std::size_t Tokens, std::size_t D>
void measured::eigen_dynamic(Problem<Tokens, D>& problem) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using In = Eigen::Map<const Rows, Eigen::Aligned64>;
  volatile Eigen::Index run_time_tokens = Tokens, run_time_width = D;
  const Eigen::Index tokens = run_time_tokens, width = run_time_width;
  static Rows weights(tokens, tokens);
  Eigen::Map<Rows> output(problem.output[0], tokens, width);
  attend(In(problem.query[0], tokens, width), In(problem.key[0], tokens, width),
         In(problem.value[0], tokens, width), weights, output);
}

#define ATTEST_OF_SIZE(tokens, d)            \
  ATTEST_INSTANTIATE(eigen_fixed, tokens, d) \
  ATTEST_INSTANTIATE(eigen_dynamic, tokens, d)
ATTEST_FOR_ALL_SIZES(ATTEST_OF_SIZE)
