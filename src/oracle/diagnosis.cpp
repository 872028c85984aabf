// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

#include <attest/oracle/definitions/adequacy.hpp>
#include <attest/oracle/definitions/diagnosis.hpp>
