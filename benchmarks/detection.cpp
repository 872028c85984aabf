// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What each rule of acceptance sees: kernels simulated on the CPU, right and with one mistake,
// judged by attest, by allclose against the exact result, and by FlashAttention's rule of twice the
// error of a plain implementation in the same format. Usage: detection [KEYS...], by default 256
// 2048.
//
// A cell is what the rule says of the mistake; that of "smallest wrong scale" the smallest relative
// error of the scale that it sees, of a ladder of quarter decades. Mistakes are made over random
// data; a rule that refuses the right kernel there says nothing by refusing a wrong one: "–".
#include <attest/oracle/verdict.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "command/simulated.hpp"
#include "command/simulated_call.hpp"

namespace {

using namespace attest;
using namespace attest::test;

// Attention in double, about 10^-14 off.
std::vector<double> exact_output(const Data& data) {
  Kernel kernel{
      .preset = "float64", .array = Format::f64, .output = Format::f64, .input = Format::f64};
  kernel.sum = kernel.output_sum = kernel.score = kernel.softmax = kernel.weight = Format::f64;
  return Simulation(kernel, data, 0).output();
}

double largest_error(const std::vector<double>& out, const std::vector<double>& exact) {
  double largest = 0;
  for (std::size_t n = 0; n < out.size(); ++n)
    largest = std::max(largest, std::fabs(out[n] - exact[n]));
  return largest;
}

// One kernel over one set of data, and the rules.
class Contest {
 public:
  Contest(const Kernel& kernel, std::size_t keys, Kind kind = Kind::random) : kernel_(kernel) {
    data_ = data_of(kind, kernel.array, 16, keys, 64, 16, 11);
    data_.causal = true;
    exact_ = exact_output(data_);
    // the plain implementation: 8-bit formats have none, so its matrices are in bfloat16
    Kernel plain{.preset = "", .normalized = true};
    if (kernel.array != Format::f32) {
      const Format narrow = kernel.array == Format::f16 ? Format::f16 : Format::bf16;
      plain.score = plain.weight = plain.output = narrow;
    }
    plain_error_ = largest_error(Simulation(plain, data_, 0).output(), exact_);
  }

  enum Rule { fail, suspect, close_2, close_3, twice, rules };

  // Whether each rule refuses the output.
  std::vector<bool> refuses(const Mistake& mistake) const {
    const std::vector<double> out = Simulation(kernel_, data_, 11, mistake).output();
    const CallBuilder call = simulated_call(kernel_, data_, out);
    const oracle::Verdict verdict =
        oracle::judge_by_rule(oracle::read_problem(call.call),
                              oracle::claimed_precision(call.call, oracle::read_problem(call.call)))
            .verdict;
    const auto close = [&](double tolerance) {
      for (std::size_t n = 0; n < out.size(); ++n)
        if (!(std::fabs(out[n] - exact_[n]) <= tolerance + tolerance * std::fabs(exact_[n])))
          return false;
      return true;
    };
    return {verdict == oracle::Verdict::fail,
            verdict == oracle::Verdict::fail || verdict == oracle::Verdict::suspect, !close(1e-2),
            !close(1e-3), !(largest_error(out, exact_) <= 2 * plain_error_)};
  }

 private:
  Kernel kernel_;
  Data data_;
  std::vector<double> exact_;
  double plain_error_ = 0;
};

struct Named {
  const char* name;
  Mistake mistake;
};
const Named mistakes[] = {
    {"last key dropped", {.drop_last_key = true}},
    {"last key counted twice", {.count_last_key_twice = true}},
    {"causal off by one", {.causal_off_by_one = true}},
    {"one key of zeros counted", {.padded_keys = 1}},
    {"64 keys of zeros counted", {.padded_keys = 64}},
    {"row sum in bfloat16", {.low_precision_sum = true}},
    {"output not rescaled", {.no_rescale = true}},
    {"weights with 3 bits of fraction", {.three_bit_weights = true}},
    {"weights cut off, not rounded", {.cut_weights = true}},
};

void print_table(const Kernel& kernel, const std::string& name, std::size_t keys) {
  const Contest contest(kernel, keys);
  std::printf("\n%s, %zu keys\n", name.c_str(), keys);
  std::printf(
      "| | attest: fail | attest: fail or suspect | allclose 1e-2 | allclose 1e-3 | 2x |\n");
  std::printf("|---|---|---|---|---|---|\n");
  const std::vector<bool> right = contest.refuses({});
  const auto print = [&](const char* what, const std::function<std::string(std::size_t)>& cell) {
    std::printf("| %s |", what);
    for (std::size_t rule = 0; rule < Contest::rules; ++rule)
      std::printf(" %s |", cell(rule).c_str());
    std::printf("\n");
    std::fflush(stdout);
  };
  std::vector<int> refused_kinds(Contest::rules, 0);
  for (const auto& [kind, unused] : kinds) {
    const std::vector<bool> refused = Contest(kernel, keys, kind).refuses({});
    for (std::size_t rule = 0; rule < Contest::rules; ++rule) refused_kinds[rule] += refused[rule];
  }
  print("right kernel refused, of 10 kinds of data",
        [&](std::size_t rule) { return std::to_string(refused_kinds[rule]); });

  std::vector<double> smallest(Contest::rules, 0);
  for (int step = -28; step <= 0; ++step) {  // a quarter of a decade each
    if (std::all_of(smallest.begin(), smallest.end(), [](double x) { return x != 0; })) break;
    const double error = std::pow(10.0, step / 4.0);
    const std::vector<bool> refused = contest.refuses({.scale_error = error});
    for (std::size_t rule = 0; rule < Contest::rules; ++rule)
      if (refused[rule] && smallest[rule] == 0) smallest[rule] = error;
  }
  print("smallest wrong scale", [&](std::size_t rule) -> std::string {
    if (right[rule]) return "–";
    if (smallest[rule] == 0) return "none";
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", smallest[rule]);
    return text;
  });
  for (const Named& one : mistakes) {
    if (one.mistake.cut_weights && kernel.weight == Format::f32) continue;
    if (one.mistake.three_bit_weights && kernel.weight == Format::e4m3) continue;
    const std::vector<bool> refused = contest.refuses(one.mistake);
    print(one.name, [&](std::size_t rule) -> std::string {
      return right[rule] ? "–" : refused[rule] ? "seen" : "not seen";
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::size_t> lengths;
  for (int n = 1; n < argc; ++n) lengths.push_back(std::strtoul(argv[n], nullptr, 10));
  if (lengths.empty()) lengths = {256, 2048};
  for (const std::size_t keys : lengths) {
    bool tiled_float = false;
    for (const Kernel& kernel : simulated_kernels()) {
      if (kernel.preset == "float32" && kernel.tile != 0 && !tiled_float) {
        tiled_float = true;
        print_table(kernel, "float32, tiles of 16", keys);
      }
      if (kernel.preset == "tensor-core-bf16" && kernel.output == Format::bf16)
        print_table(kernel, "bfloat16 on tensor cores, output in bfloat16", keys);
      if (kernel.preset == "tensor-core-f16" && kernel.output == Format::f16)
        print_table(kernel, "float16 on tensor cores, output in float16", keys);
      if (kernel.preset == "fp8-e4m3")
        print_table(kernel, "float8_e4m3fn on tensor cores, output in bfloat16", keys);
    }
  }
}
