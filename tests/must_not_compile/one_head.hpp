// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Two queries and five keys. The cases around it get one thing wrong, and say only that.
#pragma once
#include <attest/attention.hpp>

using namespace attest;
constexpr Query<float, 2, 4> query;
constexpr Key<float, 5, 4> key;
constexpr Value<float, 5, 4> value;
