// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include "program.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace attest::test {
namespace {

using oracle::ElementType;

std::string descr(ElementType type) {
  switch (type) {
    case ElementType::float64:
      return "<f8";
    case ElementType::float32:
      return "<f4";
    case ElementType::float16:
      return "<f2";
    case ElementType::boolean:
      return "|b1";
    case ElementType::int8:
      return "|i1";
    case ElementType::int16:
      return "<i2";
    case ElementType::int32:
      return "<i4";
    case ElementType::int64:
      return "<i8";
    case ElementType::float8_e4m3fn:
    case ElementType::float8_e5m2:
    case ElementType::uint8:
      return "|u1";
    case ElementType::bfloat16:
    case ElementType::uint16:
      return "<u2";
    case ElementType::uint32:
      return "<u4";
    case ElementType::uint64:
      return "<u8";
  }
  throw std::logic_error("an element type without a NumPy name");
}

}  // namespace

Result run(const std::vector<std::string>& arguments, User user, const std::string& out_path) {
  const files::Folder folder;
  const std::string out = out_path.empty() ? (folder.path() / "out").string() : out_path;
  const std::string err = (folder.path() / "err").string();
  std::vector<std::string> words = {ATTEST_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process for the program");
  if (child == 0) {
    const int to_out = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int to_err = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (to_out < 0 || to_err < 0 || dup2(to_out, STDOUT_FILENO) < 0 ||
        dup2(to_err, STDERR_FILENO) < 0)
      _exit(126);
    alarm(120);  // outlives exec
    if (user == User::nobody && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(126);
    execv(ATTEST_PROGRAM, argv.data());
    _exit(127);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) throw std::runtime_error("the program was lost");
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, out_path.empty() ? files::read(out) : "", files::read(err)};
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string npy(const oracle::Tensor& tensor) {
  std::string shape = "(";
  for (const std::size_t extent : tensor.shape) shape += std::to_string(extent) + ",";
  const std::size_t bytes = tensor.size() * oracle::facts(tensor.type).bytes;
  const std::string_view data(reinterpret_cast<const char*>(tensor.data), bytes);
  return files::npy(descr(tensor.type), shape + ")", data);
}

std::filesystem::path write_capture(const files::Folder& folder, const std::string& name,
                                    const oracle::Call& call, const std::string& more) {
  std::vector<files::Entry> entries;
  nlohmann::json options = nlohmann::json::parse("{" + more + "}");
  options["dialect"] = call.dialect;
  options["layout"] = call.layout;
  options["formats"] = nlohmann::json::object();
  for (const auto& [array, tensor] : call.arrays) {
    entries.push_back(files::stored(array + ".npy", npy(tensor)));
    if (tensor.format() &&
        (tensor.format()->precision < 11 || tensor.type == ElementType::bfloat16))
      options["formats"][array] = std::string(oracle::facts(tensor.type).name);
  }
  const auto put = [&](const char* key, const std::map<std::string, oracle::Attribute>& values) {
    options[key] = nlohmann::json::object();
    for (const auto& [option, value] : values)
      std::visit([&](const auto& held) { options[key][option] = held; }, value);
  };
  put("attributes", call.attributes);
  put("precision", call.precision);
  folder.write(name + ".json", options.dump());
  return folder.write(name + ".npz", files::zip(entries));
}

}  // namespace attest::test
