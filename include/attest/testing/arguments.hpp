// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Arguments: a call as spans, for a function of one's own; and a subject made of such a function.
//
// Around each output lie numbers that must stay as they are, before it NaN that must be written
// over, and around each input NaN that must not be read.
#pragma once
#include <attest/formats.hpp>
#include <attest/oracle/dialect.hpp>
#include <attest/testing/editable_call.hpp>
#include <attest/testing/subject.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace attest::testing {

// All arrays in C order: q is (batch, query head, query, width), k and v (batch, key/value head,
// key, width and value width), out as q with the value width. What a call does not ask for is
// empty, 0 or as its comment says.
template <class T>
struct Arguments {
  std::size_t batches = 1, query_heads = 1, key_value_heads = 1;
  std::size_t queries = 0, keys = 0, width = 0, value_width = 0;
  std::span<const T> q, k, v;
  std::span<T> out;

  double scale = 1;  // what multiplies q·k: 1/√width unless the call gives another
  double softcap = 0;
  // Query i of batch entry b stands at position i + offsets[b] among the keys.
  std::span<const long> offsets;
  bool causal = false;  // keys after the query's position are hidden
  // And those further before and after it than this; −1: none.
  long window_left = -1, window_right = -1;
  bool tiled_heads = false;              // query head h reads head h mod key_value_heads
  std::span<const std::uint8_t> mask;    // (batch, query head, query, key): 1 = attend
  std::span<const T> bias;               // the same: added to the scores
  std::span<const float> sinks, slopes;  // (query head)
  std::span<const std::size_t> lengths;  // (batch): keys that count
  std::span<float> log_sum_exp;          // (batch, query head, query)

  std::span<const T> d_out;
  std::span<T> d_q, d_k, d_v;
  std::span<T> d_sinks;  // (query head)

  // A head's rows.
  std::span<const T> q_of(std::size_t b, std::size_t h) const {
    return q.subspan((b * query_heads + h) * queries * width, queries * width);
  }
  std::span<const T> k_of(std::size_t b, std::size_t h) const {
    return k.subspan((b * key_value_heads + head_of(h)) * keys * width, keys * width);
  }
  std::span<const T> v_of(std::size_t b, std::size_t h) const {
    return v.subspan((b * key_value_heads + head_of(h)) * keys * value_width, keys * value_width);
  }
  std::span<T> out_of(std::size_t b, std::size_t h) const {
    return out.subspan((b * query_heads + h) * queries * value_width, queries * value_width);
  }
  // The key/value head that query head h reads.
  std::size_t head_of(std::size_t h) const {
    return tiled_heads ? h % key_value_heads : h / (query_heads / key_value_heads);
  }
};

// The element type that a C++ type is stored as.
template <class T>
inline constexpr ElementType element_type_of = [] {
  static_assert(sizeof(T) == 0, "no element type is known for this C++ type: specialise it");
  return ElementType::float32;
}();
template <>
inline constexpr ElementType element_type_of<float> = ElementType::float32;
template <>
inline constexpr ElementType element_type_of<double> = ElementType::float64;
template <>
inline constexpr ElementType element_type_of<float16> = ElementType::float16;
template <>
inline constexpr ElementType element_type_of<bfloat16> = ElementType::bfloat16;

namespace detail {

// An array with NaN, or a number of its own, on both sides.
template <class T>
class Guarded {
 public:
  Guarded() = default;
  static Guarded input(const oracle::Tensor& array) {
    Guarded made(array.size());
    if (array.strides == oracle::Tensor::row_major(array.type, array.shape, array.data).strides) {
      std::memcpy(made.memory_.data() + margin, array.data, array.size() * sizeof(T));
      return made;
    }
    std::size_t n = margin;  // (batch, head, row, column) of heads side by side
    for (std::size_t b = 0; b < array.shape[0]; ++b)
      for (std::size_t h = 0; h < array.shape[1]; ++h)
        for (std::size_t i = 0; i < array.shape[2]; ++i)
          for (std::size_t t = 0; t < array.shape[3]; ++t, ++n)
            std::memcpy(&made.memory_[n], array.data + array.place(b, h, i, t), sizeof(T));
    return made;
  }
  static Guarded output(std::size_t size) { return Guarded(size); }

  std::span<T> span() { return std::span<T>(memory_).subspan(margin, memory_.size() - 2 * margin); }
  std::span<const T> view() const {
    return std::span<const T>(memory_).subspan(margin, memory_.size() - 2 * margin);
  }
  bool margins_are_untouched() const {
    for (std::size_t n = 0; n < margin; ++n)
      for (const T* x : {&memory_[n], &memory_[memory_.size() - 1 - n]}) {
        const auto* bytes = reinterpret_cast<const unsigned char*>(x);
        for (std::size_t b = 0; b < sizeof(T); ++b)
          if (bytes[b] != 0xff) return false;
      }
    return true;
  }

 private:
  static constexpr std::size_t margin = 64;
  // All bits set are NaN in every format of IEEE 754's kind.
  explicit Guarded(std::size_t size) : memory_(size + 2 * margin) {
    std::memset(static_cast<void*>(memory_.data()), 0xff, memory_.size() * sizeof(T));
  }
  std::vector<T> memory_;
};

// One call's arrays for a function of T, until it has answered.
template <class T>
class Arranged {
 public:
  explicit Arranged(const Call& call) : call_(call), problem_(oracle::read_problem(call)) {
    const oracle::Problem& p = problem_;
    arguments.batches = p.batches();
    arguments.query_heads = p.query_heads();
    arguments.key_value_heads = p.key_value_heads();
    arguments.queries = p.queries();
    arguments.keys = p.given_keys();
    arguments.width = p.width();
    arguments.value_width = p.value_width();
    arguments.q = input("q", p.query);
    arguments.k = joined("k", p, &oracle::Problem::read_key, p.width());
    arguments.v = joined("v", p, &oracle::Problem::read_value, p.value_width());
    arguments.out = output<T>("out", outputs_);
    arguments.scale =
        p.rule.scale.by_width ? 1 / std::sqrt(static_cast<double>(p.width())) : p.rule.scale.given;
    arguments.softcap = p.rule.softcap;
    arguments.causal = p.rule.causal;
    for (const long offset : p.offsets) offsets_.push_back(offset + p.rule.offset);
    arguments.offsets = offsets_;
    arguments.window_left = p.rule.window_left;
    arguments.window_right = p.rule.window_right;
    arguments.tiled_heads = p.rule.head_map == HeadMap::tiled;
    for (const double sink : p.sinks) sinks_.push_back(static_cast<float>(sink));
    for (const double slope : p.alibi_slopes) slopes_.push_back(static_cast<float>(slope));
    arguments.sinks = sinks_;
    arguments.slopes = std::span<const float>(slopes_).first(slopes_.empty() ? 0 : p.query_heads());
    lengths_ = p.lengths;
    arguments.lengths = lengths_;
    spread_mask();
    if (call.find("lse") && call.find("lse")->type == ElementType::float32)
      arguments.log_sum_exp = output<float>("lse", statistics_);
    if (p.d_output) arguments.d_out = input("dout", *p.d_output);
    if (p.d_query) arguments.d_q = output<T>("dq", outputs_);
    if (p.d_key) arguments.d_k = output<T>("dk", outputs_);
    if (p.d_value) arguments.d_v = output<T>("dv", outputs_);
    if (p.d_sinks) arguments.d_sinks = output<T>("dsinks", outputs_);
  }

  Arguments<T> arguments;

  Answer answer() {
    for (const auto& [name, guarded] : inputs_)
      if (!guarded.margins_are_untouched()) return Answer::failed("writes beyond " + name);
    oracle::Example filled(call_.dialect);
    filled.call = call_;
    for (const char* name : {"dattn_mask", "present_key", "present_value"})  // not asked for
      filled.call.arrays.erase(name);
    if (const std::string beyond = take(outputs_, filled) + take(statistics_, filled);
        !beyond.empty())
      return Answer::failed("writes beyond " + beyond);
    return Answer::of(std::move(filled));
  }

 private:
  std::span<const T> input(const std::string& name, const oracle::Tensor& array) {
    return (inputs_[name] = Guarded<T>::input(array)).view();
  }
  // Past and new keys or values as one array.
  template <class Read>
  std::span<const T> joined(const std::string& name, const oracle::Problem& p, Read read,
                            std::size_t columns) {
    if (p.past() == 0) return input(name, name == "k" ? p.key : p.value);
    std::vector<double> numbers(p.batches() * p.key_value_heads() * p.given_keys() * columns);
    std::size_t n = 0;
    for (std::size_t b = 0; b < p.batches(); ++b)
      for (std::size_t g = 0; g < p.key_value_heads(); ++g)
        for (std::size_t j = 0; j < p.given_keys(); ++j, n += columns)
          (p.*read)(b, g, j, numbers.data() + n);
    const std::vector<std::byte> bytes = oracle::stored(p.key.type, numbers);
    return input(name, oracle::Tensor::row_major(p.key.type, {numbers.size()}, bytes.data()));
  }
  template <class U>
  std::span<U> output(const std::string& name, std::map<std::string, Guarded<U>>& among) {
    const oracle::Tensor* array = call_.find(name);
    if (!array) return {};
    return (among[name] = Guarded<U>::output(array->size())).span();
  }
  void spread_mask() {
    if (!problem_.mask) return;
    const oracle::Problem& p = problem_;
    const bool boolean = p.mask->type == ElementType::boolean;
    std::vector<double> numbers;
    for (std::size_t b = 0; b < p.batches(); ++b)
      for (std::size_t h = 0; h < p.query_heads(); ++h)
        for (std::size_t i = 0; i < p.queries(); ++i)
          for (std::size_t j = 0; j < p.given_keys(); ++j)
            if (boolean)
              mask_.push_back(p.mask->integer_at(p.mask->at(b, h, i, j)) != 0);
            else
              numbers.push_back(p.mask->number(b, h, i, j));
    arguments.mask = mask_;
    if (boolean) return;
    const std::vector<std::byte> bytes = oracle::stored(p.mask->type, numbers);
    arguments.bias =
        input("attn_mask", oracle::Tensor::row_major(p.mask->type, {numbers.size()}, bytes.data()));
  }
  // The first array beyond which something was written; empty: none.
  template <class U>
  std::string take(std::map<std::string, Guarded<U>>& among, oracle::Example& filled) const {
    for (auto& [name, guarded] : among) {
      if (!guarded.margins_are_untouched()) return name;
      const oracle::Tensor& array = call_.arrays.at(name);
      auto bytes = std::make_shared<std::vector<std::byte>>(array.size() * sizeof(U));
      const oracle::Tensor* const by_heads = name == "out" ? &problem_.output->got : nullptr;
      if (!by_heads || by_heads->rank() != 4 || array.rank() == 4) {
        std::memcpy(bytes->data(), guarded.span().data(), bytes->size());
      } else {
        const U* from = guarded.span().data();
        const std::byte* const origin = array.data;
        for (std::size_t b = 0; b < by_heads->shape[0]; ++b)
          for (std::size_t h = 0; h < by_heads->shape[1]; ++h)
            for (std::size_t i = 0; i < by_heads->shape[2]; ++i)
              for (std::size_t t = 0; t < by_heads->shape[3]; ++t)
                std::memcpy(bytes->data() + (by_heads->data - origin) + by_heads->place(b, h, i, t),
                            from++, sizeof(U));
      }
      filled.call.arrays[name] = oracle::Tensor::row_major(array.type, array.shape, bytes->data());
      filled.memory.push_back(std::move(bytes));
    }
    return {};
  }

  const Call& call_;
  oracle::Problem problem_;
  std::map<std::string, Guarded<T>> inputs_, outputs_;
  std::map<std::string, Guarded<float>> statistics_;
  std::vector<float> sinks_, slopes_;
  std::vector<std::size_t> lengths_;
  std::vector<long> offsets_;
  std::vector<std::uint8_t> mask_;
};

template <class F, class T>
concept TakesArguments = std::is_invocable_v < F&,
        const Arguments<T>
& > ;
template <class F, class T>
concept TakesOneHead = std::is_invocable_v<F&, const T*, const T*, const T*, T*, std::size_t,
                                           std::size_t, std::size_t>;
template <class F, class T>
concept TakesOneHeadWithValueWidth =
    std::is_invocable_v<F&, const T*, const T*, const T*, T*, std::size_t, std::size_t, std::size_t,
                        std::size_t>;
template <class F, class T>
concept TakesSpans =
    std::is_invocable_v<F&, std::span<const T>, std::span<const T>, std::span<const T>,
                        std::span<T>, std::size_t, std::size_t, std::size_t>;

}  // namespace detail

// What a function under test may be: of Arguments; or of one head — q, k, v, out, number of
// queries, number of keys, width, and if it likes the value width — by pointers or by spans.
template <class F, class T>
concept callable_as_attention = detail::TakesArguments<F, T> || detail::TakesOneHead<F, T> ||
    detail::TakesOneHeadWithValueWidth<F, T> || detail::TakesSpans<F, T>;

// A subject that asks `f`, head by head where it takes one head.
template <class T, callable_as_attention<T> F>
Subject subject(F f) {
  return [f = std::move(f)](const Call& call) mutable -> Answer {
    detail::Arranged<T> arranged(call);
    const Arguments<T>& a = arranged.arguments;
    try {
      if constexpr (detail::TakesArguments<F, T>) {
        f(a);
      } else {
        for (std::size_t b = 0; b < a.batches; ++b)
          for (std::size_t h = 0; h < a.query_heads; ++h) {
            const auto q = a.q_of(b, h), k = a.k_of(b, h), v = a.v_of(b, h);
            const auto out = a.out_of(b, h);
            if constexpr (detail::TakesSpans<F, T>)
              f(q, k, v, out, a.queries, a.keys, a.width);
            else if constexpr (detail::TakesOneHeadWithValueWidth<F, T>)
              f(q.data(), k.data(), v.data(), out.data(), a.queries, a.keys, a.width,
                a.value_width);
            else
              f(q.data(), k.data(), v.data(), out.data(), a.queries, a.keys, a.width);
          }
      }
    } catch (const std::exception& thrown) {
      return Answer::failed(std::string("throws ") + thrown.what());
    } catch (...) {
      return Answer::failed("throws");
    }
    return arranged.answer();
  };
}

// Whether `f` takes values as wide as keys only.
template <class F, class T>
inline constexpr bool takes_one_width =
    !detail::TakesArguments<F, T> && !detail::TakesOneHeadWithValueWidth<F, T>;

}  // namespace attest::testing
