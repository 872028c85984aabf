// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Everything an implementation returns for a call, as doubles.
#pragma once
#include <attest/oracle/fault/example.hpp>
#include <attest/oracle/fault/implementation.hpp>
#include <attest/oracle/fault/place.hpp>
#include <attest/oracle/linkage.hpp>
#include <attest/oracle/precision.hpp>

#include <optional>
#include <vector>

namespace attest::oracle {

// In C order of (batch, head, row, column) whatever the call's layout is; empty where the call has
// no such output, but for `out`, which is always computed.
struct Outputs {
  std::vector<double> out, scores, log_sum_exp, present_key, present_value;
  std::vector<double> d_query, d_key, d_value, d_sinks, d_bias;
};

// `faulty` where `place` is, `honest` elsewhere; by the claim's formats at every step if `rounds`.
// Gradients of the queries in place; of keys, values, sinks and bias the faulty sums over rows in
// place and the honest ones over the others.
Outputs evaluate(const Implementation& honest, const Implementation& faulty, const Place& place,
                 const Precision& arithmetic, bool rounds);

// An array that a subject may return, and where its numbers are among Outputs.
struct OutputField {
  std::optional<Claim> Problem::*claim;
  std::vector<double> Outputs::*numbers;
};
inline constexpr OutputField output_fields[] = {
    {&Problem::output, &Outputs::out},
    {&Problem::scores, &Outputs::scores},
    {&Problem::log_sum_exp, &Outputs::log_sum_exp},
    {&Problem::present_key, &Outputs::present_key},
    {&Problem::present_value, &Outputs::present_value},
    {&Problem::d_query, &Outputs::d_query},
    {&Problem::d_key, &Outputs::d_key},
    {&Problem::d_value, &Outputs::d_value},
    {&Problem::d_sinks, &Outputs::d_sinks},
    {&Problem::d_bias, &Outputs::d_bias},
};

// The call with these outputs in place of its own, each array in the call's layout and of the type
// it has there.
Example with_outputs(const Call& call, const Outputs& outputs);

}  // namespace attest::oracle

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/oracle/definitions/evaluation.hpp>
#endif
