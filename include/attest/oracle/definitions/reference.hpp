// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Reference, step by step.
#pragma once
#include <attest/oracle/dialect.hpp>
#include <attest/oracle/padded_rows.hpp>
#include <attest/oracle/reference.hpp>
#include <attest/oracle/row_reference.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {

namespace detail {

// What out should look like by q, k and v; nothing where they are no call, which the dialect says
// better.
inline std::optional<Shape> shape_of_output(const Call& call) {
  const Tensor* q = call.find("q");
  const Tensor* v = call.find("v");
  if (!q || !v || q->rank() == 0 || v->rank() == 0) return std::nullopt;
  Shape shape = q->shape;
  shape.back() = v->shape.back();
  const auto heads = [&](const char* name) -> std::size_t {
    const auto found = call.attributes.find(name);
    const auto* integer =
        found == call.attributes.end() ? nullptr : std::get_if<std::int64_t>(&found->second);
    return integer && *integer > 0 && *integer <= INT32_MAX ? static_cast<std::size_t>(*integer)
                                                            : 0;
  };
  const bool onnx = call.dialect.starts_with("onnx"), gqa = call.dialect == "ort-gqa";
  if (q->rank() == 3 && (onnx || gqa)) {  // (batch, query, head·column)
    const std::size_t key_value_heads = heads("kv_num_heads");
    if (key_value_heads == 0) return std::nullopt;
    shape.back() = v->shape.back() / key_value_heads * heads(onnx ? "q_num_heads" : "num_heads");
  }
  return shape;
}

// The outputs of one call while they are made: arrays, and the call's reading with them in the
// place of the subject's.
class ReferenceArrays {
 public:
  ReferenceArrays(const Call& call, const ReferenceOptions& options) {
    Call with_outputs = call;
    const Tensor* q = call.find("q");
    const std::optional<Shape> output_shape = shape_of_output(call);
    for (const char* name : {"out", "qk_matmul_output", "present_key", "present_value"}) {
      const Tensor* given = call.find(name);
      const bool is_output = name == std::string("out");
      if (!given && !(is_output && output_shape)) continue;
      ReferenceArray array;
      array.name = name;
      array.shape = given ? given->shape : *output_shape;
      array.type = given ? given->type : q->type;
      if (name == std::string("present_key"))
        array.type = type_of(call, "k", array.type);
      else if (name == std::string("present_value"))
        array.type = type_of(call, "v", array.type);
      else if (options.type)
        array.type = *options.type;
      arrays.push_back(std::move(array));
    }
    // Shapes are checked against the inputs before memory is taken for them.
    for (const ReferenceArray& array : arrays)
      with_outputs.arrays[array.name] = Tensor::row_major(array.type, array.shape, nullptr);
    problem = read_problem(with_outputs);
    for (ReferenceArray& array : arrays) {
      const std::size_t elements = element_count(array.shape);
      array.bytes.resize(elements * facts(array.type).bytes);
      array.elements.resize(elements);
    }
  }

  std::vector<ReferenceArray> arrays;
  Problem problem;

  ReferenceArray* find(const std::string& name) {
    for (ReferenceArray& array : arrays)
      if (array.name == name) return &array;
    return nullptr;
  }

 private:
  static ElementType type_of(const Call& call, const char* name, ElementType otherwise) {
    const Tensor* found = call.find(name);
    return found ? found->type : otherwise;
  }
};

// Puts elements of one array where its view has them.
class ReferenceWriter {
 public:
  ReferenceWriter(ReferenceArray& array, const Tensor& view) : array_(array), view_(view) {}

  void put(const std::array<std::size_t, 4>& index, const ReferenceElement& element) {
    const std::size_t place = note(index, element);
    std::byte* to = array_.bytes.data() + place;
    switch (array_.type) {
      case ElementType::float64:
        std::memcpy(to, &element.value, 8);
        break;
      case ElementType::float32: {
        const auto value = static_cast<float>(element.value);
        std::memcpy(to, &value, 4);
        break;
      }
      default: {
        const std::size_t bytes = facts(array_.type).bytes;
        const std::uint16_t bits =
            encode(element.value, *view_.format(), static_cast<int>(8 * bytes));
        std::memcpy(to, &bits, bytes);  // little-endian
      }
    }
  }
  // The element of an input, bit for bit.
  void copy(const std::array<std::size_t, 4>& index, const Tensor& from,
            const std::byte* position) {
    ReferenceElement element;
    element.value = from.number_at(position);
    element.certificate = Certificate::copied;
    std::memcpy(array_.bytes.data() + note(index, element), position, facts(array_.type).bytes);
  }

 private:
  // Keeps what is known of the element; returns where its bytes lie.
  std::size_t note(const std::array<std::size_t, 4>& index, const ReferenceElement& element) {
    const auto place =
        static_cast<std::size_t>(view_.place(index[0], index[1], index[2], index[3]));
    array_.elements[place / facts(array_.type).bytes] = element;
    ++array_.count[static_cast<std::size_t>(element.certificate)];
    if (element.certificate != Certificate::not_certified)
      array_.widest = std::max(array_.widest, element.width);
    return place;
  }

  ReferenceArray& array_;
  const Tensor& view_;
};

// Zero where a padded row is that; nothing certifies a row that the definition leaves open.
inline void write_padded_row(const Problem& problem, std::size_t b, std::size_t h, std::size_t i,
                             std::optional<ReferenceWriter>& output) {
  if (problem.padded_row == PaddedRow::absent || !output) return;
  ReferenceElement element;
  element.special = padded_row_returns(problem);
  if (element.special.zero) element.certificate = Certificate::special;
  for (std::size_t t = 0; t < problem.value_width(); ++t) output->put({b, h, i, t}, element);
}

inline void write_rows(const Problem& problem, ReferenceArrays& result) {
  const std::size_t width = problem.width(), keys = problem.keys();
  const std::size_t value_width = problem.output ? problem.value_width() : 0;
  std::vector<double> query(width), key(keys * width), value(keys * value_width), bias(keys);
  const RowData row{query.data(), key.data(), value.data(), bias.data(), width, value_width, keys};
  std::optional<ReferenceWriter> output, scores;
  if (problem.output) output.emplace(*result.find("out"), problem.output->got);
  if (problem.scores) scores.emplace(*result.find("qk_matmul_output"), problem.scores->got);
  RowReference reference(problem, output ? problem.output->got.format() : nullptr,
                         scores ? problem.scores->got.format() : nullptr);
  for (std::size_t b = 0; b < problem.batches(); ++b)
    for (std::size_t g = 0; g < problem.key_value_heads(); ++g) {
      for (std::size_t j = 0; j < keys; ++j) {
        problem.read_key(b, g, j, key.data() + j * width);
        if (output) problem.read_value(b, g, j, value.data() + j * value_width);
      }
      for (std::size_t h = 0; h < problem.query_heads(); ++h) {
        if (problem.key_value_head_of(h) != g) continue;
        for (std::size_t i = 0; i < problem.queries(); ++i) {
          if (problem.padded(b, i)) {
            write_padded_row(problem, b, h, i, output);
            continue;
          }
          problem.query.read_row(b, h, i, query.data());
          for (std::size_t j = 0; j < keys; ++j) bias[j] = problem.bias(b, h, i, j);
          reference.compute(row);
          for (std::size_t t = 0; t < reference.outputs.size(); ++t)
            output->put({b, h, i, t}, reference.outputs[t]);
          for (std::size_t j = 0; j < reference.scores.size(); ++j)
            scores->put({b, h, i, j}, reference.scores[j]);
        }
      }
    }
}

inline void write_present(const std::optional<Claim>& claim, const std::optional<Tensor>& past,
                          const Tensor& current, ReferenceArrays& result) {
  if (!claim) return;
  if (past && past->type != current.type)
    throw BadCall("array \"" +
                  std::string(claim->name == "present_key" ? "past_key" : "past_value") +
                  "\": found " + std::string(facts(past->type).name) + ", expected " +
                  std::string(facts(current.type).name) + " as what is appended");
  ReferenceWriter writer(*result.find(claim->name), claim->got);
  const std::size_t past_rows = past ? past->shape[2] : 0;
  const Shape& shape = claim->got.shape;
  for (std::size_t b = 0; b < shape[0]; ++b)
    for (std::size_t h = 0; h < shape[1]; ++h)
      for (std::size_t j = 0; j < shape[2]; ++j)
        for (std::size_t t = 0; t < shape[3]; ++t) {
          const Tensor& from = j < past_rows ? *past : current;
          writer.copy({b, h, j, t}, from, from.at(b, h, j < past_rows ? j : j - past_rows, t));
        }
}

}  // namespace detail

ATTEST_ORACLE_INLINE std::vector<ReferenceArray> reference(const Call& call,
                                                           const ReferenceOptions& options) {
  detail::ReferenceArrays result(call, options);
  const Problem& problem = result.problem;
  if (problem.output || problem.scores) detail::write_rows(problem, result);
  detail::write_present(problem.present_key, problem.past_key, problem.key, result);
  detail::write_present(problem.present_value, problem.past_value, problem.value, result);
  return std::move(result.arrays);
}

}  // namespace attest::oracle
