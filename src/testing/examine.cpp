// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/testing/definitions/examine.hpp>
