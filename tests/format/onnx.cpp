// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// ONNX's files: what is read of models and tensors, what is refused and in which words, and that
// damage leads to nothing else.
#include "catch.hpp"

#include <attest/format/onnx.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "onnx_files.hpp"

namespace {

using namespace attest;
using files::onnx_model;
using files::onnx_tensor;
using format::OnnxModel;
using format::OnnxTensor;
using oracle::ElementType;

OnnxTensor read(const onnx::TensorProto& tensor) {
  return format::parse_onnx_tensor(files::as_bytes(tensor.SerializeAsString()), "x.pb");
}
OnnxModel read(const onnx::ModelProto& model) {
  return format::parse_onnx_model(files::as_bytes(model.SerializeAsString()), "x.onnx");
}

std::string refusal(const onnx::TensorProto& tensor) {
  return files::refusal([&] { read(tensor); });
}
std::string refusal(const onnx::ModelProto& model) {
  return files::refusal([&] { read(model); });
}

bool says(const std::string& message, const std::string& words) {
  const bool found = message.find(words) != std::string::npos;
  if (!found) UNSCOPED_INFO(message);
  return found;
}

std::vector<double> numbers(const OnnxTensor& tensor) {
  std::vector<double> result;
  const std::size_t bytes = oracle::facts(tensor.type).bytes;
  for (std::size_t i = 0; i < oracle::element_count(tensor.shape); ++i)
    result.push_back(tensor.view().number_at(tensor.data.data() + i * bytes));
  return result;
}

}  // namespace

TEST_CASE("tensors of raw bytes, of every type that is read") {
  const OnnxTensor tensor = read(onnx_tensor<float>("Q", 1, {2, 3}, {1, 2, 3, 4, 5, -6}));
  CHECK(tensor.name == "Q");
  CHECK(tensor.type == ElementType::float32);
  CHECK(tensor.shape == oracle::Shape{2, 3});
  CHECK(numbers(tensor) == std::vector<double>{1, 2, 3, 4, 5, -6});
  // the bits of 1, by the formats' definitions
  CHECK(numbers(read(onnx_tensor<std::uint16_t>("", 10, {1}, {0x3c00}))) == std::vector<double>{1});
  CHECK(numbers(read(onnx_tensor<std::uint16_t>("", 16, {1}, {0x3f80}))) == std::vector<double>{1});
  CHECK(numbers(read(onnx_tensor<std::uint8_t>("", 17, {1}, {0x38}))) == std::vector<double>{1});
  CHECK(numbers(read(onnx_tensor<std::uint8_t>("", 19, {1}, {0x3c}))) == std::vector<double>{1});
  CHECK(numbers(read(onnx_tensor<double>("", 11, {1}, {0.1}))) == std::vector<double>{0.1});
  CHECK(numbers(read(onnx_tensor<std::int64_t>("", 7, {1}, {-9}))) == std::vector<double>{-9});
  CHECK(numbers(read(onnx_tensor<std::uint8_t>("", 9, {2}, {0, 1}))) == std::vector<double>{0, 1});
  CHECK(read(onnx_tensor<float>("", 1, {}, {7})).shape.empty());
  CHECK(read(onnx_tensor<float>("", 1, {2, 0, 3}, {})).data.empty());
}

TEST_CASE("tensors in the fields of their types") {
  onnx::TensorProto tensor;
  tensor.add_dims(2);
  const auto with = [&](int type, auto&& add) {
    onnx::TensorProto filled = tensor;
    filled.set_data_type(type);
    add(filled);
    return filled;
  };
  const auto int32s = [](std::int32_t a, std::int32_t b) {
    return [=](onnx::TensorProto& t) { t.add_int32_data(a), t.add_int32_data(b); };
  };
  const auto is = [](const onnx::TensorProto& t, std::vector<double> expected) {
    CHECK(numbers(read(t)) == expected);
  };
  is(with(1, [](auto& t) { t.add_float_data(1), t.add_float_data(2.5f); }), {1, 2.5});
  is(with(11, [](auto& t) { t.add_double_data(1), t.add_double_data(0.1); }), {1, 0.1});
  is(with(7, [](auto& t) { t.add_int64_data(-1), t.add_int64_data(4); }), {-1, 4});
  is(with(13, [](auto& t) { t.add_uint64_data(1), t.add_uint64_data(4); }), {1, 4});
  is(with(12, [](auto& t) { t.add_uint64_data(1), t.add_uint64_data(4); }), {1, 4});
  is(with(6, int32s(-1, 70000)), {-1, 70000});
  is(with(5, int32s(-1, 300)), {-1, 300});
  is(with(3, int32s(-1, 100)), {-1, 100});
  is(with(2, int32s(255, 0)), {255, 0});
  is(with(9, int32s(1, 0)), {1, 0});
  is(with(10, int32s(0x3c00, 0x4000)), {1, 2});
  CHECK(says(refusal(with(10, int32s(0x3c00, 0x14000))), "more than its type does"));
  CHECK(says(refusal(with(9, int32s(2, 0))), "a bool is 0 or 1"));
  CHECK(says(refusal(with(1, int32s(1, 2))), "holds 0"));  // not the field of its type
}

TEST_CASE("tensors that are refused, and why") {
  CHECK(files::refusal([] { format::parse_onnx_tensor({}, "x.pb"); }) ==
        "x.pb: is empty; expected a TensorProto");
  CHECK(files::refusal([] { format::parse_onnx_tensor(files::as_bytes("\xff\xff"), "x.pb"); }) ==
        "x.pb: is no protobuf message; expected a TensorProto");
  CHECK(refusal(onnx_tensor<float>("", 1, {2, 3}, {1})) ==
        "x.pb: claims shape (2, 3) of float32, 24 bytes, but holds 4");
  CHECK(says(refusal(onnx_tensor<float>("", 1, {-1}, {1})), "claims extent -1 of axis 0"));
  const std::int64_t huge = std::int64_t{1} << 40;
  CHECK(says(refusal(onnx_tensor<float>("", 1, {huge, huge}, {1})), "2^63 bytes or more"));
  CHECK(says(refusal(onnx_tensor<float>("", 1, {0, huge}, {})), "more than 2^31 rows"));
  CHECK(says(refusal(onnx_tensor<float>("", 1, std::vector<std::int64_t>(9, 1), {1})), "9 axes"));
  CHECK(says(refusal(onnx_tensor<float>("", 8, {1}, {1})), "of type 8"));
  CHECK(says(refusal(onnx_tensor<std::uint8_t>("", 9, {1}, {7})), "the byte 7"));
  onnx::TensorProto twice = onnx_tensor<float>("", 1, {1}, {1});
  twice.add_float_data(1);
  CHECK(says(refusal(twice), "more than one field"));
  onnx::TensorProto elsewhere = onnx_tensor<float>("", 1, {1}, {1});
  elsewhere.set_data_location(onnx::TensorProto::EXTERNAL);
  CHECK(says(refusal(elsewhere), "elsewhere"));
}

TEST_CASE("a model of one Attention node") {
  onnx::ModelProto model =
      onnx_model({"a", "b", "c", "", "", "", "nonpad_kv_seqlen"}, {"Y", "", "", "scores"}, 25);
  files::add_integer(model, "is_causal", 1);
  files::add_number(model, "softcap", 2.5f);
  const OnnxModel read_model = read(model);
  CHECK(read_model.dialect == "onnx-25");
  CHECK(std::get<std::int64_t>(read_model.attributes.at("is_causal")) == 1);
  CHECK(std::get<double>(read_model.attributes.at("softcap")) == 2.5);
  REQUIRE(read_model.inputs.size() == 4);
  CHECK(read_model.inputs[0].array == "q");
  CHECK(read_model.inputs[2].array == "v");
  CHECK(read_model.inputs[3].array == "nonpad_kv_seqlen");
  REQUIRE(read_model.outputs.size() == 2);
  CHECK(read_model.outputs[1].array == "qk_matmul_output");
}

TEST_CASE("models that are refused, and why") {
  CHECK(says(refusal(onnx_model({"Q", "K", "V"}, {"Y"}, 22)), "operator set 22; expected 23"));
  CHECK(says(refusal(onnx_model({"Q", "K", "V"}, {"Y"}, 26)), "operator set 26"));
  CHECK(says(refusal(onnx_model({"Q", "Q", "V"})), "input \"Q\" twice"));
  CHECK(says(refusal(onnx_model(std::vector<std::string>(8, ""))), "8 inputs"));
  onnx::ModelProto undeclared = onnx_model();
  undeclared.mutable_graph()->mutable_input()->RemoveLast();
  CHECK(says(refusal(undeclared), "input \"V\" of the node is none of the graph's"));
  onnx::ModelProto text = onnx_model();
  files::add_integer(text, "is_causal", 1);
  text.mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_type(
      onnx::AttributeProto::STRING);
  CHECK(says(refusal(text), "\"is_causal\""));
  onnx::ModelProto twice = onnx_model();
  files::add_integer(twice, "is_causal", 1);
  files::add_integer(twice, "is_causal", 0);
  CHECK(says(refusal(twice), "is there twice"));
  onnx::ModelProto other = onnx_model();
  other.mutable_graph()->mutable_node(0)->set_op_type("Add");
  CHECK_THROWS_AS(read(other), format::OtherModel);
  other = onnx_model();
  other.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  CHECK_THROWS_AS(read(other), format::OtherModel);
  other = onnx_model();
  other.mutable_graph()->add_node();
  CHECK_THROWS_AS(read(other), format::OtherModel);
}

TEST_CASE("tensors that are not what the model declares") {
  const files::Folder folder;
  files::MeanOfTwo test;
  const auto loaded = [&] {
    test.write(folder);
    const OnnxModel model = format::load_onnx_model(folder.path() / "model.onnx");
    const auto set = folder.path() / "test_data_set_0";
    return format::load_onnx_call(model, set, set);
  };
  const format::OnnxCall call = loaded();
  CHECK(call.call.arrays.size() == 4);
  CHECK(call.call.arrays.at("v").shape == oracle::Shape{1, 1, 2, 1});
  CHECK(call.call.dialect == "onnx-24");

  test.q.set_name("other");
  CHECK(says(files::refusal(loaded), "input_0.pb: found tensor \"other\", expected \"Q\""));
  test = {};
  test.v.set_data_type(6);
  CHECK(says(files::refusal(loaded), "input_2.pb: found int32, expected float32"));
  test = {};
  test.write(folder);
  std::filesystem::remove(folder.path() / "test_data_set_0" / "output_0.pb");
  CHECK(says(files::refusal([&] {
               const auto set = folder.path() / "test_data_set_0";
               format::load_onnx_call(read(test.model), set, set);
             }),
             "output_0.pb: there is no such file"));

  // a constant of the model stands in for a file
  files::MeanOfTwo constant;
  *constant.model.mutable_graph()->add_initializer() = constant.k;
  constant.write(folder);
  std::filesystem::remove(folder.path() / "test_data_set_0" / "input_1.pb");
  const auto set = folder.path() / "test_data_set_0";
  CHECK(format::load_onnx_call(read(constant.model), set, set).call.arrays.contains("k"));
}

namespace {

// One to three things that happen to the bytes: a bit flips, a byte changes, the end is cut off,
// bytes come or go.
std::string damaged(std::string bytes, std::mt19937_64& random) {
  for (std::uint64_t edits = 1 + random() % 3; edits > 0 && !bytes.empty(); --edits) {
    const std::size_t place = random() % bytes.size();
    switch (random() % 5) {
      case 0:
        bytes[place] = static_cast<char>(bytes[place] ^ (1 << (random() % 8)));
        break;
      case 1:
        bytes[place] = static_cast<char>(random() & 0xff);
        break;
      case 2:
        bytes.resize(place);
        break;
      case 3:
        bytes.insert(place, 1 + random() % 9, static_cast<char>(random() & 0xff));
        break;
      default:
        bytes.erase(place, 1 + random() % 9);
    }
  }
  return bytes;
}

// Whether the bytes were read; if not, that was said in one printable line that names the file.
template <class Read>
bool survives(Read read, const std::string& name) {
  try {
    read();
    return true;
  } catch (const format::OtherModel& other) {
    REQUIRE(std::string(other.what()).starts_with(name + ": "));
    return false;
  } catch (const format::BadInput& bad) {
    const std::string message = bad.what();
    REQUIRE(message.starts_with(name + ": "));
    REQUIRE(message.size() < 500);
    for (const char letter : message) REQUIRE((letter >= 0x20 && letter < 0x7f));
    return false;
  }
}

}  // namespace

TEST_CASE("damaged ONNX files are read or refused, nothing else") {
  files::MeanOfTwo test;
  files::add_integer(test.model, "is_causal", 1);
  files::add_number(test.model, "scale", 0.5f);
  const std::string model = test.model.SerializeAsString();
  const std::string tensor = test.k.SerializeAsString();
  std::mt19937_64 random(1);
  int models_read = 0, tensors_read = 0;
  constexpr int rounds = 3000;
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    // buffers of exactly the size, so that the sanitizers see their ends
    const std::vector<std::byte> some = files::to_bytes(damaged(model, random));
    models_read += survives([&] { format::parse_onnx_model(some, "x.onnx"); }, "x.onnx");
    const std::vector<std::byte> other = files::to_bytes(damaged(tensor, random));
    tensors_read += survives(
        [&] {
          const OnnxTensor read_tensor = format::parse_onnx_tensor(other, "x.pb");
          numbers(read_tensor);  // within its data
        },
        "x.pb");
  }
  // Damage that is always noticed at once, or never, would test little.
  CHECK(models_read > 0);
  CHECK(models_read < rounds / 2);
  CHECK(tensors_read > 0);
  CHECK(tensors_read < rounds / 2);
}

TEST_CASE("every cut of an ONNX file is read or refused, nothing else") {
  const files::MeanOfTwo test;
  const std::string model = test.model.SerializeAsString();
  const std::string tensor = test.k.SerializeAsString();
  for (std::size_t size = 0; size < model.size(); ++size)
    survives([&] { format::parse_onnx_model(files::to_bytes(model.substr(0, size)), "x.onnx"); },
             "x.onnx");
  for (std::size_t size = 0; size < tensor.size(); ++size)
    CHECK_FALSE(survives(
        [&] { format::parse_onnx_tensor(files::to_bytes(tensor.substr(0, size)), "x.pb"); },
        "x.pb"));
}

TEST_CASE("a model that nests without end, or is no page long, is refused") {
  std::string nested;
  for (int level = 0; level < 2000; ++level) {
    // GraphProto in a NodeProto's attribute: fields 6, 5 and 1 of the messages
    for (const char field : {'\x32', '\x2a', '\x0a'}) {
      std::string length;
      for (std::size_t rest = nested.size(); length.empty() || rest != 0; rest >>= 7)
        length += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
      nested = field + length + nested;
    }
  }
  std::string length;
  for (std::size_t rest = nested.size(); length.empty() || rest != 0; rest >>= 7)
    length += static_cast<char>((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  const std::string model = "\x3a" + length + nested;
  CHECK(files::refusal([&] { format::parse_onnx_model(files::as_bytes(model), "x.onnx"); }) ==
        "x.onnx: is no protobuf message; expected a ModelProto");
  const std::string long_model(format::most_model_bytes + 1, '\0');
  CHECK(
      says(files::refusal([&] { format::parse_onnx_model(files::as_bytes(long_model), "x.onnx"); }),
           "expected at most 1048576"));
}
