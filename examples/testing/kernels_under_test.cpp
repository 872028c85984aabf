// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Two kernels under the law kit, one line each: in vectors by hand, and by Eigen.
#include <attest/testing/catch.hpp>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <vector>
#if __has_include(<Eigen/Core>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <Eigen/Core>
#pragma GCC diagnostic pop
#endif

namespace {

// Four floats at once, which every processor with vectors has; an online softmax that reads each
// key and value once.
using Lanes = float __attribute__((vector_size(16)));

void simd_attention(const float* q, const float* k, const float* v, float* out, std::size_t queries,
                    std::size_t keys, std::size_t width) {
  const float scale = 1 / std::sqrt(static_cast<float>(width));
  const std::size_t blocks = (width + 3) / 4;
  const auto load = [&](const float* row, std::size_t block) {
    Lanes lanes{};
    const std::size_t rest = width - 4 * block;
    std::memcpy(&lanes, row + 4 * block, (rest < 4 ? rest : 4) * sizeof(float));
    return lanes;
  };
  std::vector<Lanes> sum(blocks);
  for (std::size_t i = 0; i < queries; ++i) {
    float most = -INFINITY, total = 0;
    sum.assign(blocks, Lanes{});
    for (std::size_t j = 0; j < keys; ++j) {
      Lanes products{};
      for (std::size_t n = 0; n < blocks; ++n)
        products += load(q + i * width, n) * load(k + j * width, n);
      float score = 0;
      for (int n = 0; n < 4; ++n) score += products[n];
      score *= scale;
      const float before = most;
      most = std::fmax(most, score);
      const float shrink = std::exp(before - most), weight = std::exp(score - most);
      total = total * shrink + weight;
      for (std::size_t n = 0; n < blocks; ++n)
        sum[n] = sum[n] * shrink + weight * load(v + j * width, n);
    }
    for (std::size_t t = 0; t < width; ++t) out[i * width + t] = sum[t / 4][t % 4] / total;
  }
}

}  // namespace

TEST_CASE("SIMD by hand") {
  ATTEST_CHECK_ATTENTION(float, simd_attention, {});
}

#if __has_include(<Eigen/Core>)
TEST_CASE("Eigen") {
  using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using View = Eigen::Map<const Rows>;
  const auto attention = [](const double* q, const double* k, const double* v, double* out,
                            std::size_t queries, std::size_t keys, std::size_t width,
                            std::size_t value_width) {
    const auto n = static_cast<Eigen::Index>(queries), m = static_cast<Eigen::Index>(keys);
    const auto d = static_cast<Eigen::Index>(width), c = static_cast<Eigen::Index>(value_width);
    Rows scores = View(q, n, d) * View(k, m, d).transpose() / std::sqrt(static_cast<double>(d));
    scores.colwise() -= scores.rowwise().maxCoeff().eval();
    scores = scores.array().exp();
    const Eigen::VectorXd sums = scores.rowwise().sum();
    Eigen::Map<Rows>(out, n, c) = (scores * View(v, m, c)).array().colwise() / sums.array();
  };
  ATTEST_CHECK_ATTENTION(double, attention, {});
}
#endif
