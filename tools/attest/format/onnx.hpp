// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ONNX: a node test of the operator Attention — a model of one node, and the tensors of its inputs
// and outputs in files beside it.
#pragma once
#include <attest/oracle/call.hpp>

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace attest::format {

// Whether attest was built with protobuf and ONNX's definition of its files. If not, every function
// here throws BadInput, which says so.
extern const bool reads_onnx;

// A model of one node needs a page; more is a mistake, and protobuf's objects take up to a hundred
// times the bytes of a file that is made for it.
inline constexpr std::size_t most_model_bytes = std::size_t{1} << 20;

// A tensor with its elements in C order, little-endian.
struct OnnxTensor {
  std::string name;  // may be empty
  oracle::ElementType type = oracle::ElementType::float32;
  oracle::Shape shape;
  std::vector<std::byte> data;

  // Valid while this tensor or one moved from it lives.
  oracle::Tensor view() const { return oracle::Tensor::row_major(type, shape, data.data()); }
};

// What a file input_N.pb or output_N.pb of the test holds.
struct OnnxSlot {
  std::string name;   // in the model
  std::string array;  // by the capture format's names: q, k, v, …; empty: the node does not use it
  int type = 0;       // TensorProto.DataType; 0: the model does not say
};

struct OnnxModel {
  std::string dialect;  // onnx-23, onnx-24 or onnx-25
  std::map<std::string, oracle::Attribute> attributes;
  std::vector<OnnxSlot> inputs, outputs;        // in the order of the files
  std::map<std::string, OnnxTensor> constants;  // initializers, by the capture format's names
};

// A readable model that is something else than one node of the operator Attention.
struct OtherModel : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// One set of tensors as a call whose outputs are those of the files. Movable, not copyable: the
// call looks into `buffers`.
struct OnnxCall {
  oracle::Call call;
  std::map<std::string, OnnxTensor> buffers;

  OnnxCall() = default;
  OnnxCall(OnnxCall&&) = default;
  OnnxCall& operator=(OnnxCall&&) = default;
};

// Each throws BadInput where the bytes are not what they should be; `name` serves messages. Memory
// stays in proportion to the bytes.
OnnxTensor parse_onnx_tensor(std::span<const std::byte> bytes, const std::filesystem::path& name);
OnnxModel parse_onnx_model(std::span<const std::byte> bytes, const std::filesystem::path& name);

OnnxModel load_onnx_model(const std::filesystem::path& path);

// The inputs out of one folder and the outputs out of another, or the same.
OnnxCall load_onnx_call(const OnnxModel& model, const std::filesystem::path& inputs,
                        const std::filesystem::path& outputs);

}  // namespace attest::format
