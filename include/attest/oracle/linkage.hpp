// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The oracle is a header-only library whose main steps can be compiled once for many users instead:
// with ATTEST_ORACLE_COMPILED defined their headers only declare them, and src/oracle/ holds them.
#pragma once

#ifdef ATTEST_ORACLE_COMPILED
#define ATTEST_ORACLE_INLINE
#else
#define ATTEST_ORACLE_INLINE inline
#endif
