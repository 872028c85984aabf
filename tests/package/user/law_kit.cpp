// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// A user of the law kit: attention that forgets its softmax is found out.
#include <attest/testing/check.hpp>

#include <algorithm>
#include <cstddef>

int main() {
  const auto zeros = [](const float*, const float*, const float*, float* out, std::size_t queries,
                        std::size_t,
                        std::size_t width) { std::fill_n(out, queries * width, 0.0f); };
  attest::testing::Options options;
  options.save_to.clear();
  return attest::testing::check<float>(zeros, {}, options) == 1 ? 0 : 1;
}
