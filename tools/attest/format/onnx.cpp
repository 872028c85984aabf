// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/format/bad_input.hpp>
#include <attest/format/npy.hpp>
#include <attest/format/onnx.hpp>

#include <fmt/format.h>
#include <onnx/onnx.pb.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace attest::format {
namespace {

using oracle::ElementType;
using oracle::Shape;

static_assert(std::endian::native == std::endian::little,
              "tensors are viewed where they lie, in the byte order of the file");

// protobuf counts bytes in int.
constexpr std::size_t most_tensor_bytes = std::numeric_limits<int>::max();

// As for NumPy's arrays: a reader may loop over the other extents of an array without elements.
constexpr std::uint64_t most_empty_rows = std::uint64_t{1} << 31;

// TensorProto.DataType. By number, since Debian's onnx.proto may be older than the 8-bit formats.
constexpr std::pair<int, ElementType> element_types[] = {
    {1, ElementType::float32},   {2, ElementType::uint8},          {3, ElementType::int8},
    {4, ElementType::uint16},    {5, ElementType::int16},          {6, ElementType::int32},
    {7, ElementType::int64},     {9, ElementType::boolean},        {10, ElementType::float16},
    {11, ElementType::float64},  {12, ElementType::uint32},        {13, ElementType::uint64},
    {16, ElementType::bfloat16}, {17, ElementType::float8_e4m3fn}, {19, ElementType::float8_e5m2},
};

constexpr const char* input_arrays[] = {
    "q", "k", "v", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};
constexpr const char* output_arrays[] = {"out", "present_key", "present_value", "qk_matmul_output"};

// protobuf of this version reports what it dislikes on standard error as well.
#if GOOGLE_PROTOBUF_VERSION < 4000000
const auto silent = google::protobuf::SetLogHandler(nullptr);
#endif

template <class Message>
Message parse(std::span<const std::byte> bytes, std::size_t most, std::string_view kind,
              const std::string& where) {
  if (bytes.empty()) fail(where, fmt::format("is empty; expected {}", kind));
  if (bytes.size() > most)
    fail(where, fmt::format("is {} bytes; expected at most {}", bytes.size(), most));
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    fail(where, fmt::format("is no protobuf message; expected {}", kind));
  return message;
}

std::string type_name(int type) {
  for (const auto& [number, element] : element_types)
    if (number == type) return std::string(oracle::facts(element).name);
  return fmt::format("type {}", type);
}

ElementType element_type(int type, const std::string& where) {
  for (const auto& [number, element] : element_types)
    if (number == type) return element;
  fail(where, fmt::format("the elements are of type {}; expected numbers or booleans", type));
}

// The shape, and in `count` its number of elements, which its data must have.
Shape read_shape(const onnx::TensorProto& tensor, ElementType type, std::size_t& count,
                 const std::string& where) {
  if (tensor.dims_size() > static_cast<int>(most_axes))
    fail(where, fmt::format("claims {} axes; expected at most {}", tensor.dims_size(), most_axes));
  Shape shape;
  constexpr std::uint64_t most = std::numeric_limits<std::ptrdiff_t>::max();
  std::uint64_t bytes = oracle::facts(type).bytes, rows = 1;
  bool empty = false;
  for (const std::int64_t extent : tensor.dims()) {
    if (extent < 0)
      fail(where,
           fmt::format("claims extent {} of axis {}; expected 0 or more", extent, shape.size()));
    shape.push_back(static_cast<std::size_t>(extent));
    empty = empty || extent == 0;
    const auto steps = static_cast<std::uint64_t>(std::max<std::int64_t>(extent, 1));
    if (bytes > most / steps)
      fail(where, fmt::format("claims 2^63 bytes or more by axis {}", shape.size() - 1));
    bytes *= steps;
    rows *= steps;
  }
  if (empty && rows > most_empty_rows)
    fail(where, fmt::format("claims shape {}, no elements in more than 2^31 rows",
                            oracle::to_string(shape)));
  count = empty ? 0 : static_cast<std::size_t>(rows);
  return shape;
}

template <class To, class Numbers>
std::vector<std::byte> narrowed(const Numbers& numbers, const std::string& where) {
  std::vector<std::byte> data(sizeof(To) * static_cast<std::size_t>(numbers.size()));
  std::byte* position = data.data();
  for (const auto number : numbers) {
    const auto value = static_cast<To>(number);
    if (static_cast<decltype(number)>(value) != number)
      fail(where, fmt::format("holds the number {}, more than its type does", number));
    std::memcpy(position, &value, sizeof value);
    position += sizeof value;
  }
  return data;
}

template <class Numbers>
std::vector<std::byte> as_they_are(const Numbers& numbers) {
  std::vector<std::byte> data(sizeof(numbers[0]) * static_cast<std::size_t>(numbers.size()));
  if (!data.empty()) std::memcpy(data.data(), numbers.data(), data.size());
  return data;
}

// The elements out of the field that the element type has, where they are not raw bytes.
std::vector<std::byte> typed_data(const onnx::TensorProto& tensor, ElementType type,
                                  const std::string& where) {
  switch (type) {
    case ElementType::float32:
      return as_they_are(tensor.float_data());
    case ElementType::float64:
      return as_they_are(tensor.double_data());
    case ElementType::int64:
      return as_they_are(tensor.int64_data());
    case ElementType::uint64:
      return as_they_are(tensor.uint64_data());
    case ElementType::uint32:
      return narrowed<std::uint32_t>(tensor.uint64_data(), where);
    case ElementType::int32:
      return as_they_are(tensor.int32_data());
    case ElementType::int16:
      return narrowed<std::int16_t>(tensor.int32_data(), where);
    case ElementType::int8:
      return narrowed<std::int8_t>(tensor.int32_data(), where);
    case ElementType::uint16:
    case ElementType::float16:  // their bits
    case ElementType::bfloat16:
      return narrowed<std::uint16_t>(tensor.int32_data(), where);
    default:
      return narrowed<std::uint8_t>(tensor.int32_data(), where);
  }
}

OnnxTensor read_tensor(const onnx::TensorProto& tensor, const std::string& where) {
  if (tensor.has_segment() || tensor.external_data_size() != 0 || tensor.data_location() != 0)
    fail(where, "keeps its elements elsewhere; expected them in the file");
  const int fields = (tensor.float_data_size() != 0) + (tensor.double_data_size() != 0) +
                     (tensor.int32_data_size() != 0) + (tensor.int64_data_size() != 0) +
                     (tensor.uint64_data_size() != 0) + (tensor.string_data_size() != 0) +
                     (tensor.raw_data().empty() ? 0 : 1);
  if (fields > 1) fail(where, "holds elements in more than one field");
  OnnxTensor result;
  result.name = tensor.name();
  result.type = element_type(tensor.data_type(), where);
  std::size_t count = 0;
  result.shape = read_shape(tensor, result.type, count, where);
  const std::string& raw = tensor.raw_data();
  if (!raw.empty()) {
    const auto* begin = reinterpret_cast<const std::byte*>(raw.data());
    result.data.assign(begin, begin + raw.size());
  } else {
    result.data = typed_data(tensor, result.type, where);
  }
  const std::size_t claimed = count * oracle::facts(result.type).bytes;
  if (result.data.size() != claimed)
    fail(where, fmt::format("claims shape {} of {}, {} bytes, but holds {}",
                            oracle::to_string(result.shape), oracle::facts(result.type).name,
                            claimed, result.data.size()));
  if (result.type == ElementType::boolean)
    for (std::size_t i = 0; i < count; ++i)
      if (std::to_integer<unsigned>(result.data[i]) > 1)
        fail(where, fmt::format("element {} is the byte {}; a bool is 0 or 1", i,
                                std::to_integer<unsigned>(result.data[i])));
  return result;
}

std::string dialect_of(const onnx::ModelProto& model, const std::string& where) {
  std::int64_t version = 0;
  for (const onnx::OperatorSetIdProto& set : model.opset_import()) {
    if (!set.domain().empty() && set.domain() != "ai.onnx") continue;
    if (version != 0) fail(where, "imports two versions of ONNX's operator set");
    version = set.version();
  }
  if (version < 23 || version > 25)
    fail(where, fmt::format("imports operator set {}; expected 23, 24 or 25", version));
  return fmt::format("onnx-{}", version);
}

const onnx::NodeProto& attention_node(const onnx::ModelProto& model, const std::string& where) {
  const auto other = [&](const std::string& what) {
    return OtherModel(
        fmt::format("{}: {}; expected one node of the operator Attention", where, what));
  };
  const onnx::GraphProto& graph = model.graph();
  if (graph.node_size() != 1) throw other(fmt::format("is a model of {} nodes", graph.node_size()));
  const onnx::NodeProto& node = graph.node(0);
  if (node.op_type() != "Attention" || (!node.domain().empty() && node.domain() != "ai.onnx"))
    throw other(fmt::format("is a model of the operator {}{}{}", printable(node.domain()),
                            node.domain().empty() ? "" : ".", printable(node.op_type())));
  return node;
}

std::map<std::string, oracle::Attribute> read_attributes(const onnx::NodeProto& node,
                                                         const std::string& where) {
  std::map<std::string, oracle::Attribute> attributes;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const std::string here =
        fmt::format("{}: attribute \"{}\"", where, printable(attribute.name()));
    oracle::Attribute value;
    if (attribute.type() == onnx::AttributeProto::INT)
      value = static_cast<std::int64_t>(attribute.i());
    else if (attribute.type() == onnx::AttributeProto::FLOAT)
      value = static_cast<double>(attribute.f());
    else
      fail(here, fmt::format("is of type {}; expected an integer or a number",
                             static_cast<int>(attribute.type())));
    if (!attributes.emplace(attribute.name(), value).second) fail(here, "is there twice");
  }
  return attributes;
}

// Which of the node's names stands for which array; "" is an optional one left out.
template <class Names, std::size_t N>
std::map<std::string, std::string> arrays_by_name(const Names& names,
                                                  const char* const (&arrays)[N],
                                                  const std::string& where, std::string_view kind) {
  if (names.size() > static_cast<int>(N))
    fail(where, fmt::format("the node has {} {}s; expected at most {}", names.size(), kind, N));
  std::map<std::string, std::string> result;
  for (int i = 0; i < names.size(); ++i)
    if (!names[i].empty() && !result.emplace(names[i], arrays[i]).second)
      fail(where, fmt::format("the node has {} \"{}\" twice", kind, printable(names[i])));
  return result;
}

// The graph's own inputs or outputs, in the order of their files; every array of the node's is one,
// or else a constant.
template <class Values>
std::vector<OnnxSlot> read_slots(const Values& values,
                                 const std::map<std::string, std::string>& arrays,
                                 const std::map<std::string, OnnxTensor>& constants,
                                 const std::string& where, std::string_view kind) {
  std::vector<OnnxSlot> slots;
  std::set<std::string> there;
  for (const onnx::ValueInfoProto& value : values) {
    if (!there.insert(value.name()).second)
      fail(where, fmt::format("the graph has {} \"{}\" twice", kind, printable(value.name())));
    const auto array = arrays.find(value.name());
    slots.push_back({value.name(), array == arrays.end() ? "" : array->second,
                     value.type().tensor_type().elem_type()});
  }
  for (const auto& [name, array] : arrays)
    if (!there.contains(name) && !constants.contains(array))
      fail(where,
           fmt::format("{} \"{}\" of the node is none of the graph's", kind, printable(name)));
  return slots;
}

std::vector<std::byte> read_file(const std::filesystem::path& path, std::size_t most) {
  const std::string where = printable_path(path);
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (!std::filesystem::exists(status)) fail(where, "there is no such file");
  if (!std::filesystem::is_regular_file(status)) fail(where, "is not a file");
  const std::uint64_t size = std::filesystem::file_size(path, unknown);
  if (unknown) fail(where, "cannot be read");
  if (size > most) fail(where, fmt::format("is {} bytes; expected at most {}", size, most));
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(where, "cannot be opened");
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (static_cast<std::uint64_t>(file.gcount()) != size) fail(where, "cannot be read");
  return bytes;
}

// The files of one kind. An input without a file may be a constant of the model.
void load_slots(const std::vector<OnnxSlot>& slots, const std::filesystem::path& folder,
                std::string_view kind, const OnnxModel& model, OnnxCall& result) {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const OnnxSlot& slot = slots[i];
    if (slot.array.empty()) continue;
    const std::filesystem::path path = folder / fmt::format("{}_{}.pb", kind, i);
    const auto constant = model.constants.find(slot.array);
    std::error_code unknown;
    if (constant != model.constants.end() && !std::filesystem::exists(path, unknown)) continue;
    OnnxTensor tensor = parse_onnx_tensor(read_file(path, most_tensor_bytes), path);
    const std::string where = printable_path(path);
    if (slot.type != 0 && element_type(slot.type, where) != tensor.type)
      fail(where, fmt::format("found {}, expected {} as the model says of \"{}\"",
                              oracle::facts(tensor.type).name, type_name(slot.type),
                              printable(slot.name)));
    if (!tensor.name.empty() && tensor.name != slot.name)
      fail(where, fmt::format("found tensor \"{}\", expected \"{}\"", printable(tensor.name),
                              printable(slot.name)));
    result.buffers.insert_or_assign(slot.array, std::move(tensor));
  }
}

}  // namespace

const bool reads_onnx = true;

OnnxTensor parse_onnx_tensor(std::span<const std::byte> bytes, const std::filesystem::path& name) {
  const std::string where = printable_path(name);
  return read_tensor(parse<onnx::TensorProto>(bytes, most_tensor_bytes, "a TensorProto", where),
                     where);
}

OnnxModel parse_onnx_model(std::span<const std::byte> bytes, const std::filesystem::path& name) {
  const std::string where = printable_path(name);
  const auto model = parse<onnx::ModelProto>(bytes, most_model_bytes, "a ModelProto", where);
  const onnx::NodeProto& node = attention_node(model, where);
  OnnxModel result;
  result.dialect = dialect_of(model, where);
  result.attributes = read_attributes(node, where);
  const auto inputs = arrays_by_name(node.input(), input_arrays, where, "input");
  const auto outputs = arrays_by_name(node.output(), output_arrays, where, "output");
  for (const onnx::TensorProto& constant : model.graph().initializer()) {
    const auto array = inputs.find(constant.name());
    if (array == inputs.end()) continue;
    const std::string here =
        fmt::format("{}: initializer \"{}\"", where, printable(constant.name()));
    if (!result.constants.emplace(array->second, read_tensor(constant, here)).second)
      fail(here, "is there twice");
  }
  result.inputs = read_slots(model.graph().input(), inputs, result.constants, where, "input");
  result.outputs = read_slots(model.graph().output(), outputs, {}, where, "output");
  return result;
}

OnnxModel load_onnx_model(const std::filesystem::path& path) {
  return parse_onnx_model(read_file(path, most_model_bytes), path);
}

OnnxCall load_onnx_call(const OnnxModel& model, const std::filesystem::path& inputs,
                        const std::filesystem::path& outputs) {
  OnnxCall result;
  result.buffers = model.constants;
  load_slots(model.inputs, inputs, "input", model, result);
  load_slots(model.outputs, outputs, "output", model, result);
  for (const auto& [name, tensor] : result.buffers) result.call.arrays.emplace(name, tensor.view());
  result.call.dialect = model.dialect;
  result.call.attributes = model.attributes;
  return result;
}

}  // namespace attest::format
