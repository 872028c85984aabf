// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// What is measured in more than one translation unit: rows, and the functions compiled without
// vectors.
#pragma once
#include <cstddef>

namespace measured {

// Of plain.cpp, which is compiled without automatic vectorisation: attest::exp over n numbers, one
// at a time, and softmax as one writes it down, the same arithmetic added from left to right.
void plain_exp(const float* x, float* result, std::size_t n);
void plain_exp(const double* x, double* result, std::size_t n);
void plain_softmax(float* x, std::size_t n);
void plain_softmax(float* x, const bool* seen, std::size_t n);

}  // namespace measured
