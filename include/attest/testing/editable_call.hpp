// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// EditableCall: a call whose arrays can be cut, put in another order and changed, for laws that
// compare two calls and for shrinking.
#pragma once
#include <attest/oracle/fault/example.hpp>
#include <attest/oracle/needle/dialects.hpp>
#include <attest/oracle/needle/side_by_side.hpp>
#include <attest/oracle/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attest::testing {

using oracle::Call;
using oracle::ElementType;
using oracle::Shape;

// What an axis of an array counts.
enum class Axis {
  batch,
  query_head,
  key_value_head,
  query,
  key,
  past,
  all_keys,
  width,
  value_width
};

struct ArrayAxes {
  std::string_view name;
  std::vector<Axis> axes;
  bool is_output = false;
};

// The arrays of calls as oracle::build makes them, q, k and v of four axes.
inline const std::vector<ArrayAxes>& array_axes() {
  using enum Axis;
  static const std::vector<ArrayAxes> known{
      {"q", {batch, query_head, query, width}},
      {"k", {batch, key_value_head, key, width}},
      {"v", {batch, key_value_head, key, value_width}},
      {"past_key", {batch, key_value_head, past, width}},
      {"past_value", {batch, key_value_head, past, value_width}},
      {"attn_mask", {batch, query_head, query, all_keys}},
      {"sinks", {query_head}},
      {"sink_token", {query_head}},
      {"sink", {query_head}},
      {"head_sink", {query_head}},
      {"alibi_slopes", {query_head}},
      {"nonpad_kv_seqlen", {batch}},
      {"seqused_k", {batch}},
      {"seq_len_q", {batch}},
      {"seq_len_kv", {batch}},
      {"seqlens_k", {batch}},
      {"dout", {batch, query_head, query, value_width}},
      {"dlse", {batch, query_head, query}},
      {"out", {batch, query_head, query, value_width}, true},
      {"lse", {batch, query_head, query}, true},
      {"present_key", {batch, key_value_head, all_keys, width}, true},
      {"present_value", {batch, key_value_head, all_keys, value_width}, true},
      {"dq", {batch, query_head, query, width}, true},
      {"dk", {batch, key_value_head, key, width}, true},
      {"dv", {batch, key_value_head, key, value_width}, true},
      {"dsinks", {query_head}, true},
      {"dattn_mask", {batch, query_head, query, all_keys}, true},
  };
  return known;
}
inline const ArrayAxes* find_axes(std::string_view name) {
  for (const ArrayAxes& one : array_axes())
    if (one.name == name) return &one;
  return nullptr;
}

struct EditableArray {
  ElementType type = ElementType::float32;
  Shape shape;
  std::vector<double> numbers;  // in C order
};

// The numbers of an array in C order.
inline std::vector<double> numbers_of(const oracle::Tensor& array) {
  std::vector<double> numbers;
  numbers.reserve(array.size());
  if (array.size() == 0) return numbers;
  std::vector<std::size_t> index(array.rank(), 0);
  while (true) {
    std::ptrdiff_t place = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      place += static_cast<std::ptrdiff_t>(index[axis]) * array.strides[axis];
    numbers.push_back(array.number_at(array.data + place));
    std::size_t axis = index.size();
    while (axis-- > 0) {
      if (++index[axis] < array.shape[axis]) break;
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return numbers;
  }
}

struct EditableCall {
  Call call;                                    // without arrays
  std::map<std::string, EditableArray> arrays;  // by heads, also where the dialect has not

  explicit EditableCall(const Call& from) : call(from) {
    call.arrays.clear();
    for (const auto& [name, array] : from.arrays)
      arrays[name] = {array.type, array.shape, numbers_of(array)};
    if (!heads_side_by_side()) return;
    const std::size_t query_heads = head_count("num_heads", 1);
    const std::size_t key_value_heads = head_count("kv_num_heads", query_heads);
    for (const char* name : oracle::detail::arrays_side_by_side) {
      const auto found = arrays.find(name);
      if (found == arrays.end() || found->second.shape.size() != 3) continue;
      EditableArray& array = found->second;
      const bool of_queries = name[0] == 'q' || name[0] == 'o';
      const std::size_t heads = of_queries ? query_heads : key_value_heads;
      const Shape split{array.shape[0], array.shape[1], heads, array.shape[2] / heads};
      array.numbers = oracle::detail::middle_axes_exchanged(array.numbers, split);
      array.shape = {split[0], split[2], split[1], split[3]};
    }
    call.attributes.erase("num_heads");  // as the shapes say
    call.attributes.erase("kv_num_heads");
  }
  // The call again, each number rounded to its array's type.
  oracle::Example example() const {
    oracle::Example made(call.dialect);
    made.call = call;
    for (const auto& [name, array] : arrays)
      made.array(name, array.shape, array.numbers, array.type);
    if (!heads_side_by_side()) return made;
    made.option("num_heads", static_cast<std::int64_t>(extent(Axis::query_head)));
    if (oracle::find_recipe_dialect(call.dialect)->features.grouped_heads)
      made.option("kv_num_heads", static_cast<std::int64_t>(extent(Axis::key_value_head)));
    oracle::detail::put_heads_side_by_side(made);
    return made;
  }

  bool has(const std::string& name) const { return arrays.count(name) != 0; }
  EditableArray& operator[](const std::string& name) { return arrays.at(name); }
  const EditableArray& at(const std::string& name) const { return arrays.at(name); }

  std::size_t extent(Axis axis) const {
    for (const ArrayAxes& one : array_axes()) {
      const auto found = arrays.find(std::string(one.name));
      if (found == arrays.end() || one.name == "attn_mask" || one.name == "dattn_mask") continue;
      for (std::size_t n = 0; n < one.axes.size() && n < found->second.shape.size(); ++n)
        if (one.axes[n] == axis) return found->second.shape[n];
    }
    return 0;
  }
  std::size_t past() const { return has("past_key") ? at("past_key").shape[2] : 0; }
  std::size_t all_keys() const { return past() + extent(Axis::key); }

  // Keeps the places `chosen` of an axis, in that order, in every array that has it; an axis that a
  // mask broadcasts is left.
  void choose(Axis axis, const std::vector<std::size_t>& chosen) {
    for (const ArrayAxes& one : array_axes()) {
      const auto found = arrays.find(std::string(one.name));
      if (found == arrays.end()) continue;
      for (std::size_t n = 0; n < one.axes.size() && n < found->second.shape.size(); ++n)
        if (one.axes[n] == axis && found->second.shape[n] > 1)
          choose(found->second, n, chosen);
        else if (one.axes[n] == axis && one.name != "attn_mask" && one.name != "dattn_mask")
          choose(found->second, n, chosen);
    }
  }
  // Keys of past and new ones together, the past not touched unless it is empty.
  void choose_keys(const std::vector<std::size_t>& chosen) {
    choose(Axis::key, chosen);
    std::vector<std::size_t> all;
    for (std::size_t j = 0; j < past(); ++j) all.push_back(j);
    for (const std::size_t j : chosen) all.push_back(past() + j);
    choose(Axis::all_keys, all);
  }

  // Whether keys count up to a length of each batch entry.
  bool has_lengths() const {
    return std::any_of(std::begin(length_names), std::end(length_names),
                       [&](const char* name) { return has(name); });
  }

  static void choose(EditableArray& array, std::size_t axis,
                     const std::vector<std::size_t>& chosen) {
    std::size_t before = 1, after = 1;
    for (std::size_t n = 0; n < axis; ++n) before *= array.shape[n];
    for (std::size_t n = axis + 1; n < array.shape.size(); ++n) after *= array.shape[n];
    const std::size_t extent = array.shape[axis];
    std::vector<double> numbers;
    numbers.reserve(before * chosen.size() * after);
    for (std::size_t b = 0; b < before; ++b)
      for (const std::size_t place : chosen)
        for (std::size_t a = 0; a < after; ++a)
          numbers.push_back(array.numbers[(b * extent + place) * after + a]);
    array.shape[axis] = chosen.size();
    array.numbers = std::move(numbers);
  }

 private:
  static constexpr const char* length_names[] = {"nonpad_kv_seqlen", "seqused_k", "seq_len_kv",
                                                 "seqlens_k"};
  bool heads_side_by_side() const {
    const oracle::RecipeDialect* dialect = oracle::find_recipe_dialect(call.dialect);
    return dialect && dialect->heads_side_by_side;
  }
  std::size_t head_count(const std::string& option, std::size_t otherwise) const {
    const auto found = call.attributes.find(option);
    const auto* heads =
        found == call.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return heads && *heads > 0 ? static_cast<std::size_t>(*heads) : otherwise;
  }
};

// 0, 1, … n − 1.
inline std::vector<std::size_t> counted(std::size_t n, std::size_t from = 0) {
  std::vector<std::size_t> numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = from + i;
  return numbers;
}

}  // namespace attest::testing
