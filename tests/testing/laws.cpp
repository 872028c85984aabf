// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The law kit on honest attention: nothing is found, in any precision or dialect; and each law can
// be broken.
#include "catch.hpp"

#include <attest/oracle/needle/dialects.hpp>
#include <attest/testing/arguments.hpp>
#include <attest/testing/examine.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "faulty.hpp"

namespace {

using namespace attest;
using testing::Examination;
using testing::Options;

Options without_files() {
  Options options;
  options.save_to.clear();
  return options;
}

}  // namespace

TEST_CASE("honest attention is found to be that in every precision") {
  for (const oracle::ElementType type :
       {oracle::ElementType::float32, oracle::ElementType::float16, oracle::ElementType::bfloat16,
        oracle::ElementType::float64}) {
    CAPTURE(oracle::facts(type).name);
    Options options = without_files();
    options.random_calls = 40;
    options.law_calls = 30;
    options.needles = false;  // tests/oracle/needle looks at them
    options.most_failures = 20;
    const Examination found =
        testing::examine(test::honest_subject(), test::whole_scope(type), options);
    INFO(testing::in_words(found));
    CHECK(found.passed());
    CHECK(found.laws_asked > 300);
  }
}

TEST_CASE("honest attention is found to be that in every dialect") {
  for (const oracle::RecipeDialect& dialect : oracle::recipe_dialects) {
    CAPTURE(dialect.name);
    Options options = without_files();
    options.random_calls = 20;
    options.law_calls = 10;
    options.most_failures = 20;
    options.needles = false;
    const Examination found = testing::examine(
        test::honest_subject(),
        test::whole_scope(oracle::ElementType::float32, std::string(dialect.name)), options);
    INFO(testing::in_words(found));
    CHECK(found.passed());
  }
}

namespace {

// Attention by its definition, in double.
void attention(const testing::Arguments<float>& a) {
  for (std::size_t b = 0; b < a.batches; ++b)
    for (std::size_t h = 0; h < a.query_heads; ++h) {
      const auto q = a.q_of(b, h), k = a.k_of(b, h), v = a.v_of(b, h);
      for (std::size_t i = 0; i < a.queries; ++i) {
        const std::size_t row = (b * a.query_heads + h) * a.queries + i;
        std::vector<double> scores(a.keys, -HUGE_VAL);
        double most = a.sinks.empty() ? -HUGE_VAL : a.sinks[h];
        for (std::size_t j = 0; j < a.keys && j < a.lengths[b]; ++j) {
          const long ahead = static_cast<long>(j) - static_cast<long>(i) - a.offsets[b];
          if (a.causal && ahead > 0) continue;
          if ((a.window_left >= 0 && -ahead > a.window_left) ||
              (a.window_right >= 0 && ahead > a.window_right))
            continue;
          if (a.bias.empty() && !a.mask.empty() && !a.mask[row * a.keys + j]) continue;
          double dot = 0;
          for (std::size_t t = 0; t < a.width; ++t)
            dot += static_cast<double>(q[i * a.width + t]) * k[j * a.width + t];
          dot *= a.scale;
          if (a.softcap != 0) dot = a.softcap * std::tanh(dot / a.softcap);
          scores[j] = dot + (a.bias.empty() ? 0 : a.bias[row * a.keys + j]);
          most = std::max(most, scores[j]);
        }
        double sum = a.sinks.empty() ? 0 : std::exp(a.sinks[h] - most);
        std::vector<double> out(a.value_width, 0);
        for (std::size_t j = 0; j < a.keys; ++j) {
          if (scores[j] == -HUGE_VAL) continue;
          const double weight = std::exp(scores[j] - most);
          sum += weight;
          for (std::size_t t = 0; t < a.value_width; ++t)
            out[t] += weight * v[j * a.value_width + t];
        }
        for (std::size_t t = 0; t < a.value_width; ++t)
          a.out_of(b, h)[i * a.value_width + t] =
              static_cast<float>(most == -HUGE_VAL ? 0 : out[t] / sum);
      }
    }
}

}  // namespace

TEST_CASE("a function of one's own is asked in every dialect, whatever its arrays are called") {
  for (const std::string dialect :
       {"plain", "cudnn", "flashinfer", "ort-gqa", "ort-mha", "openvino", "ggml"}) {
    CAPTURE(dialect);
    oracle::Scope scope;
    scope.dialect = dialect;
    scope.features = oracle::Features::all();
    scope.features.slopes = scope.features.log_sum_exp = scope.features.gradients = false;
    scope.features.empty_rows = scope.features.tiled_heads = scope.features.lengths = false;
    Options options = without_files();
    options.random_calls = 20;
    options.law_calls = 5;
    const Examination found = testing::examine(testing::subject<float>(attention), scope, options);
    INFO(testing::in_words(found));
    CHECK(found.passed());
    CHECK(found.judged > 30);
    const auto without_last_head = [](const testing::Arguments<float>& a) {
      attention(a);
      a.out[a.out.size() - 1] = 3;
    };
    CHECK(!testing::examine(testing::subject<float>(without_last_head), scope, options).passed());
  }
}
