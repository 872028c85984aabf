// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// attest: is this output of attention right?
#include <attest/check.hpp>
#include <attest/findings.hpp>
#include <attest/format/bad_input.hpp>
#include <attest/fuzz.hpp>
#include <attest/inputs.hpp>
#include <attest/onnx.hpp>
#include <attest/oracle/dialect.hpp>
#include <attest/progress.hpp>
#include <attest/reference.hpp>
#include <attest/report.hpp>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

using namespace attest;

constexpr int bad_input = 2;

void write(std::FILE* to, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), to);
}

int refuse(const std::string& what) {
  write(stderr,
        fmt::format("attest: {}; attest --help lists what it knows\n", format::one_line(what)));
  return bad_input;
}

int check(const std::vector<std::string>& captures, command::CheckOptions options, bool json) {
  std::vector<command::Outcome> outcomes;
  for (const std::string& capture : captures) {
    command::Progress progress("judging " + format::printable_path(capture));
    options.judging.progress = [&](double part) { progress.tell(part); };
    outcomes.push_back(command::check(capture, options));
    progress.end();
    const command::Outcome& outcome = outcomes.back();
    if (!outcome.error.empty())
      write(stderr, "attest: " + outcome.error + "\n");
    else if (!json)
      write(stdout, command::in_words(outcome));
  }
  if (json) write(stdout, command::as_json(outcomes));
  return command::exit_code(outcomes);
}

int reference(const std::string& capture, const std::string& to,
              const command::ReferenceOptions& options, bool json) {
  const command::ReferenceOutcome outcome = command::write_reference(capture, to, options);
  if (!outcome.error.empty())
    write(stderr, "attest: " + outcome.error + "\n");
  else if (json)
    write(stdout, command::certificate_json(outcome));
  else
    write(stdout, format::printable_path(to) + ": the correctly rounded outputs of " +
                      format::printable_path(capture) + "\n" + command::in_words(outcome));
  return command::exit_code(outcome);
}

int onnx(const std::string& folder, const std::string& outputs, bool json) {
  const command::OnnxRun run = command::run_onnx(folder, outputs);
  if (json) {
    write(stdout, command::as_json(run));
    return command::exit_code(run);
  }
  for (const command::OnnxOutcome& outcome : run.tests) {
    if (!outcome.error.empty())
      write(stderr, "attest: " + outcome.error + "\n");
    else
      write(stdout, command::in_words(outcome, run.judged));
  }
  if (!run.error.empty())
    write(stderr, "attest: " + run.error + "\n");
  else
    write(stdout, command::summary(run));
  return command::exit_code(run);
}

int dialects(const std::string& name) {
  if (name.empty()) {
    for (const oracle::Dialect& dialect : oracle::dialects())
      write(stdout, fmt::format("{:19}{}\n", dialect.name, dialect.what));
    return 0;
  }
  const oracle::Dialect* dialect = oracle::find_dialect(name);
  if (!dialect)
    return refuse(fmt::format("dialects: found {}, which attest dialects does not list", name));
  write(stdout, command::in_words(*dialect));
  return 0;
}

int faults(const std::string& name) {
  if (name.empty()) {
    write(stdout, command::all_faults());
    return 0;
  }
  const std::string words = command::one_fault(name);
  if (words.empty())
    return refuse(fmt::format("faults: found {}, which attest faults does not list", name));
  write(stdout, words);
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app("Judges implementations of attention.", "attest");
  app.set_version_flag("--version", "attest " ATTEST_VERSION);
  app.require_subcommand(1);

  CLI::App* check_command = app.add_subcommand(
      "check", "Is this output right? 0: pass, 1: fail, 2: bad input, 3: undecided, 4: suspect");
  std::vector<std::string> captures;
  command::CheckOptions options;
  bool json = false;
  check_command->add_option("CAPTURE", captures, "NAME.npz, with NAME.json beside it")->required();
  check_command->add_option("--dialect", options.dialect,
                            "whose definition to judge by, instead of the capture's own");
  std::string preset;
  check_command
      ->add_option("--precision", preset,
                   "the arithmetic claimed, instead of the capture's: see attest precisions")
      ->type_name("NAME");
  constexpr int step_count = 6;
  std::string formats[step_count];
  const char* const steps[step_count] = {"input",  "accumulate", "accumulate_output",
                                         "scores", "softmax",    "weights"};
  const char* const meanings[step_count] = {
      "format that q, k and v are rounded to first",
      "format that products are summed in",
      "format that weighted values are summed in, where it is another",
      "format that holds a score",
      "format of maximum, exp, sum and division",
      "format of a weight when it multiplies a value"};
  for (int step = 0; step < step_count; ++step)
    check_command->add_option(std::string("--") + steps[step], formats[step], meanings[step])
        ->type_name("FORMAT");
  std::string tile;
  check_command
      ->add_option("--tile", tile, "keys per tile of an online softmax; 0: the whole row at once")
      ->type_name("INT");
  std::string weight_rounding;
  check_command->add_option("--weight_rounding", weight_rounding,
                            "normalized, running-maximum or running-maximum-from-last, where it is "
                            "known: weights are rounded again as the subject did");
  std::string threads;
  check_command->add_option("--threads", threads, "how many at once; by default one per processor")
      ->type_name("INT");
  check_command->add_flag("--json", json, "the same as data");

  CLI::App* reference_command = app.add_subcommand(
      "reference",
      "The correctly rounded outputs. 0: all certified, 2: bad input, 3: some not certified");
  std::string capture, to;
  command::ReferenceOptions reference_options;
  reference_command->add_option("CAPTURE", capture, "NAME.npz, with NAME.json beside it")
      ->required();
  reference_command->add_option("-o,--output", to, "the .npz file to write")
      ->required()
      ->type_name("FILE");
  reference_command
      ->add_option("--format", reference_options.format,
                   "of out and qk_matmul_output, instead of the capture's own")
      ->type_name("FORMAT");
  reference_command->add_option("--dialect", reference_options.dialect,
                                "whose definition to follow, instead of the capture's own");

  bool reference_json = false;
  reference_command->add_flag("--json", reference_json, "the certificate as data");

  CLI::App* onnx_command = app.add_subcommand(
      "onnx",
      "ONNX's node tests of Attention. 0: all reproduced, 1: one differs, 2: bad input, "
      "3: undecided, 4: suspect");
  std::string folder, outputs;
  onnx_command
      ->add_option("DIR", folder, "one test (model.onnx, test_data_set_0, ...) or a folder of them")
      ->required();
  onnx_command
      ->add_option("--outputs", outputs, "judge these outputs of a runtime, in the same layout")
      ->type_name("DIR");

  bool onnx_json = false;
  onnx_command->add_flag("--json", onnx_json, "the same as data");

  CLI::App* precisions_command =
      app.add_subcommand("precisions", "Which arithmetic attest knows by name");

  CLI::App* dialects_command = app.add_subcommand("dialects", "Whose definitions attest knows");
  std::string dialect;
  dialects_command->add_option("NAME", dialect, "one of them: its options, arrays and conventions");

  CLI::App* faults_command =
      app.add_subcommand("faults", "The ways attention goes wrong that a diagnosis may name");
  std::string fault;
  faults_command->add_option("NAME", fault, "one of them: its cause, and what shows it");

  const command::InputsCommand inputs_command(app);
  const command::FuzzCommand fuzz_command(app);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return refuse(error.what());
  }
  // An empty value comes from a script's unset variable; what it meant is not known.
  for (const CLI::App* command : app.get_subcommands())
    for (const CLI::Option* option : command->get_options())
      for (const std::string& value : option->results())
        if (value.empty()) return refuse(option->get_name() + ": found nothing, expected a value");
  if (inputs_command.parsed()) return inputs_command.run();
  if (fuzz_command.parsed()) return fuzz_command.run();
  if (dialects_command->parsed()) return dialects(dialect);
  if (faults_command->parsed()) return faults(fault);
  if (precisions_command->parsed()) {
    for (const oracle::PrecisionPreset& known : oracle::precision_presets())
      write(stdout, command::in_words(known));
    return 0;
  }
  if (reference_command->parsed()) return reference(capture, to, reference_options, reference_json);
  if (onnx_command->parsed()) return onnx(folder, outputs, onnx_json);
  if (!preset.empty()) options.precision["preset"] = preset;
  if (!weight_rounding.empty()) options.precision["weight_rounding"] = weight_rounding;
  for (int step = 0; step < step_count; ++step)
    if (!formats[step].empty()) options.precision[steps[step]] = formats[step];
  if (!tile.empty()) {
    std::int64_t keys = 0;
    const char* const end = tile.data() + tile.size();
    const auto parsed = std::from_chars(tile.data(), end, keys);
    if (parsed.ec != std::errc() || parsed.ptr != end || keys < 0)
      return refuse("--tile: found " + tile + ", expected 0 (whole) or a number of keys");
    options.precision["tile"] = keys;
  }
  options.judging.threads = std::max(1u, std::thread::hardware_concurrency());
  if (!threads.empty()) {
    constexpr std::size_t most = 1024;
    const char* const end = threads.data() + threads.size();
    const auto parsed = std::from_chars(threads.data(), end, options.judging.threads);
    if (parsed.ec != std::errc() || parsed.ptr != end || options.judging.threads == 0 ||
        options.judging.threads > most)
      return refuse(fmt::format("--threads: found {}, expected 1 to {}", threads, most));
  }
  return check(captures, options, json);
}

}  // namespace

int main(int argc, char** argv) {
#ifdef __GLIBC__
  // Keys and values of a head go back to the system once they are judged; by itself glibc raises
  // the size from which on it does so to 32 MB.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
  try {
    const int code = run(argc, argv);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
    write(stderr, "attest: standard output cannot be written\n");
  } catch (const std::exception& unforeseen) {
    write(stderr, fmt::format("attest: {}\n", format::one_line(unforeseen.what())));
  }
  return bad_input;
}
