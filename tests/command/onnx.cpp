// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// attest onnx: verdicts and exit codes for tests made here; the tests of ONNX itself are a test of
// their own where they are at hand.
#include "catch.hpp"

#include "program.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "../format/onnx_files.hpp"

namespace {

using attest::test::lines;
using attest::test::Result;
using attest::test::run;
using files::MeanOfTwo;
using files::onnx_tensor;

bool says(const std::string& text, const std::string& words) {
  const bool found = text.find(words) != std::string::npos;
  if (!found) UNSCOPED_INFO(text);
  return found;
}

MeanOfTwo expecting(float y) {
  MeanOfTwo test;
  test.y = onnx_tensor<float>("Y", 1, {1, 1, 1, 1}, {y});
  return test;
}

}  // namespace

TEST_CASE("one test that is reproduced, and one whose last bit is not") {
  const files::Folder folder;
  MeanOfTwo().write(folder);
  const Result right = run({"onnx", folder.path().string()});
  CHECK(right.code == 0);
  CHECK(right.err.empty());
  CHECK(lines(right.out) == 2);
  CHECK(says(right.out, ": reproduced, 1 elements\n1 of 1 tests reproduced bit for bit"));

  expecting(std::nextafter(1.5f, 2.f)).write(folder);
  const Result wrong = run({"onnx", folder.path().string()});
  CHECK(wrong.code == 1);
  CHECK(says(wrong.out,
             "DIFFERS, 1 of 1 elements of out, first at (0, 0, 0, 0): expected "
             "1.5000001, correctly rounded 1.5"));
  CHECK(says(wrong.out, "0 of 1 tests reproduced"));
}

TEST_CASE("every output of the node is compared") {
  const files::Folder folder;
  MeanOfTwo test;
  test.model = files::onnx_model({"Q", "K", "V"}, {"Y", "PK", "PV", "S"});
  files::add_integer(test.model, "qk_matmul_output_mode", 3);
  test.write(folder);
  const std::string set = "test_data_set_0/";
  const auto outputs = [&](float key, float value, float weight) {
    folder.write(set + "output_1.pb",
                 onnx_tensor<float>("PK", 1, {1, 1, 2, 1}, {5, key}).SerializeAsString());
    folder.write(set + "output_2.pb",
                 onnx_tensor<float>("PV", 1, {1, 1, 2, 1}, {1, value}).SerializeAsString());
    folder.write(set + "output_3.pb",
                 onnx_tensor<float>("S", 1, {1, 1, 1, 2}, {0.5f, weight}).SerializeAsString());
    return run({"onnx", folder.path().string()});
  };
  CHECK(outputs(5, 2, 0.5f).code == 0);
  CHECK(says(outputs(4, 2, 0.5f).out, "1 of 2 elements of present_key, first at (0, 0, 1, 0)"));
  CHECK(says(outputs(5, 3, 0.5f).out, "1 of 2 elements of present_value"));
  CHECK(says(outputs(5, 2, 0.25f).out, "1 of 2 elements of qk_matmul_output"));
  CHECK(outputs(5, 2, 0.25f).code == 1);
}

TEST_CASE("a folder of tests: each gets its line, other models are passed over") {
  const files::Folder folder;
  MeanOfTwo().write(folder, "b_right");
  expecting(2).write(folder, "a_wrong");
  MeanOfTwo other;
  other.model.mutable_graph()->mutable_node(0)->set_op_type("Add");
  other.write(folder, "c_other");
  const Result result = run({"onnx", folder.path().string()});
  CHECK(result.code == 1);
  CHECK(result.out.rfind("a_wrong: DIFFERS", 0) == 0);
  CHECK(says(result.out,
             "\nb_right: reproduced, 1 elements\n"
             "1 of 2 tests reproduced bit for bit, 2 elements; 1 other models passed"));

  MeanOfTwo damaged;
  damaged.q.set_data_type(1000);
  damaged.write(folder, "d_damaged");
  const Result mixed = run({"onnx", folder.path().string()});
  CHECK(mixed.code == 2);
  CHECK(lines(mixed.err) == 1);
  CHECK(says(mixed.err, "d_damaged/test_data_set_0/input_0.pb: the elements are of type 1000"));
  CHECK(says(mixed.out, "1 of 3 tests reproduced"));
}

TEST_CASE("outputs of a runtime are judged by what its arithmetic may lose") {
  const files::Folder tests, outputs;
  MeanOfTwo().write(tests, "x");
  const auto judged = [&](float y) {
    expecting(y).write(outputs, "x");
    return run({"onnx", tests.path().string(), "--outputs", outputs.path().string()});
  };
  CHECK(judged(1.5f).code == 0);
  const Result last_bit = judged(std::nextafter(1.5f, 2.f));
  CHECK(last_bit.code == 0);
  CHECK(says(last_bit.out, "x: pass, 1 elements\n1 of 1 tests pass"));
  const Result wrong = judged(1.51f);
  CHECK(wrong.code == 1);
  CHECK(says(wrong.out, "x: FAIL, 1 of 1 elements of out"));
  const Result absent =
      run({"onnx", (tests.path() / "x").string(), "--outputs", tests.path().string()});
  CHECK(absent.code == 2);
  CHECK(says(absent.err, "output_0.pb: there is no such file"));
}

TEST_CASE("folders that hold no test") {
  const files::Folder folder;
  const auto refused = [&](const std::string& path, const std::string& words) {
    const Result result = run({"onnx", path});
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK(lines(result.err) == 1);
    CHECK(says(result.err, words));
  };
  const std::string path = folder.path().string();
  refused(path, "holds no test");
  refused(path + "/none", "there is no such folder");
  refused(folder.write("file", "x").string(), "is not a folder");
  folder.write("model.onnx", "");
  CHECK(run({"onnx", path}).code == 2);
  folder.write("model.onnx", files::onnx_model().SerializeAsString());
  CHECK(says(run({"onnx", path}).err, "holds no test_data_set_0"));
  CHECK(run({"onnx"}).code == 2);
  CHECK(run({"onnx", path, "--outputs", ""}).code == 2);
}

TEST_CASE("a call that the operator does not define is refused with its folder") {
  const files::Folder folder;
  MeanOfTwo test;
  test.k = onnx_tensor<float>("K", 1, {1, 1, 2, 2}, {5, 5, 5, 5});
  test.write(folder);
  const Result result = run({"onnx", folder.path().string()});
  CHECK(result.code == 2);
  CHECK(says(result.err, "test_data_set_0: array \"k\": found 2 columns, expected 1"));
}
