// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/format/bad_input.hpp>
#include <attest/format/onnx.hpp>

namespace attest::format {
namespace {

[[noreturn]] void refuse(const std::filesystem::path& name) {
  fail(printable_path(name),
       "cannot be read: attest was built without ONNX support, which needs protoc, protobuf and "
       "onnx/onnx.proto");
}

}  // namespace

const bool reads_onnx = false;

OnnxTensor parse_onnx_tensor(std::span<const std::byte>, const std::filesystem::path& name) {
  refuse(name);
}

OnnxModel parse_onnx_model(std::span<const std::byte>, const std::filesystem::path& name) {
  refuse(name);
}

OnnxModel load_onnx_model(const std::filesystem::path& path) {
  refuse(path);
}

OnnxCall load_onnx_call(const OnnxModel&, const std::filesystem::path& inputs,
                        const std::filesystem::path&) {
  refuse(inputs);
}

}  // namespace attest::format
