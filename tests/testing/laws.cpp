// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The law kit on honest attention: nothing is found, in any precision or dialect; and each law can
// be broken.
#include "catch.hpp"

#include <attest/oracle/needle/dialects.hpp>
#include <attest/oracle/needle/random.hpp>
#include <attest/testing/arguments.hpp>
#include <attest/testing/examine.hpp>
#include <attest/testing/laws.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
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

TEST_CASE("what a subject does not return is not asked for") {
  const testing::Subject honest = test::honest_subject();
  const testing::Subject outputs_alone = [&](const oracle::Call& call) {
    testing::Answer answer = honest(call);
    for (const char* name : {"lse", "dq", "dk", "dv", "dsinks", "dattn_mask"})
      answer.call->call.arrays.erase(name);
    return answer;
  };
  Options options = without_files();
  options.random_calls = 40;
  options.law_calls = 30;
  options.needles = false;
  const Examination found =
      testing::examine(outputs_alone, test::whole_scope(oracle::ElementType::float64), options);
  INFO(testing::in_words(found));
  CHECK(found.passed());
  CHECK(found.laws_asked > 200);
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

namespace {

// Four query heads, two of keys and values, of which two tokens come from a cache.
oracle::Example grouped_call_with_a_cache() {
  oracle::Random random(3);
  const auto numbers = [&](std::size_t n) {
    std::vector<double> made(n);
    for (double& x : made) x = random.symmetric() * 2;
    return made;
  };
  oracle::Example made("onnx-24");
  const oracle::ElementType type = oracle::ElementType::float32;
  made.array("q", {1, 4, 3, 4}, numbers(48), type);
  made.array("k", {1, 2, 4, 4}, numbers(32), type);
  made.array("v", {1, 2, 4, 3}, numbers(24), type);
  made.array("past_key", {1, 2, 2, 4}, numbers(16), type);
  made.array("past_value", {1, 2, 2, 3}, numbers(12), type);
  made.array("out", {1, 4, 3, 3}, std::vector<double>(36), type);
  return made;
}
// What is right of another call than was asked.
template <class Change>
testing::Subject right_but_for(Change change) {
  return [change](const oracle::Call& asked) {
    testing::EditableCall call(asked);
    change(call);
    return test::honest_subject()(call.example().call);
  };
}
bool is_broken(const std::string& name, const testing::Subject& subject) {
  oracle::Scope scope = test::whole_scope(oracle::ElementType::float32, "onnx-24");
  const testing::EditableCall call(grouped_call_with_a_cache().call);
  for (const testing::Law& law : testing::laws()) {
    if (law.name != name) continue;
    const auto answered = std::make_shared<testing::Answered>(subject, call);
    REQUIRE(law.applies(call, answered->problem()));
    testing::Trial trial(subject, scope, call, answered);
    law.ask(trial);
    return trial.broken.has_value();
  }
  FAIL("there is no such law: " << name);
  return false;
}

}  // namespace

TEST_CASE("a law of what a call is made of is broken by whom it concerns") {
  const auto honest = test::honest_subject();
  for (const testing::Law& law : testing::laws())
    if (law.applies(testing::EditableCall(grouped_call_with_a_cache().call),
                    oracle::read_problem(grouped_call_with_a_cache().call))) {
      CAPTURE(law.name);
      CHECK(!is_broken(std::string(law.name), honest));
    }
  CHECK(is_broken("positive weights", [&](const oracle::Call& asked) {
    testing::Answer answer = honest(asked);
    testing::EditableCall returned(answer.call->call);
    const double first = testing::EditableCall(asked).at("past_value").numbers[0];
    for (double& x : returned["out"].numbers) x -= 0.5 * first;
    return testing::Answer::of(returned.example());
  }));
  CHECK(is_broken("repeated heads", right_but_for([](testing::EditableCall& call) {
                    if (call.extent(testing::Axis::key_value_head) == 2)
                      call.choose(testing::Axis::key_value_head, {1, 0});
                  })));
  CHECK(is_broken("without cache", right_but_for([](testing::EditableCall& call) {
                    if (!call.has("past_value")) return;
                    for (double& x : call["past_value"].numbers) x += 0.01;
                  })));
  // Of degree one, so that -2 times the values is -2 times the output, but not linear.
  CHECK(is_broken("linear in values", right_but_for([](testing::EditableCall& call) {
                    double largest = 0;
                    for (const char* name : {"v", "past_value"})
                      for (const double x : call[name].numbers)
                        largest = std::max(largest, std::fabs(x));
                    for (const char* name : {"v", "past_value"})
                      for (double& x : call[name].numbers) x *= std::fabs(x) / largest;
                  })));
  CHECK(is_broken("sharp queries", right_but_for([](testing::EditableCall& call) {
                    for (double& x : call["q"].numbers) x = std::clamp(x, -1.0, 1.0);
                  })));
}

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
