// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// How a call is judged: what changes the time it takes, and no verdict.
#pragma once
#include <cstddef>
#include <functional>

namespace attest::oracle {

namespace detail {
struct Kernels;
}

struct JudgeOptions {
  std::size_t threads = 1;
  // Called now and then, by the thread that called judge, with the part of the rows that is done.
  std::function<void(double)> progress;
  // Fewer multiplications than this are judged row by row, so that the worst element is the worst
  // of all; with more it is the worst of the row where a bound of the error is largest.
  std::size_t blocks_from = std::size_t{1} << 24;
  // Once outputs certainly fail, no row that is still to be judged by itself changes the verdict.
  // So many multiplications are spent on some of them, spread over the call; the others are not
  // looked at, and the report says how many. Some seconds.
  double work_after_failure = 0x1p31;
  bool only_whether_it_passes = false;       // whatever is no pass ends it
  const detail::Kernels* kernels = nullptr;  // null: the best for this processor
};

}  // namespace attest::oracle
