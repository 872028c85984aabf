// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What makes a fault: its words, the calls it can strike, the change it is, and the smallest call
// that shows it.
#pragma once
#include <attest/oracle/fault/changes.hpp>
#include <attest/oracle/fault/example.hpp>
#include <attest/oracle/precision.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace attest::oracle {

enum class FaultFamily {
  scale,
  mask,
  causality,
  window,
  heads,
  softcap,
  sinks,
  positions,
  cache,
  tiles,
  softmax,
  arithmetic,
  layout,
  rows,
  log_sum_exp,
  gradient
};

constexpr std::string_view in_words(FaultFamily family) {
  constexpr std::string_view words[] = {"scale",     "mask",    "causality",   "window",
                                        "heads",     "softcap", "sinks",       "positions",
                                        "key cache", "tiles",   "softmax",     "arithmetic",
                                        "layout",    "rows",    "log-sum-exp", "gradient"};
  return words[static_cast<std::size_t>(family)];
}

struct Fault {
  std::string_view name;
  FaultFamily family;
  std::string_view what;   // in one sentence
  std::string_view cause;  // what usually causes it
  std::string_view seen;   // a public report of it; empty: none known
  // What a number of the fault can be in this call — how many keys, which factor —, likelier ones
  // first; one of any value where it has none. Empty: the call has nothing this could strike.
  std::vector<double> (*settings)(const Problem&);
  void (*inject)(Implementation&, double setting);
  // The fault with its number, in words; null: its name.
  std::string (*words)(double setting);
  // The smallest call that shows it; its outputs are places only.
  Example (*smallest)();
  // The claim under which the fault would be none, where it is no more than less accuracy.
  void (*loosen)(Precision&, double setting) = nullptr;
};

// A fault with its number, for one call.
struct FaultCase {
  const Fault* fault = nullptr;
  double setting = 0;

  std::string in_words() const {
    return fault->words ? fault->words(setting) : std::string(fault->name);
  }
  friend bool operator==(const FaultCase&, const FaultCase&) = default;
};

}  // namespace attest::oracle
