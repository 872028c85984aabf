// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Changes of an implementation that faults are made of; each adds to what is there already.
#pragma once
#include <attest/oracle/fault/implementation.hpp>

#include <functional>
#include <utility>

namespace attest::oracle::detail {

using RowMap = std::function<RowIndex(const Problem&, RowIndex)>;
using KeyStep = std::function<void(const Problem&, KeyRow&)>;
using OutputStep = std::function<void(const Problem&, const KeyRow&, std::vector<double>&)>;
using BackwardStep = std::function<void(const Problem&, const KeyRow&, BackwardRow&)>;

template <class... A>
void add(std::function<void(A...)>& step, std::function<void(A...)> another) {
  if (!step) {
    step = std::move(another);
    return;
  }
  step = [first = std::move(step), another = std::move(another)](A... x) {
    first(x...);
    another(x...);
  };
}
inline void map(RowMap& step, RowMap to) {
  if (!step) {
    step = std::move(to);
    return;
  }
  step = [first = std::move(step), to = std::move(to)](const Problem& problem, RowIndex at) {
    return to(problem, first(problem, at));
  };
}
inline void on_scores(Implementation& by, KeyStep step) {
  add(by.steps.on_scores, std::move(step));
}
inline void on_weights(Implementation& by, KeyStep step) {
  add(by.steps.on_weights, std::move(step));
}
inline void on_output(Implementation& by, OutputStep step) {
  add(by.steps.on_output, std::move(step));
}
inline void on_backward(Implementation& by, BackwardStep step) {
  add(by.steps.on_backward, std::move(step));
}

}  // namespace attest::oracle::detail
