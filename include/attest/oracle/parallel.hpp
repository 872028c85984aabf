// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Work spread over threads: items are taken in order, each by the next thread that is free.
#pragma once
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace attest::oracle::detail {

// Calls work(worker, item) for every item below `count`; `worker` < `threads` is the same only for
// calls that follow each other. The calling thread is worker 0. What one call throws is thrown
// here, once all have ended.
template <class Work>
void in_parallel(std::size_t threads, std::size_t count, Work work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto run = [&](std::size_t worker) {
    try {
      for (std::size_t item; (item = next++) < count;) work(worker, item);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t worker = 1; worker < threads && worker < count; ++worker)
    others.emplace_back(run, worker);
  run(0);
  others.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

}  // namespace attest::oracle::detail
