// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/oracle/definitions/dialect.hpp>
#include <attest/oracle/definitions/evaluation.hpp>
#include <attest/oracle/definitions/fault.hpp>
#include <attest/oracle/definitions/needle.hpp>
