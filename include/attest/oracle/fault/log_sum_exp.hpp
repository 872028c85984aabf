// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Faults of the log-sum-exp alone: the output is right.
#pragma once
#include <attest/oracle/fault/softmax.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace attest::oracle::detail {

inline std::vector<double> if_log_sum_exp(const Problem& p) {
  return p.log_sum_exp ? one_setting : std::vector<double>{};
}
inline void on_log_sum_exp(Implementation& by,
                           double (*step)(const Problem&, const KeyRow&, double)) {
  by.steps.on_log_sum_exp = step;
}
inline Example log_sum_exp_example() {
  return one_query({1, 3}, {1, 2}).option("scale", 0.5).array("lse", {1}, {0});
}
inline bool hidden_altogether(const KeyRow& row) {
  return std::all_of(row.hidden.begin(), row.hidden.end(), [](char h) { return h != 0; });
}

inline constexpr Fault log_sum_exp_faults[] = {
    {"log-sum-exp to base 2", FaultFamily::log_sum_exp,
     "The log-sum-exp is log₂ Σ e^score where its natural logarithm is asked for.",
     "kernels compute with exp2", "vllm-project/vllm#28840",
     [](const Problem& p) {
       return p.rule.log_sum_exp_base == LogBase::e ? if_log_sum_exp(p) : std::vector<double>{};
     },
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem&, const KeyRow&, double lse) {
         return lse * 0x1.71547652b82fep+0;
       });
     },
     nullptr, log_sum_exp_example},
    {"log-sum-exp to base e", FaultFamily::log_sum_exp,
     "The log-sum-exp is a natural logarithm where one to base 2 is asked for.", "backends differ",
     "flashinfer-ai/flashinfer#4485",
     [](const Problem& p) {
       return p.rule.log_sum_exp_base == LogBase::two ? if_log_sum_exp(p) : std::vector<double>{};
     },
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem&, const KeyRow&, double lse) {
         return lse * 0x1.62e42fefa39efp-1;
       });
     },
     nullptr, [] { return log_sum_exp_example().option("lse_base", std::string("2")); }},
    {"log-sum-exp without the maximum", FaultFamily::log_sum_exp,
     "The logarithm is of the sum relative to the maximum, which is not added.",
     "log Σ e^(x − max) for log Σ e^x", "NVIDIA/Fuser#3648", if_log_sum_exp,
     [](Implementation& by, double) {
       on_log_sum_exp(
           by, [](const Problem&, const KeyRow& row, double lse) { return lse - row.maximum; });
     },
     nullptr, log_sum_exp_example},
    {"maximum for the log-sum-exp", FaultFamily::log_sum_exp, "The largest score is returned.",
     "the wrong one of two statistics", "", if_log_sum_exp,
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem&, const KeyRow& row, double lse) {
         return hidden_altogether(row) ? lse : row.maximum;
       });
     },
     nullptr, log_sum_exp_example},
    {"sum for the log-sum-exp", FaultFamily::log_sum_exp,
     "The sum relative to the maximum is returned, not its logarithm.",
     "the wrong one of two statistics", "", if_log_sum_exp,
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem&, const KeyRow& row, double lse) {
         return hidden_altogether(row) ? lse : row.sum;
       });
     },
     nullptr, log_sum_exp_example},
    {"log-sum-exp of a natural maximum and a base-2 sum", FaultFamily::log_sum_exp,
     "The maximum is natural, the logarithm of the sum is to base 2.", "one of two conversions",
     "flashinfer-ai/flashinfer#633", if_log_sum_exp,
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem& p, const KeyRow& row, double lse) {
         const double mixed = row.maximum + (lse - row.maximum) * 0x1.71547652b82fep+0;
         // of one to base 2 the maximum is what was not converted
         return p.rule.log_sum_exp_base == LogBase::two ? mixed * 0x1.62e42fefa39efp-1 : mixed;
       });
     },
     nullptr, log_sum_exp_example},
    {"scale applied twice in the log-sum-exp", FaultFamily::log_sum_exp,
     "The maximum is multiplied by the scale once more.", "the maximum is stored scaled already",
     "HKUSTDial/flash-sparse-attention#106", if_log_sum_exp,
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem& p, const KeyRow& row, double lse) {
         return hidden_altogether(row) ? lse : lse - row.maximum + row.maximum * scale_of(p);
       });
     },
     nullptr, log_sum_exp_example},
    {"log-sum-exp of the unscaled maximum", FaultFamily::log_sum_exp,
     "The maximum is that of q·k, before the scale.", "the scale is applied in the exponent only",
     "", if_log_sum_exp,
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem& p, const KeyRow& row, double lse) {
         return hidden_altogether(row) ? lse : lse - row.maximum + row.maximum / scale_of(p);
       });
     },
     nullptr, log_sum_exp_example},
    {"log-sum-exp zero", FaultFamily::log_sum_exp, "All log-sum-exps are zero.",
     "an array that is not written", "meta-pytorch/attention-gym#37", if_log_sum_exp,
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem&, const KeyRow&, double) { return 0.0; });
     },
     nullptr, log_sum_exp_example},
    {"log-sum-exp without the sink", FaultFamily::log_sum_exp,
     "The sink is in the softmax's sum but not in the log-sum-exp.",
     "it is added after the log-sum-exp is stored", "Dao-AILab/flash-attention#2752",
     [](const Problem& p) { return p.sinks.empty() ? std::vector<double>{} : if_log_sum_exp(p); },
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem& p, const KeyRow& row, double lse) {
         return lse + std::log1p(-row.weights[p.given_keys()]);
       });
     },
     nullptr, [] { return log_sum_exp_example().array("sinks", {1}, {1}); }},
    {"log-sum-exp of rows without keys of the other sign", FaultFamily::log_sum_exp,
     "The log-sum-exp of a row without keys is +∞ for −∞, or the other way round.",
     "definitions differ, and a merge takes it as it is", "",
     [](const Problem& p) {
       return may_hide(p) && p.empty_log_sum_exp != EmptyLogSumExp::unspecified
                  ? if_log_sum_exp(p)
                  : std::vector<double>{};
     },
     [](Implementation& by, double) {
       on_log_sum_exp(by, [](const Problem&, const KeyRow& row, double lse) {
         return hidden_altogether(row) ? -lse : lse;
       });
     },
     nullptr,
     [] {
       return masked_example({0, 0}, {1, 2}, {0, 0}).array("lse", {1}, {0});
     }},
    {"log-sum-exp of rows without keys finite", FaultFamily::log_sum_exp,
     "The log-sum-exp of a row without keys is a finite number.", "a finite number stands for −∞",
     "flashinfer-ai/flashinfer#4452",
     [](const Problem& p) {
       return may_hide(p) && p.empty_log_sum_exp != EmptyLogSumExp::unspecified
                  ? (p.log_sum_exp ? std::vector<double>{0, -1e4, -5e4, -1e9, -1e30}
                                   : std::vector<double>{})
                  : std::vector<double>{};
     },
     [](Implementation& by, double number) {
       by.steps.on_log_sum_exp = [number](const Problem&, const KeyRow& row, double lse) {
         return hidden_altogether(row) ? number : lse;
       };
     },
     [](double number) { return "log-sum-exp of rows without keys is " + number_in_words(number); },
     [] {
       return masked_example({0, 0}, {1, 2}, {0, 0}).array("lse", {1}, {0});
     }},
    {"log-sum-exp counts hidden keys", FaultFamily::log_sum_exp,
     "Hidden keys are in the log-sum-exp, not in the output.",
     "statistics are computed before the mask", "pytorch/pytorch#134650",
     [](const Problem& p) { return may_hide(p) ? if_log_sum_exp(p) : std::vector<double>{}; },
     [](Implementation& by, double) {
       by.steps.scores_of_hidden_keys = true;
       on_log_sum_exp(by, [](const Problem& p, const KeyRow& row, double lse) {
         if (hidden_altogether(row)) return lse;
         double sum = 1;  // relative to the log-sum-exp
         for (std::size_t j = 0; j < p.given_keys() && j < row.size(); ++j)
           if (row.hidden[j]) sum += std::exp(row.unmasked[j] - lse);
         return lse + std::log(sum);
       });
     },
     nullptr,
     [] {
       return masked_example({0, 0}, {1, 2}, {1, 0}).array("lse", {1}, {0});
     }},
    {"log-sum-exp written with heads and rows exchanged", FaultFamily::log_sum_exp,
     "The log-sum-exp's array of (head, row) is written as one of (row, head).",
     "kernels disagree about the layout of statistics", "",
     [](const Problem& p) {
       return p.query_heads() > 1 && p.queries() > 1 ? if_log_sum_exp(p) : std::vector<double>{};
     },
     [](Implementation& by, double) {
       map(by.steps.log_sum_exp_row, [](const Problem& p, RowIndex at) {
         const std::size_t n = at.head * p.queries() + at.row;
         return RowIndex{at.batch, n % p.query_heads(), n / p.query_heads()};
       });
     },
     nullptr,
     [] {
       return different_call(1, 2, 2, 3, 3, 2, 2).array("lse", {1, 2, 3}, Numbers(6, 0));
     }},
};

}  // namespace attest::oracle::detail
