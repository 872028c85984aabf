// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Kernels simulated step by step on the CPU in the arithmetic that presets name: tensor cores that
// cut sums off, approximate exp2, weights in 16 and 8 bits, online softmax in tiles. Written apart
// from the oracle: numbers are rounded by float and by formats.hpp of the device side.
#pragma once
#include <attest/formats.hpp>
#include <attest/oracle/tensor.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace attest::test {

// A format numbers are rounded to.
enum class Format { f64, f32, tf32, f16, bf16, e4m3, e5m2 };

template <class Small>
double through(double x) {
  return static_cast<double>(Small(x));
}
inline double round_to(Format format, double x) {
  switch (format) {
    case Format::f64:
      return x;
    case Format::f32:
      return static_cast<double>(static_cast<float>(x));
    case Format::f16:
      return through<float16>(x);
    case Format::bf16:
      return through<bfloat16>(x);
    case Format::e4m3:
      return static_cast<double>(float8_e4m3fn::saturating(x));
    case Format::e5m2:
      return static_cast<double>(float8_e5m2::saturating(x));
    case Format::tf32: {  // as the hardware reads a float: its last 13 bits are not looked at
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
      return static_cast<double>(std::bit_cast<float>(bits & ~std::uint32_t{0x1fff}));
    }
  }
  return x;
}

// The bits of the array of an element type, and its numbers.
struct Stored {
  oracle::ElementType type;
  std::vector<std::byte> bytes;
};
inline Stored stored(Format format, const std::vector<double>& numbers) {
  Stored result{};
  const auto put = [&](oracle::ElementType type, auto of) {
    result.type = type;
    for (const double x : numbers) {
      const auto word = of(x);
      const auto* bytes = reinterpret_cast<const std::byte*>(&word);
      result.bytes.insert(result.bytes.end(), bytes, bytes + sizeof word);
    }
  };
  using oracle::ElementType;
  switch (format) {
    case Format::f64:
      put(ElementType::float64, [](double x) { return x; });
      break;
    case Format::f32:
    case Format::tf32:
      put(ElementType::float32, [](double x) { return static_cast<float>(x); });
      break;
    case Format::f16:
      put(ElementType::float16, [](double x) { return float16(x).word; });
      break;
    case Format::bf16:
      put(ElementType::bfloat16, [](double x) { return bfloat16(x).word; });
      break;
    case Format::e4m3:
      put(ElementType::float8_e4m3fn, [](double x) { return float8_e4m3fn(x).word; });
      break;
    case Format::e5m2:
      put(ElementType::float8_e5m2, [](double x) { return float8_e5m2(x).word; });
      break;
  }
  return result;
}

// How a kernel computes.
struct Kernel {
  std::string preset;
  Format array = Format::f32;  // q, k, v
  Format output = Format::f32;
  Format input = Format::f32;  // that they are read as
  Format sum = Format::f32, output_sum = Format::f32;
  Format score = Format::f32, softmax = Format::f32, weight = Format::f32;
  int cut_bits = 0;  // sums are cut off to so many bits; 0: rounded
  int output_cut_bits = 0;
  int block = 8;  // products added at once where sums are cut off
  bool fast_exp2 = false;
  bool normalized = false;  // weights are divided by their sum before they multiply values
  std::size_t tile = 0;     // 0: the whole row
  bool from_last = false;   // tiles from the last key to the first
};

// What is wrong with it, for detection; nothing is with the defaults.
struct Mistake {
  double scale_error = 0;  // the scale is 1 + this times too large
  bool drop_last_key = false, count_last_key_twice = false, causal_off_by_one = false;
  bool low_precision_sum = false;  // Σ e in bfloat16
  bool no_rescale = false;         // the output is not rescaled when the maximum rises
  bool three_bit_weights = false;  // weights with 3 bits of fraction
  bool cut_weights = false;        // weights cut off to their format instead of rounded
  std::size_t padded_keys = 0;     // so many keys of zeros, with values of zeros, counted too
};

// One head. Numbers of the kernel's array format.
struct Data {
  std::size_t queries = 0, keys = 0, width = 0, value_width = 0;
  std::vector<double> q, k, v;
  bool causal = false;  // the last query at the last key
};

class Simulation {
 public:
  Simulation(const Kernel& kernel, const Data& data, std::uint64_t seed,
             const Mistake& mistake = {})
      : kernel_(kernel), data_(data), mistake_(mistake), random_(seed) {
    error_manner_ = static_cast<int>(seed % 3);
  }

  std::vector<double> output() {
    std::vector<double> out(data_.queries * data_.value_width);
    for (std::size_t i = 0; i < data_.queries; ++i) row(i, out.data() + i * data_.value_width);
    return out;
  }

 private:
  double r(Format format, double x) const { return round_to(format, x); }

  // A sum of products by tensor cores: blocks of them, each addend cut off at the last of so many
  // bits of the largest, their sum cut off too.
  static double cut(double x, int exponent, int bits) {
    const int last = std::max(exponent - bits + 1, -149);
    return std::ldexp(std::trunc(std::ldexp(x, -last)), last);
  }
  static int exponent_of(double x) { return x == 0 ? -1000 : std::ilogb(x); }
  double add_cut(double sum, const double* terms, std::size_t count, int bits) const {
    const auto block = static_cast<std::size_t>(kernel_.block);
    for (std::size_t begin = 0; begin < count; begin += block) {
      const std::size_t end = std::min(count, begin + block);
      int exponent = exponent_of(sum);
      for (std::size_t n = begin; n < end; ++n)
        exponent = std::max(exponent, exponent_of(terms[n]));
      double total = cut(sum, exponent, bits);
      for (std::size_t n = begin; n < end; ++n) total += cut(terms[n], exponent, bits);
      sum = cut(total, exponent_of(total), bits);
    }
    return sum;
  }
  double add(double sum, std::vector<double>& terms, Format format, int bits) const {
    if (bits != 0) return add_cut(sum, terms.data(), terms.size(), bits);
    for (const double term : terms) sum = r(format, sum + r(format, term));
    return sum;
  }

  // e^x, x <= 0 but for rounding.
  double exponential(double x) {
    double e;
    if (kernel_.fast_exp2) {
      const double argument = r(Format::f32, x * static_cast<double>(1.44269504f));
      e = std::exp2(argument) * (1 + 0.74 * 0x1p-22 * error());
      e = r(Format::f32, e);
      return e < 0x1p-126 ? 0 : e;
    }
    return r(kernel_.softmax, std::exp(x));
  }
  // Within −1 and 1: of every sign, of one, of alternating ones.
  double error() {
    if (error_manner_ == 0) return std::uniform_real_distribution<double>(-1, 1)(random_);
    if (error_manner_ == 1) return 1;
    return sign_ = -sign_;
  }

  std::size_t visible(std::size_t i) const {
    std::size_t keys = data_.keys;
    if (data_.causal) keys = data_.keys - data_.queries + i + 1;
    if (mistake_.causal_off_by_one) keys = std::min(data_.keys, keys + 1);
    if (mistake_.drop_last_key && keys > 1) --keys;
    return keys;
  }

  void row(std::size_t i, double* out) {
    const std::size_t d = data_.width, dv = data_.value_width, keys = visible(i);
    const double scale =
        r(kernel_.softmax, (1 + mistake_.scale_error) / std::sqrt(static_cast<double>(d)));
    const std::size_t all = keys + mistake_.padded_keys + (mistake_.count_last_key_twice ? 1 : 0);
    std::vector<double> scores(all, 0), products(d);
    const auto source = [&](std::size_t j) { return std::min(j, keys - 1); };
    for (std::size_t j = 0; j < all; ++j) {
      if (j >= all - mistake_.padded_keys) continue;
      for (std::size_t t = 0; t < d; ++t)
        products[t] =
            r(kernel_.input, data_.q[i * d + t]) * r(kernel_.input, data_.k[source(j) * d + t]);
      double s = r(kernel_.score, add(0, products, kernel_.sum, kernel_.cut_bits));
      scores[j] = r(kernel_.score, r(kernel_.softmax, s * scale));
    }
    const auto value = [&](std::size_t j, std::size_t t) {
      return j >= all - mistake_.padded_keys ? 0 : r(kernel_.input, data_.v[source(j) * dv + t]);
    };
    const auto weight = [&](double e) {
      if (mistake_.three_bit_weights) {
        const int exponent = exponent_of(e);
        return std::ldexp(std::nearbyint(std::ldexp(e, 3 - exponent)), exponent - 3);
      }
      const double rounded = r(kernel_.weight, e);
      if (!mistake_.cut_weights || rounded <= e) return rounded;
      double below = rounded;  // one number below
      for (double step = rounded * 0x1p-26; below == rounded; step *= 2)
        below = r(kernel_.weight, rounded - step);
      return below;
    };
    const Format sum_format = mistake_.low_precision_sum ? Format::bf16 : kernel_.softmax;

    std::vector<double> sums(dv, 0), terms;
    double maximum = -std::numeric_limits<double>::infinity(), sum = 0;
    const std::size_t tile = kernel_.tile == 0 ? all : kernel_.tile;
    const std::size_t tiles = (all + tile - 1) / tile;
    if (kernel_.normalized) {
      for (const double s : scores) maximum = std::max(maximum, s);
      for (double& s : scores) {
        s = exponential(r(kernel_.softmax, s - maximum));
        sum = r(sum_format, sum + s);
      }
      for (std::size_t t = 0; t < dv; ++t) {
        terms.clear();
        for (std::size_t j = 0; j < all; ++j)
          terms.push_back(weight(r(kernel_.softmax, scores[j] / sum)) * value(j, t));
        out[t] = r(kernel_.output, add(0, terms, kernel_.output_sum, kernel_.output_cut_bits));
      }
      return;
    }
    for (std::size_t n = 0; n < tiles; ++n) {
      const std::size_t at = kernel_.from_last ? tiles - 1 - n : n;
      const std::size_t begin = at * tile, end = std::min(all, begin + tile);
      double highest = maximum;
      for (std::size_t j = begin; j < end; ++j) highest = std::max(highest, scores[j]);
      if (n != 0 && highest > maximum) {
        const double factor = exponential(r(kernel_.softmax, maximum - highest));
        sum = r(sum_format, sum * factor);
        if (!mistake_.no_rescale)
          for (double& x : sums) x = r(kernel_.output_sum, x * factor);
      }
      maximum = highest;
      std::vector<double> weights;
      double of_tile = 0;
      for (std::size_t j = begin; j < end; ++j) {
        const double e = exponential(r(kernel_.softmax, scores[j] - maximum));
        of_tile = r(sum_format, of_tile + e);
        weights.push_back(weight(e));
      }
      sum = r(sum_format, sum + of_tile);
      for (std::size_t t = 0; t < dv; ++t) {
        terms.clear();
        for (std::size_t j = begin; j < end; ++j) terms.push_back(weights[j - begin] * value(j, t));
        sums[t] = add(sums[t], terms, kernel_.output_sum, kernel_.output_cut_bits);
      }
    }
    for (std::size_t t = 0; t < dv; ++t)
      out[t] = r(kernel_.output, r(kernel_.softmax, sums[t] / sum));
  }

  const Kernel& kernel_;
  const Data& data_;
  Mistake mistake_;
  std::mt19937_64 random_;
  int error_manner_;
  double sign_ = 1;
};

// At least one kernel of each preset.
inline std::vector<Kernel> simulated_kernels() {
  using enum Format;
  const auto tensor_core = [](std::string preset, Format array, Format weight, Format output) {
    Kernel kernel{.preset = std::move(preset), .array = array, .output = output};
    kernel.weight = weight;
    kernel.cut_bits = kernel.output_cut_bits = 24;
    kernel.fast_exp2 = true;
    kernel.tile = 64;
    return kernel;
  };
  std::vector<Kernel> kernels;
  for (const std::size_t tile : {std::size_t{0}, std::size_t{16}}) {
    Kernel wide{.preset = "float64", .array = f64, .output = f64, .input = f64, .tile = tile};
    wide.sum = wide.output_sum = wide.score = wide.softmax = wide.weight = f64;
    kernels.push_back(wide);
    kernels.push_back({.preset = "float32", .normalized = tile == 0, .tile = tile});
  }
  kernels.push_back({.preset = "float32-exp2", .fast_exp2 = true, .tile = 64, .from_last = true});
  Kernel tf32_kernel = tensor_core("tensor-core-tf32", f32, tf32, f32);
  tf32_kernel.input = tf32;
  tf32_kernel.block = 4;
  kernels.push_back(tf32_kernel);
  kernels.push_back(tensor_core("tensor-core-f16", f16, f16, f16));
  kernels.push_back(tensor_core("tensor-core-f16", f16, f16, f32));
  kernels.push_back(tensor_core("tensor-core-bf16", bf16, bf16, bf16));
  kernels.back().from_last = true;
  kernels.push_back(tensor_core("tensor-core-bf16", bf16, bf16, f32));
  Kernel half_sums = tensor_core("tensor-core-f16-sums", f16, f16, f16);
  half_sums.cut_bits = half_sums.output_cut_bits = 0;
  half_sums.output_sum = f16;
  kernels.push_back(half_sums);
  kernels.push_back(tensor_core("fp8-e4m3", e4m3, e4m3, bf16));
  kernels.push_back(tensor_core("fp8-e5m2", e5m2, e5m2, f16));
  for (const auto& [preset, format] :
       {std::pair{"fp8-e4m3-hopper", e4m3}, std::pair{"fp8-e5m2-hopper", e5m2}}) {
    Kernel kernel = tensor_core(preset, format, format, bf16);
    kernel.cut_bits = kernel.output_cut_bits = 14;
    kernel.block = 32;
    kernels.push_back(kernel);
  }
  for (const auto& [name, format] : {std::pair{"f16", f16}, std::pair{"bf16", bf16}}) {
    Kernel unfused{.preset = std::string("unfused-") + name, .array = format, .output = format};
    unfused.score = unfused.weight = format;
    unfused.normalized = true;
    kernels.push_back(unfused);
    for (const std::size_t tile : {std::size_t{0}, std::size_t{16}}) {
      Kernel narrow{.preset = std::string("all-") + name, .array = format, .output = format};
      narrow.sum = narrow.output_sum = narrow.score = narrow.softmax = narrow.weight = format;
      narrow.normalized = tile == 0;
      narrow.tile = tile;
      kernels.push_back(narrow);
    }
  }
  return kernels;
}

enum class Kind { random, peaky, flat, equal, two_level, sink, cancelling, sorted, rising, offset };
inline constexpr std::pair<Kind, const char*> kinds[] = {
    {Kind::random, "random"},         {Kind::peaky, "peaky"},         {Kind::flat, "flat"},
    {Kind::equal, "equal"},           {Kind::two_level, "two-level"}, {Kind::sink, "sink"},
    {Kind::cancelling, "cancelling"}, {Kind::sorted, "sorted"},       {Kind::rising, "rising"},
    {Kind::offset, "offset"}};

// Numbers of a kind, rounded to the format of the arrays.
inline Data data_of(Kind kind, Format format, std::size_t queries, std::size_t keys,
                    std::size_t width, std::size_t value_width, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Data data{queries, keys, width, value_width, {}, {}, {}};
  const auto fill = [&](std::vector<double>& numbers, std::size_t count, double size) {
    numbers.resize(count);
    for (double& x : numbers) x = size * normal(random);
  };
  fill(data.q, queries * width, kind == Kind::peaky ? 6 : kind == Kind::flat ? 1e-2 : 1);
  fill(data.k, keys * width, 1);
  fill(data.v, keys * value_width, 1);
  const auto key = [&](std::size_t j) { return data.k.data() + j * width; };
  const auto value = [&](std::size_t j) { return data.v.data() + j * value_width; };
  // queries near one direction, so that what is arranged for one holds for all
  std::vector<double> direction(width);
  for (double& x : direction) x = normal(random);
  const bool arranged =
      kind == Kind::two_level || kind == Kind::sink || kind == Kind::sorted || kind == Kind::rising;
  if (arranged)
    for (std::size_t i = 0; i < queries; ++i)
      for (std::size_t t = 0; t < width; ++t)
        data.q[i * width + t] = direction[t] + 0.01 * data.q[i * width + t];
  const double root = std::sqrt(static_cast<double>(width));
  for (std::size_t j = 0; j < keys; ++j)
    for (std::size_t t = 0; t < width; ++t) {
      double& x = key(j)[t];
      if (kind == Kind::equal) x = key(0)[t];
      if (kind == Kind::two_level) x = direction[t] * (j % 2 ? 0.3 / root : 1 / root);
      if (kind == Kind::sink && j == 0) x = 12 / root * direction[t];
      if (kind == Kind::rising)
        x = direction[t] * 8 / root * static_cast<double>(j) / static_cast<double>(keys);
    }
  for (std::size_t j = 0; j < keys; ++j)
    for (std::size_t t = 0; t < value_width; ++t) {
      if (kind == Kind::cancelling && j % 2)
        value(j)[t] = -value(j - 1)[t] * (1 + 1e-3 * normal(random));
      if (kind == Kind::offset) value(j)[t] += 10;
    }
  for (auto* numbers : {&data.q, &data.k, &data.v})
    for (double& x : *numbers) x = round_to(format, x);
  if (kind == Kind::sorted) {  // the larger the score, the larger the value
    std::vector<std::pair<double, std::size_t>> order(keys);
    for (std::size_t j = 0; j < keys; ++j) {
      double s = 0;
      for (std::size_t t = 0; t < width; ++t) s += direction[t] * key(j)[t];
      order[j] = {s, j};
    }
    std::sort(order.begin(), order.end());
    std::vector<double> column(keys);
    for (std::size_t t = 0; t < value_width; ++t) {
      for (std::size_t j = 0; j < keys; ++j) column[j] = value(j)[t];
      std::sort(column.begin(), column.end());
      for (std::size_t n = 0; n < keys; ++n) value(order[n].second)[t] = column[n];
    }
  }
  return data;
}

}  // namespace attest::test
