// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Four query heads of five queries, which share two key/value heads of seven keys. The cases around
// it get one thing wrong, and say only that.
#pragma once
#include <attest/heads.hpp>

using namespace attest;
constexpr Heads<Query<float, 5, 8>, 4> query;
constexpr Heads<Key<float, 7, 8>, 2> key;
constexpr Heads<Value<float, 7, 3>, 2> value;
