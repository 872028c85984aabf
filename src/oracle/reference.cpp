// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/oracle/definitions/reference.hpp>
