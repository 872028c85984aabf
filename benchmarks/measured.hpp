// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What is measured from another translation unit: the loops compiled without vectors.
#pragma once
#include <cstddef>

namespace measured {

// Of plain.cpp, which is compiled without automatic vectorisation: softmax as one writes it down,
// with attest::exp one at a time, added from left to right. Of a mask it computes what is seen.
void plain_softmax(float* x, std::size_t n);
void plain_softmax(float* x, const bool* seen, std::size_t n);

}  // namespace measured
