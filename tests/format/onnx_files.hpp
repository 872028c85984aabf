// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ONNX files for tests: tiny tests of the operator Attention, made by protobuf.
#pragma once
#include <onnx/onnx.pb.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "files.hpp"

namespace files {

template <class T>
onnx::TensorProto onnx_tensor(const std::string& name, int type,
                              const std::vector<std::int64_t>& dims,
                              const std::vector<T>& elements) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t extent : dims) tensor.add_dims(extent);
  tensor.set_raw_data(in_memory(elements));
  return tensor;
}

// A model of one Attention node with these inputs and outputs, "" for one that is left out; all are
// float32 but nonpad_kv_seqlen.
inline onnx::ModelProto onnx_model(const std::vector<std::string>& inputs = {"Q", "K", "V"},
                                   const std::vector<std::string>& outputs = {"Y"},
                                   std::int64_t version = 24) {
  onnx::ModelProto model;
  model.set_ir_version(11);
  onnx::OperatorSetIdProto* set = model.add_opset_import();
  set->set_domain("");
  set->set_version(version);
  onnx::GraphProto* graph = model.mutable_graph();
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type("Attention");
  const auto declare = [](const std::string& name, onnx::ValueInfoProto* value) {
    value->set_name(name);
    value->mutable_type()->mutable_tensor_type()->set_elem_type(name == "nonpad_kv_seqlen" ? 7 : 1);
  };
  for (const std::string& name : inputs) {
    node->add_input(name);
    if (!name.empty()) declare(name, graph->add_input());
  }
  for (const std::string& name : outputs) {
    node->add_output(name);
    if (!name.empty()) declare(name, graph->add_output());
  }
  return model;
}

inline void add_integer(onnx::ModelProto& model, const std::string& name, std::int64_t value) {
  onnx::AttributeProto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

inline void add_number(onnx::ModelProto& model, const std::string& name, float value) {
  onnx::AttributeProto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(value);
}

// One query of two equal keys, whose values 1 and 2 have the mean 1.5.
struct MeanOfTwo {
  onnx::ModelProto model = onnx_model();
  onnx::TensorProto q = onnx_tensor<float>("Q", 1, {1, 1, 1, 1}, {3});
  onnx::TensorProto k = onnx_tensor<float>("K", 1, {1, 1, 2, 1}, {5, 5});
  onnx::TensorProto v = onnx_tensor<float>("V", 1, {1, 1, 2, 1}, {1, 2});
  onnx::TensorProto y = onnx_tensor<float>("Y", 1, {1, 1, 1, 1}, {1.5f});

  // Into `test` of the folder, which it makes.
  void write(const Folder& folder, const std::string& test = "") const {
    const std::string in = test.empty() ? "" : test + "/";
    const std::string set = in + "test_data_set_0/";
    std::filesystem::create_directories(folder.path() / set);
    folder.write(in + "model.onnx", model.SerializeAsString());
    folder.write(set + "input_0.pb", q.SerializeAsString());
    folder.write(set + "input_1.pb", k.SerializeAsString());
    folder.write(set + "input_2.pb", v.SerializeAsString());
    folder.write(set + "output_0.pb", y.SerializeAsString());
  }
};

}  // namespace files
