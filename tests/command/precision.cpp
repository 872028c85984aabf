// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The program from outside: arithmetic by name, suspicion, and data for programs.
#include "catch.hpp"
#include "program.hpp"
#include "simulated.hpp"
#include "simulated_call.hpp"

#include <attest/oracle/precision_presets.hpp>

#include <nlohmann/json.hpp>

#include <string>

namespace {

using namespace attest::test;
using Json = nlohmann::json;

// Weights in bfloat16 that are cut off, as if by a kernel that forgot to round: what is claimed is
// rounding.
CallBuilder cut_weights(bool cut) {
  Kernel kernel{.preset = "tensor-core-bf16",
                .weight = Format::bf16,
                .cut_bits = 24,
                .output_cut_bits = 24,
                .fast_exp2 = true,
                .tile = 64};
  const Data data = data_of(Kind::offset, kernel.array, 1, 1024, 16, 4, 3);
  return simulated_call(kernel, data, Simulation(kernel, data, 3, {.cut_weights = cut}).output());
}

}  // namespace

TEST_CASE("attest precisions lists every preset") {
  const Result listed = run({"precisions"});
  CHECK(listed.code == 0);
  CHECK(lines(listed.out) == attest::oracle::precision_presets().size());
  for (const auto& preset : attest::oracle::precision_presets())
    CHECK(listed.out.find(std::string(preset.name) + " ") != std::string::npos);
}

TEST_CASE("a preset is claimed by the capture, in two ways, or on the command line") {
  const files::Folder folder;
  CallBuilder call = cut_weights(false);
  const std::string by_key = write_capture(folder, "a", call.call).string();
  CHECK(Json::parse(run({"check", "--json", by_key}).out)["claim"]["preset"] == "tensor-core-bf16");
  call.call.precision.clear();
  const std::string by_name = write_capture(folder, "b", call.call).string();
  folder.write("b.json", R"({"dialect": "plain", "precision": "tensor-core-bf16"})");
  CHECK(Json::parse(run({"check", "--json", by_name}).out)["claim"]["preset"] ==
        "tensor-core-bf16");
  const std::string none = write_capture(folder, "c", call.call).string();
  CHECK(run({"check", none}).code == 4);  // hardly float32 throughout
  const Result named = run({"check", "--precision", "tensor-core-bf16", none});
  CHECK(named.code == 0);
  CHECK(named.out.find("tensor-core-bf16: accumulated in float32, cut off") != std::string::npos);
  CHECK(named.out.find("of what independent roundings reach") != std::string::npos);
  // it takes the place of all that the capture claims; further options change it
  CHECK(run({"check", "--precision", "float32", by_key}).code == 4);
  CHECK(Json::parse(run({"check", "--json", "--precision", "tensor-core-bf16", "--weights",
                         "float16", none})
                        .out)["claim"]["weights"] == "float16");
  const Result unknown = run({"check", "--precision", "float31", none});
  CHECK(unknown.code == 2);
  CHECK(unknown.err.find("attest precisions") != std::string::npos);
}

TEST_CASE("what is suspect says so, by an exit code of its own") {
  const files::Folder folder;
  const std::string suspect = write_capture(folder, "suspect", cut_weights(true).call).string();
  const std::string right = write_capture(folder, "right", cut_weights(false).call).string();
  const Result result = run({"check", suspect});
  CHECK(result.code == 4);
  CHECK(result.out.rfind(suspect + ": SUSPECT\n", 0) == 0);
  CHECK(result.out.find("out: SUSPECT, 4 of 4 elements") != std::string::npos);
  CHECK(result.out.find(", likely ") != std::string::npos);
  const Json json = Json::parse(run({"check", "--json", suspect}).out);
  CHECK(json["verdict"] == "suspect");
  CHECK(json["outputs"]["out"]["suspected"] == 4);
  CHECK(json["outputs"]["out"]["bound"] == "likely");
  CHECK(json["outputs"]["out"]["worst"]["likely"] < json["outputs"]["out"]["worst"]["error"]);
  CHECK(json["outputs"]["out"]["worst"]["error"] < json["outputs"]["out"]["worst"]["allowed"]);
  CHECK(run({"check", right}).code == 0);
  CHECK(run({"check", right, suspect}).code == 4);
  CHECK(run({"check", "--precision", "float32", suspect, right}).code == 1);
  const Result replayed =
      run({"check", "--tile", "64", "--weight_rounding", "running-maximum", suspect});
  CHECK(replayed.code == 1);  // what rounding does is certain then
  const Result again =
      run({"check", "--tile", "64", "--weight_rounding", "running-maximum", right});
  CHECK(again.code == 0);
  CHECK(again.out.find("the weights' roundings, replayed") != std::string::npos);
}

TEST_CASE("a wrong scale is named") {
  const files::Folder folder;
  Kernel kernel{.preset = "float32"};
  const Data data = data_of(Kind::random, kernel.array, 8, 40, 64, 4, 3);
  const double error = std::sqrt(0.5) - 1;
  const CallBuilder call =
      simulated_call(kernel, data, Simulation(kernel, data, 3, {.scale_error = error}).output());
  const std::string wrong = write_capture(folder, "wrong", call.call).string();
  CHECK(run({"check", wrong})
            .out.find("the output fits a scale of 0.0883883 = 1/√128 instead of 0.125 = 1/√64") !=
        std::string::npos);
  const Json fits = Json::parse(run({"check", "--json", wrong}).out)["fits_scale"];
  CHECK(fits["named"] == "1/√128");
  CHECK(fits["expected"] == 0.125);
}

TEST_CASE("attest reference and attest onnx print data for programs") {
  const files::Folder folder;
  const std::string right = write_capture(folder, "right", cut_weights(false).call).string();
  const std::string to = (folder.path() / "reference.npz").string();
  const Result reference = run({"reference", right, "-o", to, "--json"});
  CHECK(reference.code == 0);
  const Json certificate = Json::parse(reference.out);
  CHECK(certificate["arrays"]["out"]["elements"] == 4);
  CHECK(certificate["arrays"]["out"]["not_certified"] == 0);

  const Result none = run({"onnx", folder.path().string(), "--json"});
  CHECK(none.code == 2);
  CHECK(Json::parse(none.out).contains("error"));
}
