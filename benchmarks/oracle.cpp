// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The oracle's tiers beside plain attention in double and beside other numbers of many digits:
// 8 heads, 2048 queries and keys, width 64, one run. Usage: oracle [NUMPY
// [MPMATH]], the seconds that these take (numpy_attention.py); empty: not measured.
//
// Every line but the last ones is the whole call, from stored arrays to the verdict, and the
// shortest of several runs taken in turn, in time of the processor for one thread, on the clock for
// two; the last ones are one row, times the number of rows.
#include <attest/oracle/verdict.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <boost/multiprecision/mpfr.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace attest::oracle;

constexpr std::size_t heads = 8, tokens = 2048, width = 64;
constexpr std::size_t row_count = heads * tokens;

struct Time {
  double clock, processor;  // seconds; other programs take nothing away from the second
};
Time time_of(const std::function<void()>& work) {
  const std::clock_t processor = std::clock();
  const auto begin = std::chrono::steady_clock::now();
  work();
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
          static_cast<double>(std::clock() - processor) / CLOCKS_PER_SEC};
}

// The arrays of a call in T, and the call.
template <class T>
struct Stored {
  std::vector<T> q, k, v, out;
  Call call;

  explicit Stored(ElementType type) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    for (std::vector<T>* numbers : {&q, &k, &v}) {
      numbers->resize(row_count * width);
      for (T& x : *numbers) x = static_cast<T>(static_cast<float>(normal(random)));
    }
    out.resize(row_count * width);
    call.dialect = "plain";
    const auto add = [&](const char* name, const std::vector<T>& numbers) {
      call.arrays[name] = Tensor::row_major(type, {1, heads, tokens, width},
                                            reinterpret_cast<const std::byte*>(numbers.data()));
    };
    add("q", q);
    add("k", k);
    add("v", v);
    add("out", out);
  }
};

// Attention in double without a bound: the kernels and blocks of the first tier, and nothing else.
template <class T>
void plain(const Stored<T>& stored, std::vector<T>& out) {
  namespace detail = attest::oracle::detail;
  const detail::Kernels& kernels = detail::best_kernels();
  constexpr std::size_t rows = 32;
  const std::size_t panels = (tokens + detail::panel_keys - 1) / detail::panel_keys;
  const std::size_t stride = panels * detail::panel_keys;
  std::vector<double> keys(stride * width), values(tokens * width), queries(rows * width);
  std::vector<double> scores(rows * stride), outputs(rows * width), sums(rows);
  for (std::size_t h = 0; h < heads; ++h) {
    const std::size_t head = h * tokens * width;
    for (std::size_t j = 0; j < tokens; ++j) {
      double* const panel = keys.data() + j / detail::panel_keys * detail::panel_keys * width +
                            j % detail::panel_keys;
      for (std::size_t t = 0; t < width; ++t) {
        panel[t * detail::panel_keys] = static_cast<double>(stored.k[head + j * width + t]);
        values[j * width + t] = static_cast<double>(stored.v[head + j * width + t]);
      }
    }
    for (std::size_t i = 0; i < tokens; i += rows) {
      for (std::size_t n = 0; n < rows * width; ++n)
        queries[n] = static_cast<double>(stored.q[head + i * width + n]);
      kernels.scores({queries.data(), rows, width, keys.data(), 0, panels, scores.data(), stride});
      for (std::size_t r = 0; r < rows; ++r) {
        double* const row = scores.data() + r * stride;
        const double maximum =
            kernels.biased_scores({row, nullptr, stride, 0.125, 0, 0, nullptr, 0, tokens});
        sums[r] = kernels.exponentials(row, stride, maximum);
      }
      std::fill(outputs.begin(), outputs.end(), 0);
      kernels.outputs({scores.data(), rows, stride, values.data(), tokens, width, outputs.data()});
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t t = 0; t < width; ++t)
          out[head + (i + r) * width + t] = static_cast<T>(outputs[r * width + t] / sums[r]);
    }
  }
}

template <class Real>
double seconds_per_row(const Stored<float>& stored) {
  volatile double sink = 0;
  return time_of([&] {
           std::vector<Real> e(tokens), out(width, Real(0));
           Real maximum = 0, sum = 0;
           for (std::size_t j = 0; j < tokens; ++j) {
             Real s = 0;
             for (std::size_t t = 0; t < width; ++t)
               s += Real(stored.q[t]) * Real(stored.k[j * width + t]);
             e[j] = s / 8;
             if (j == 0 || e[j] > maximum) maximum = e[j];
           }
           for (Real& x : e) {
             x = exp(Real(x - maximum));
             sum += x;
           }
           for (std::size_t j = 0; j < tokens; ++j)
             for (std::size_t t = 0; t < width; ++t) out[t] += e[j] * Real(stored.v[j * width + t]);
           for (Real& o : out) sink = sink + static_cast<double>(Real(o / sum));
         })
      .processor;
}

// One row as RowJudge does it, in one tier.
template <class Real>
double seconds_per_judged_row(const Stored<float>& stored) {
  std::vector<double> q(stored.q.begin(), stored.q.begin() + width);
  std::vector<double> k(stored.k.begin(), stored.k.begin() + tokens * width);
  std::vector<double> v(stored.v.begin(), stored.v.begin() + tokens * width);
  const std::vector<double> bias(tokens, 0);
  const RowData row{q.data(), k.data(), v.data(), bias.data(), width, width, tokens};
  const attest::Rule rule;
  const Precision claim = usual_precision(formats::float32);
  const ScoreArithmetic arithmetic(rule, claim, row);
  return time_of([&] {
           RowEnclosure<Real> exact;
           ScoreTolerance score_tolerance;
           RowTolerance tolerance;
           enclose_scores(rule, row, false, exact);
           arithmetic.tolerate(row, exact, score_tolerance);
           enclose_outputs(row, exact);
           tolerate_outputs(claim, row, exact, score_tolerance.biased, tolerance);
         })
      .processor;
}

struct Line {
  std::string what;
  std::size_t threads;
  std::function<void()> work;
  Time best{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  double seconds() const { return threads == 1 ? best.processor : best.clock; }
};

}  // namespace

int main(int argc, char** argv) {
  namespace detail = attest::oracle::detail;
  Stored<float> narrow(ElementType::float32);
  Stored<double> wide(ElementType::float64);
  plain(narrow, narrow.out);
  plain(wide, wide.out);
  std::vector<float> again(narrow.out.size());

  const auto judged = [](const Call& call, std::size_t threads) {
    JudgeOptions options;
    options.threads = threads;
    const Report report = judge(call, options);
    if (report.verdict != Verdict::pass) {
      std::fprintf(stderr, "an honest output does not pass\n");
      std::exit(1);
    }
    return report;
  };
  std::vector<Line> lines = {
      {"plain attention in double, same kernels, no bound", 1, [&] { plain(narrow, again); }},
      {"tier 0 with verdict, float32", 1, [&] { judged(narrow.call, 1); }},
      {"the same, two threads", 2, [&] { judged(narrow.call, 2); }},
      {"double-double with verdict, float64", 1, [&] { judged(wide.call, 1); }},
      {"the same, two threads", 2, [&] { judged(wide.call, 2); }},
  };
  for (int repetition = 0; repetition < 7; ++repetition)
    for (Line& line : lines) {
      const Time time = time_of(line.work);
      line.best.clock = std::min(line.best.clock, time.clock);
      line.best.processor = std::min(line.best.processor, time.processor);
    }

  const double reference = lines[0].seconds();
  const auto print = [&](const std::string& what, double time) {
    std::printf("%-52s %10.4g s %8.4g\n", what.c_str(), time, time / reference);
  };
  std::printf("%zu heads of %zu x %zu, width %zu; kernels: %s\n", heads, tokens, tokens, width,
              detail::best_kernels().name);
  std::printf("%-52s %12s %8s\n", "", "", "/plain");
  for (const Line& line : lines) print(line.what, line.seconds());
  const double numpy = argc > 1 ? std::atof(argv[1]) : 0;
  if (numpy > 0)
    print("numpy float64, OpenBLAS, one thread", numpy);
  else
    std::printf("skipped: numpy (python3-numpy is not installed)\n");
  std::printf(
      "two threads against one, on the clock: %.2f and %.2f; rows that blocks left open: %zu and "
      "%zu\n",
      lines[1].best.clock / lines[2].best.clock, lines[3].best.clock / lines[4].best.clock,
      judged(narrow.call, 1).double_double_rows,
      row_count - judged(wide.call, 1).double_double_rows);

  using namespace boost::multiprecision;
  using Bin50 = number<cpp_bin_float<50>, et_off>;
  using Mpfr50 = number<mpfr_float_backend<50, allocate_stack>, et_off>;
  std::printf("one row, times %zu:\n", row_count);
  const auto print_row = [&](const char* what, double (*of_row)(const Stored<float>&)) {
    print(what, std::min(of_row(narrow), of_row(narrow)) * row_count);
  };
  print_row("  row judge, double", seconds_per_judged_row<double>);
  print_row("  row judge, double-double", seconds_per_judged_row<DoubleDouble>);
  print_row("  row judge, 240 bits", seconds_per_judged_row<Wide>);
  print_row("  cpp_bin_float_50, no bound", seconds_per_row<Bin50>);
  print_row("  mpfr_float_50, no bound", seconds_per_row<Mpfr50>);
  const double mpmath = argc > 2 ? std::atof(argv[2]) : 0;
  if (mpmath > 0)
    print("  mpmath, 50 digits, no bound", mpmath);
  else
    std::printf("  skipped: mpmath (python3-mpmath is not installed)\n");
}
