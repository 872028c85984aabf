// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Sinks of three sequences for partial results of two.
// must fail with: part_is_shared_or_one_per_element_of_the_batch
#include <attest/streaming.hpp>

using namespace attest;
constexpr Batch<PartialAttention<float, 2, 4>, 2> partial;
#ifdef ATTEST_CONTROL
constexpr Batch<Sink<float>, 2> sink;
#else
constexpr Batch<Sink<float>, 3> sink;
#endif
constexpr auto output = finish(partial, sink);
