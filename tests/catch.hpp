// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Catch2 with RapidCheck's properties inside it, whichever of Catch2 2 and 3 is installed. RapidCheck's own header
// asks for Catch2 2's header by name unless Catch2 3's macros are there first, hence the order.
#pragma once
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_approx.hpp>
#include <catch2/catch_message.hpp>
#include <catch2/catch_test_macros.hpp>
#else
#include <catch2/catch.hpp>
#endif
#include <rapidcheck/catch.h>
