// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// accuracy [--all] [FILE]: of each function, how many results are not the number nearest to the
// exact one, and the largest error in units in the last place, as one table in Markdown.
//
// Floats: every 4093rd of the 2^32, about two thousand of either sign in every binade; with --all
// every one. Doubles: a million uniform in each of the ranges below, and a million of uniform bits.
// Then the arguments known to be hard, of exp also those listed in FILE, one a line as strtod reads
// it. Only arguments count whose exact result is a number or infinite.
//
// What GCC computes of std:: at compile time it is asked of 2000 constants; clang has no such
// functions. 1/std::sqrt(x) stands for rsqrt where there is none.
#include <array>
#include <attest/exp.hpp>
#include <attest/log.hpp>
#include <attest/sincos.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#ifdef ATTEST_HAS_GCEM
#include <gcem.hpp>
#endif

#include "exhaustive/mpfr.hpp"

namespace {
using namespace tests;

// An exact result: the nearest T, what is missing to it in units in the last place, and the power
// of two that is such a unit.
template <class T>
struct Result {
  T nearest;
  double missing;
  int unit;
};

template <class T>
int unit_of(int exponent) {  // of a number below 2^exponent
  using limits = std::numeric_limits<T>;
  return std::max(exponent, limits::min_exponent) - limits::digits;
}

template <class T>
class Exactly {
 public:
  explicit Exactly(MpfrFunction* function) : function_(function) {
    mpfr_inits2(160, value_, difference_, nullptr);
  }
  ~Exactly() { mpfr_clears(value_, difference_, nullptr); }
  Exactly(const Exactly&) = delete;
  Exactly& operator=(const Exactly&) = delete;

  Result<T> operator()(T x) {
    mpfr_set_d(value_, static_cast<double>(x), MPFR_RNDN);
    function_(value_, value_, MPFR_RNDN);
    T nearest;
    if constexpr (sizeof(T) == 4)
      nearest = mpfr_get_flt(value_, MPFR_RNDN);
    else
      nearest = mpfr_get_d(value_, MPFR_RNDN);
    if (!mpfr_regular_p(value_) || std::isinf(nearest)) return {nearest, 0, 0};
    const int unit = unit_of<T>(static_cast<int>(mpfr_get_exp(value_)));
    mpfr_sub_d(difference_, value_, static_cast<double>(nearest), MPFR_RNDN);
    mpfr_mul_2si(difference_, difference_, -unit, MPFR_RNDN);
    return {nearest, mpfr_get_d(difference_, MPFR_RNDN), unit};
  }

 private:
  MpfrFunction* function_;
  mpfr_t value_, difference_;
};

template <class T>
class Errors {
 public:
  void at(T found, const Result<T>& exact) {
    ++asked_;
    double error = std::fabs(exact.missing);
    if (!(found == exact.nearest)) {
      ++wrong_;
      const double off = static_cast<double>(found) - static_cast<double>(exact.nearest);
      error = std::fabs(std::ldexp(off, -exact.unit) - exact.missing);
      if (!std::isfinite(error)) {
        ++infinitely_off_;
        return;
      }
    }
    if (error > largest_) largest_ = error;
  }

  // WRONG | LARGEST |, and how many of the wrong ones are infinitely off: no number, or infinite
  // where the exact result is not, or the other way round.
  void print() const {
    if (asked_ == 0)
      std::printf(" – | – |");
    else if (largest_ < 1e4)
      std::printf(" %llu | %.4f", wrong_, largest_);
    else
      std::printf(" %llu | %.1e", wrong_, largest_);
    if (infinitely_off_ != 0) std::printf(", %llu infinitely off", infinitely_off_);
    if (asked_ != 0) std::printf(" |");
  }

 private:
  unsigned long long asked_ = 0, wrong_ = 0, infinitely_off_ = 0;
  double largest_ = 0;
};

struct Range {
  double low;
  double high;
};

constexpr std::size_t constants = 2000;
template <class T>
struct Constants {
  std::array<T, constants> x{};
  std::array<T, constants> result{};
};
#if defined(__GNUC__) && !defined(__clang__)
template <class T, class Function>
constexpr Constants<T> evaluated(Function function, Range range) {
  Constants<T> all;
  std::uint64_t state = 1;
  for (std::size_t i = 0; i < constants; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    all.x[i] = static_cast<T>(range.low + (range.high - range.low) * 0x1p-53 *
                                              static_cast<double>(state >> 11));
    all.result[i] = function(all.x[i]);
  }
  return all;
}
#endif

template <class T>
struct Function {
  const char* name;
  T (*attest)(T);
  T (*libc)(T);
  T (*gcem)(T);                  // or null
  const Constants<T>* constant;  // or null
  double (*rough)(double);
  MpfrFunction* exact;
  std::vector<Range> ranges;
  std::vector<T> hard;
};

// The same, std:: given once, constants between two numbers asked of it.
template <class T, int low, int high, class Standard>
Function<T> function(const char* name, T (*attest)(T), Standard standard, T (*gcem)(T),
                     MpfrFunction* exact, std::vector<Range> ranges, std::vector<T> hard) {
#if defined(__GNUC__) && !defined(__clang__)
  static constexpr Constants<T> constant = evaluated<T>(Standard{}, {low, high});
  return {name, attest, standard, gcem, &constant, standard, exact, ranges, hard};
#else
  return {name, attest, standard, gcem, nullptr, standard, exact, ranges, hard};
#endif
}

#ifdef ATTEST_HAS_GCEM
#define ATTEST_GCEM_FUNCTION(name) [](T x) { return gcem::name(x); }
#else
#define ATTEST_GCEM_FUNCTION(name) nullptr
#endif

// Hard are the floats closest to the middle between two results, of which the headers say what they
// are, and the doubles that tests/ keeps.
template <class T>
std::vector<Function<T>> functions() {
  constexpr bool is_float = sizeof(T) == 4;
  const auto hard = [](std::vector<float> floats, std::vector<double> doubles) {
    if constexpr (is_float)
      return floats;
    else
      return doubles;
  };
  const std::vector<double> angles{0x1.6ac5b262ca1ffp+849, 0x1.fffffffffffffp+1023, 1e22};
  return {
      function<T, -20, 0>(
          "exp", attest::exp, [](auto x) { return std::exp(x); }, ATTEST_GCEM_FUNCTION(exp),
          mpfr_exp,
          {{-40, 0}, {-1, 1}, {-1e-3, 1e-3}, {-0x1p-18, 0x1p-18}, {-709, 710}, {-746, -707}},
          hard({-0x1.d2259ap+3f, -0x1.e1dbe2p-8f, -0x1.c1c4b8p-10f, -0x1p-25f, 0x1.fdff02p-17f,
                0x1.62b666p+1f, 0x1.036492p+1f},
               {0x1.19a56fc6f2ea6p-12,  -0x1.e1ff54977d2f3p-10, -0x1.ee848fe2b09b8p-9,
                0x1.1d97d08b6d6a8p-14,  0x1.79fb6cbff41fcp+8,   -0x1.f00a445675377p-14,
                0x1.655157b69e5f2p-4,   -0x1.42c0ef4cb74f6p-28, 0x1.81621ad6348f4p+1,
                -0x1.0003864403862p-24, -0x1.d114bff2ec5fp-23,  0x1.5fb89c2cdfap+0,
                0x1.0cfd64fd1388dp+8,   -0x1.82d7f9160a426p+4,  -0x1.db74c1c3538ccp+6,
                -0x1.6e7be061cc1f2p+1,  0x1.6761a642c5e1ap+4,   0x1.0257f8fbed2a1p-29,
                -0x1.b9c6a8e686716p+7,  -0x1.0b611bd71c5f3p+9})),
      function<T, -20, 0>(
          "exp2", attest::exp2, [](auto x) { return std::exp2(x); }, nullptr, mpfr_exp2,
          {{-40, 0}, {-1, 1}, {-1e-3, 1e-3}, {-1076, 1025}},
          hard({0x1.853a6ep-9f, -0x1.5a3f34p-21f, -0x1.a7a04cp-14f, -0x1.d8568p-10f,
                -0x1.e7526ep-6f, 0x1.0f0af8p-11f, -0x1.3e53bcp-3f, 0x1.05535ap-7f},
               {})),
      function<T, 0, 100>("log", attest::log, [](auto x) { return std::log(x); },
                          ATTEST_GCEM_FUNCTION(log), mpfr_log,
                          {{0, 2}, {1 - 1e-6, 1 + 1e-6}, {1, 1e6}, {0, 0x1p-1022}}, {}),
      function<T, 0, 100>("log2", attest::log2, [](auto x) { return std::log2(x); },
                          ATTEST_GCEM_FUNCTION(log2), mpfr_log2,
                          {{0, 2}, {1 - 1e-6, 1 + 1e-6}, {1, 1e6}, {0, 0x1p-1022}}, {}),
      function<T, 0, 100>("sqrt", attest::sqrt, [](auto x) { return std::sqrt(x); },
                          ATTEST_GCEM_FUNCTION(sqrt), mpfr_sqrt, {{0, 4}, {0, 1e6}, {0, 0x1p-1022}},
                          {}),
      function<T, 0, 100>(
          "rsqrt", attest::rsqrt, [](auto x) { return 1 / std::sqrt(x); },
          ATTEST_GCEM_FUNCTION(inv_sqrt), mpfr_rsqrt, {{0, 4}, {0, 1e6}, {0, 0x1p-1022}},
          hard({0x1.7431c6p+1f}, {})),
      function<T, -10, 10>(
          "tanh", attest::tanh, [](auto x) { return std::tanh(x); }, ATTEST_GCEM_FUNCTION(tanh),
          mpfr_tanh, {{-23, 23}, {-1, 1}, {-0x1p-9, 0x1p-9}}, hard({-0x1.86fbc4p-10f}, {})),
      function<T, -4, 4>(
          "sin", attest::sin, [](auto x) { return std::sin(x); }, ATTEST_GCEM_FUNCTION(sin),
          mpfr_sin, {{-4, 4}, {-1e-3, 1e-3}, {0, 1e6}, {0, 1e18}}, hard({}, angles)),
      function<T, -4, 4>(
          "cos", attest::cos, [](auto x) { return std::cos(x); }, ATTEST_GCEM_FUNCTION(cos),
          mpfr_cos, {{-4, 4}, {-1e-3, 1e-3}, {0, 1e6}, {0, 1e18}}, hard({}, angles)),
  };
}

template <class T>
class Row {
 public:
  explicit Row(const Function<T>& function) : function_(function), exact_(function.exact) {}

  void at(T x) {
    const Result<T> exact = exactly(x);
    if (std::isnan(exact.nearest)) return;
    ++asked_;
    attest_.at(function_.attest(x), exact);
    libc_.at(function_.libc(x), exact);
    if (function_.gcem != nullptr) gcem_.at(function_.gcem(x), exact);
  }

  void print(const char* what) {
    std::printf("| %s, %s | %llu |", function_.name, what, asked_);
    attest_.print();
    libc_.print();
    gcem_.print();
    std::puts("");
    std::fflush(stdout);
  }

 private:
  // As in tests/exhaustive/every_float.cpp the C library's double decides where it can.
  Result<T> exactly(T x) {
    if constexpr (sizeof(T) == 8) {
      return exact_(x);
    } else {
      const double rough = function_.rough(static_cast<double>(x));
      const T low = static_cast<T>(rough * (1 - 0x1p-45));
      const T high = static_cast<T>(rough * (1 + 0x1p-45));
      if (low != high || !std::isfinite(low) || std::fabs(low) < std::numeric_limits<T>::min())
        return exact_(x);
      const int unit = unit_of<T>(std::ilogb(rough) + 1);
      return {low, std::ldexp(rough - static_cast<double>(low), -unit), unit};
    }
  }

  const Function<T>& function_;
  Exactly<T> exact_;
  unsigned long long asked_ = 0;
  Errors<T> attest_, libc_, gcem_;
};

void ask_many(const Function<float>& function, std::uint64_t stride) {
  Row<float> row(function);
  for (std::uint64_t word = 0; word < std::uint64_t{1} << 32; word += stride)
    row.at(from_bits<float>(static_cast<std::uint32_t>(word)));
  row.print("float");
}

void ask_many(const Function<double>& function, std::uint64_t) {
  Row<double> row(function);
  std::mt19937_64 generator(20261129);
  for (const Range& range : function.ranges) {
    std::uniform_real_distribution<double> x(range.low, range.high);
    for (int i = 0; i < 1000000; ++i) row.at(x(generator));
  }
  for (int i = 0; i < 1000000; ++i) row.at(from_bits<double>(generator()));
  row.print("double");
}

template <class T>
void ask_all(std::vector<Function<T>> all, const char* type, std::uint64_t stride) {
  for (const Function<T>& function : all) {
    ask_many(function, stride);
    if (function.hard.empty()) continue;
    Row<T> row(function);
    for (const T x : function.hard) row.at(x);
    row.print((std::string(type) + ", hard").c_str());
  }
}

void ask_listed(const char* path) {
  std::ifstream file(path);
  if (!file) {
    std::fprintf(stderr, "skipped: %s\n", path);
    return;
  }
  const std::vector<Function<double>> all = functions<double>();
  Row<double> row(all.front());
  for (std::string line; std::getline(file, line);) {
    const char* text = line.c_str();
    char* end = nullptr;
    const double x = std::strtod(text, &end);
    if (end != text) row.at(x);
  }
  row.print("double, listed");
}

template <class T>
void compare_constants(const char* type) {
  for (const Function<T>& function : functions<T>()) {
    if (function.constant == nullptr) {
      std::printf("skipped: constants, which need GCC\n");
      return;
    }
    Exactly<T> exact(function.exact);
    Errors<T> attest, standard;
    for (std::size_t i = 0; i < constants; ++i) {
      const T x = function.constant->x[i];
      const Result<T> result = exact(x);
      attest.at(function.attest(x), result);
      standard.at(function.constant->result[i], result);
    }
    std::printf("| %s, %s | %zu |", function.name, type, constants);
    attest.print();
    standard.print();
    std::puts("");
  }
}

int usage() {
  std::fputs("usage: accuracy [--all] [FILE]\n", stderr);
  return 2;
}
}  // namespace

int main(int argc, char** argv) {
  std::uint64_t stride = 4093;
  const char* listed = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--all")
      stride = 1;
    else if (argument.starts_with("-") || listed != nullptr)
      return usage();
    else
      listed = argv[i];
  }
#ifndef ATTEST_HAS_GCEM
  std::puts("skipped: gcem\n");
#endif
  std::puts(
      "| | asked | attest wrong | ulp | glibc wrong | ulp | gcem wrong | ulp |\n"
      "|---|---|---|---|---|---|---|---|");
  ask_all(functions<float>(), "float", stride);
  ask_all(functions<double>(), "double", stride);
  if (listed != nullptr) ask_listed(listed);
  std::puts(
      "\n| constants | asked | attest wrong | ulp | std:: wrong | ulp |\n"
      "|---|---|---|---|---|---|");
  compare_constants<float>("float");
  compare_constants<double>("double");
}
