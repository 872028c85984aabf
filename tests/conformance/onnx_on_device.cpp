// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ONNX's node tests of the operator Attention on the device side: its templates in double, rounded
// to the format of the expected output, must give the expected bits. Usage: onnx_on_device FOLDER
#include <attest/attention.hpp>
#include <attest/format/bad_input.hpp>
#include <attest/format/onnx.hpp>
#include <attest/heads.hpp>
#include <attest/oracle/dialect.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {
namespace fs = std::filesystem;
using namespace attest;
using oracle::Problem;
using oracle::ScoreStage;
using std::size_t;

// Shapes and rules are template arguments: here are those that the tests have. A test with another
// one is not passed over but fails.
struct Shape {
  size_t queries, keys, width, value_width;
  bool operator==(const Shape&) const = default;
};
inline constexpr Shape shapes[] = {{4, 6, 8, 8}, {1, 8, 8, 8},  {2, 2, 4, 4},   {2, 2, 8, 8},
                                   {2, 6, 8, 8}, {3, 6, 8, 8},  {4, 18, 8, 10}, {4, 18, 8, 8},
                                   {4, 4, 8, 8}, {4, 6, 8, 10}, {4, 6, 8, 6},   {4, 7, 8, 8},
                                   {4, 8, 8, 8}};
inline constexpr Rule rules[] = {
    {}, {.scale = Scale::of(0x1.47ae14p-7)}, {.softcap = 2}, {.softcap = 0.5}};  // 0.01 in float

// What the rule decides here; everything else is a bias.
bool is_rule_of(const Rule& rule, const Problem& problem) {
  return rule.scale == problem.rule.scale && rule.softcap == problem.rule.softcap;
}

// The numbers of the tests in double, and what is expected, in order.
struct Outputs {
  std::vector<double> output, scores;
};

template <Rule rule, Shape shape>
void attend_on_device(const Problem& problem, Outputs& found) {
  constexpr size_t S = shape.queries, T = shape.keys, D = shape.width, Dv = shape.value_width;
  for (size_t b = 0; b < problem.batches(); ++b)
    for (size_t h = 0; h < problem.query_heads(); ++h) {
      const size_t g = key_value_head(problem.rule.head_map, h, problem.query_heads(),
                                      problem.key_value_heads());
      Query<double, S, D> q;
      Key<double, T, D> k;
      Value<double, T, Dv> v;
      for (size_t i = 0; i < S; ++i) problem.query.read_row(b, h, i, q.matrix[i]);
      for (size_t j = 0; j < T; ++j) problem.read_key(b, g, j, k.matrix[j]);
      for (size_t j = 0; j < T; ++j) problem.read_value(b, g, j, v.matrix[j]);
      // masks of both kinds, causality, window and padding: 0, a number, or −∞
      const auto bias = [&](size_t i, size_t j) { return problem.bias(b, h, i, j); };

      const auto output = attention<rule>(q, k, v, everything, bias);
      for (const auto& row : output.entries) found.output.insert(found.output.end(), row, row + Dv);
      if (!problem.scores) continue;
      const auto keep = [&](const Matrix<double, S, T>& scores) {
        for (const auto& row : scores.entries)
          found.scores.insert(found.scores.end(), row, row + T);
      };
      constexpr Rule before_the_cap{.scale = rule.scale};
      switch (problem.score_stage) {
        case ScoreStage::scaled:
          keep(attention_scores<before_the_cap>(q, k));
          break;
        case ScoreStage::capped:
          keep(attention_scores<rule>(q, k));
          break;
        case ScoreStage::biased:
          keep(attention_scores<rule>(q, k, bias));
          break;
        case ScoreStage::weights:
          keep(attention_weights<rule>(q, k, everything, bias));
          break;
      }
    }
}

template <size_t r, size_t s>
bool attend_if_this(const Problem& problem, const Shape& shape, Outputs& found) {
  if (!(shapes[s] == shape && is_rule_of(rules[r], problem))) return false;
  attend_on_device<rules[r], shapes[s]>(problem, found);
  return true;
}
template <size_t... pairs>
bool attend_by_templates(const Problem& problem, const Shape& shape, Outputs& found,
                         std::index_sequence<pairs...>) {
  constexpr size_t n = std::size(shapes);
  return (attend_if_this<pairs / n, pairs % n>(problem, shape, found) || ...);
}

// How many expected numbers the computed ones do not round to.
size_t differing(const oracle::Claim& claim, const std::vector<double>& computed) {
  size_t count = 0, next = 0;
  const auto& shape = claim.got.shape;
  for (size_t b = 0; b < shape[0]; ++b)
    for (size_t h = 0; h < shape[1]; ++h)
      for (size_t i = 0; i < shape[2]; ++i)
        for (size_t t = 0; t < shape[3]; ++t) {
          const double expected = claim.got.number(b, h, i, t);
          const double rounded = claim.got.format()->round(computed[next++]);
          count += !(rounded == expected || (std::isnan(rounded) && std::isnan(expected)));
        }
  return count;
}

std::string run(const fs::path& test) {
  const format::OnnxModel model = format::load_onnx_model(test / "model.onnx");
  const fs::path data = test / "test_data_set_0";
  const format::OnnxCall loaded = format::load_onnx_call(model, data, data);
  const Problem problem = oracle::read_problem(loaded.call);
  const Shape shape{problem.queries(), problem.keys(), problem.width(), problem.value_width()};
  Outputs found;
  if (!attend_by_templates(problem, shape, found,
                           std::make_index_sequence<std::size(shapes) * std::size(rules)>()))
    return "no template for " + std::to_string(shape.queries) + ", " + std::to_string(shape.keys) +
           ", " + std::to_string(shape.width) + ", " + std::to_string(shape.value_width) +
           ", scale " + std::to_string(problem.rule.scale.given) + ", softcap " +
           std::to_string(problem.rule.softcap);
  if (!problem.output) return "no output";
  size_t wrong = differing(*problem.output, found.output);
  if (problem.scores) wrong += differing(*problem.scores, found.scores);
  return wrong == 0 ? "" : std::to_string(wrong) + " numbers differ";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  size_t passed = 0, failed = 0;
  std::vector<fs::path> tests;
  for (const auto& entry : fs::directory_iterator(argv[1]))
    if (fs::exists(entry.path() / "model.onnx")) tests.push_back(entry.path());
  std::sort(tests.begin(), tests.end());
  for (const fs::path& test : tests) {
    std::string found;
    try {
      found = run(test);
    } catch (const std::exception& error) {
      found = error.what();
    }
    ++(found.empty() ? passed : failed);
    if (!found.empty()) std::printf("%s: %s\n", test.filename().c_str(), found.c_str());
  }
  std::printf("%zu passed, %zu failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
