// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/oracle/definitions/scale_estimate.hpp>
#include <attest/oracle/definitions/verdict.hpp>
