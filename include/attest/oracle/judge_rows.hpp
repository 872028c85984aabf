// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Every row of a call judged: in blocks where cheap bounds decide, the rest one by one, over
// several threads. What is found does not depend on their number.
//
// Memory is in proportion to keys and rows of a block, never to their product over the whole call:
// keys and values of a few heads at a time.
#pragma once
#include <attest/oracle/block_judge.hpp>
#include <attest/oracle/judge_options.hpp>
#include <attest/oracle/padded_rows.hpp>
#include <attest/oracle/parallel.hpp>
#include <attest/oracle/report.hpp>
#include <attest/oracle/row_judge.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace attest::oracle {

namespace detail {

// Keys and values of one head: for blocks, and row by row once a row asks for that.
class HeadArrays {
 public:
  HeadArrays(const Problem& problem, std::size_t batch, std::size_t head, bool blocks)
      : problem_(problem), batch_(batch), head_(head), blocks_(blocks) {}

  BlockHead block;

  void read(bool split) {
    if (blocks_) block.read(problem_, batch_, head_, split);
  }
  bool in_blocks() const { return blocks_ && block.finite; }
  // Null query and bias.
  RowData rows() {
    std::call_once(read_, [&] { read_rows(); });
    RowData data;
    data.keys = keys_.data();
    data.values = values_.empty() ? block.values.data() : values_.data();
    data.width = problem_.width();
    data.value_width = problem_.output ? problem_.value_width() : 0;
    data.key_count = problem_.keys();
    return data;
  }
  // Forgets what only blocks read.
  void end_blocks() { block.panels = std::vector<double>(); }
  std::size_t batch() const { return batch_; }
  std::size_t head() const { return head_; }

 private:
  void read_rows() {
    const std::size_t keys = problem_.keys(), width = problem_.width();
    // without an output there is nothing the values matter for
    const std::size_t value_width = problem_.output ? problem_.value_width() : 0;
    const bool values_held = blocks_ && block.columns == value_width;
    keys_.resize(keys * width);
    if (!values_held) values_.resize(keys * value_width);
    for (std::size_t j = 0; j < keys; ++j) {
      problem_.read_key(batch_, head_, j, keys_.data() + j * width);
      if (!values_held && value_width)
        problem_.read_value(batch_, head_, j, values_.data() + j * value_width);
    }
  }

  const Problem& problem_;
  std::size_t batch_, head_;
  bool blocks_;
  std::once_flag read_;
  std::vector<double> keys_, values_;
};

// Some rows of one query head.
struct RowRange {
  HeadArrays* arrays;
  std::size_t query_head, first, count;
  bool alone = false;  // each row by itself
};

// What was found about them.
struct RangeFindings {
  OutputReport output, scores;
  std::size_t rows = 0, double_double_rows = 0, wide_rows = 0;
  std::vector<std::size_t> open;  // rows that are left, because blocks do not decide about them
  // The row of the largest excess among those that blocks decided about.
  struct Worst {
    bool failed = false;
    double excess = -1;
    std::size_t batch = 0, head = 0, query_head = 0, row = 0;
    bool graver_than(const Worst& other) const {
      return failed != other.failed ? failed : excess > other.excess;
    }
  } worst;

  // What later ranges found, but for the rows they left open.
  void add(const RangeFindings& later) {
    output.add(later.output);
    scores.add(later.scores);
    rows += later.rows;
    double_double_rows += later.double_double_rows;
    wide_rows += later.wide_rows;
    if (later.worst.graver_than(worst)) worst = later.worst;
  }
};

// Judges ranges of rows, one after the other. One thread's.
class RangeJudge {
 public:
  RangeJudge(const Problem& problem, const Precision& claim, const Kernels& kernels, bool blocks)
      : problem_(problem), claim_(claim) {
    if (!blocks) return;
    block_.emplace(problem, kernels, sums_wanted(claim));
    quick_.emplace(problem, claim);
  }

  RangeFindings judge(const RowRange& range) {
    RangeFindings found;
    const bool in_blocks = !range.alone && range.arrays->in_blocks();
    if (in_blocks)
      block_->compute(range.arrays->block, range.arrays->batch(), range.query_head, range.first,
                      range.count);
    for (std::size_t r = 0; r < range.count; ++r) {
      ++found.rows;
      if (problem_.padded(range.arrays->batch(), range.first + r)) {
        count_padded_row(problem_, range.arrays->batch(), range.query_head, range.first + r,
                         found.output);
        continue;
      }
      if (in_blocks) {
        if (!judge_in_block(range, r, found)) {
          found.open.push_back(range.first + r);
          --found.rows;
        }
        continue;
      }
      judge_row(range, range.first + r);
      found.double_double_rows += !row_judge_->double_decided;
      found.wide_rows += row_judge_->wide;
      const std::array<std::size_t, 3> place{range.arrays->batch(), range.query_head,
                                             range.first + r};
      if (problem_.output) found.output.count_row(row_judge_->outputs, place);
      if (problem_.scores) found.scores.count_row(row_judge_->scores, place);
    }
    return found;
  }

  // The elements of one row for the worst of the output, which has counted them.
  void look_at(const RowRange& range, OutputReport& output) {
    judge_row(range, range.first);
    for (std::size_t t = 0; t < row_judge_->outputs.size(); ++t) {
      Element& element = row_judge_->outputs[t];
      element.index = {range.arrays->batch(), range.query_head, range.first, t};
      output.consider(element);
    }
  }

 private:
  bool judge_in_block(const RowRange& range, std::size_t r, RangeFindings& found) {
    const BlockHead& head = range.arrays->block;
    const std::size_t b = range.arrays->batch(), i = range.first + r;
    got_output_.resize(head.value_width);
    problem_.output->got.read_row(b, range.query_head, i, got_output_.data());
    quick_->judge(head, *block_, r, got_output_.data());
    if (quick_->any_open) return false;
    found.double_double_rows += head.split;
    for (const Quick verdict : quick_->verdicts) {
      ++found.output.elements;
      found.output.failed += verdict != Quick::pass;
      found.output.beyond_hull += verdict == Quick::fail_beyond_hull;
    }
    if (quick_->any_failed) found.output.verdict = Verdict::fail;
    const RangeFindings::Worst worst{quick_->any_failed,   quick_->excess,   b,
                                     range.arrays->head(), range.query_head, i};
    if (worst.graver_than(found.worst)) found.worst = worst;
    return true;
  }

  void judge_row(const RowRange& range, std::size_t i) {
    RowData row = range.arrays->rows();
    if (judged_ != range.arrays) {
      row_judge_.emplace(problem_, claim_, row);
      judged_ = range.arrays;
    }
    const std::size_t b = range.arrays->batch(), h = range.query_head;
    query_.resize(row.width);
    bias_.resize(row.key_count);
    got_output_.resize(row.value_width);
    got_scores_.resize(problem_.scores ? row.key_count : 0);
    problem_.query.read_row(b, h, i, query_.data());
    for (std::size_t j = 0; j < row.key_count; ++j) bias_[j] = problem_.bias(b, h, i, j);
    if (problem_.output) problem_.output->got.read_row(b, h, i, got_output_.data());
    if (problem_.scores) problem_.scores->got.read_row(b, h, i, got_scores_.data());
    row.query = query_.data();
    row.bias = bias_.data();
    row_judge_->judge(row, problem_.output ? got_output_.data() : nullptr,
                      problem_.scores ? got_scores_.data() : nullptr);
  }

  const Problem& problem_;
  const Precision& claim_;
  std::optional<BlockRows> block_;
  std::optional<BlockJudge> quick_;
  std::optional<RowJudge> row_judge_;
  const HeadArrays* judged_ = nullptr;
  std::vector<double> query_, bias_, got_output_, got_scores_;
};

// Judges output and scores, and adds what was found to the report.
inline void judge_rows(const Problem& problem, const Precision& claim, const JudgeOptions& options,
                       Report& report) {
  OutputReport output, scores;
  const auto describe = [](OutputReport& judged, const Claim& claimed) {
    judged.name = claimed.name;
    judged.shape = claimed.got.shape;
  };
  if (problem.output) describe(output, *problem.output);
  if (problem.scores) describe(scores, *problem.scores);

  const std::size_t heads = problem.key_value_heads(), queries = problem.queries();
  const std::size_t all_rows = problem.batches() * problem.query_heads() * queries;
  const std::size_t value_width = problem.output ? problem.value_width() : 0;
  const std::size_t per_row = problem.keys() * (problem.width() + value_width);
  const bool blocks = problem.only_masks() && BlockRows::can_compute(problem) &&
                      per_row * all_rows >= options.blocks_from;
  const bool split =
      blocks && problem.output->got.format()->precision >= formats::float64.precision;
  const std::size_t rows_at_once =
      blocks ? BlockRows::rows_per_block(problem, split)
             : std::clamp<std::size_t>((std::size_t{1} << 22) / (per_row + 1), 1, 32);
  // keys and values of as many heads as take a few megabytes
  const std::size_t heads_at_once =
      1 + (std::size_t{1} << 21) / std::max<std::size_t>(per_row, std::size_t{1} << 10);
  const Kernels& kernels = options.kernels ? *options.kernels : best_kernels();

  const std::size_t threads = std::max<std::size_t>(options.threads, 1);
  std::vector<std::unique_ptr<RangeJudge>> judges(threads);
  RangeFindings::Worst worst;
  std::size_t passed_over = 0;  // rows
  for (std::size_t from = 0; from < problem.batches() * heads; from += heads_at_once) {
    const std::size_t to = std::min(problem.batches() * heads, from + heads_at_once);
    std::vector<std::unique_ptr<HeadArrays>> arrays;
    std::vector<RowRange> ranges;
    for (std::size_t n = from; n < to; ++n) {
      arrays.push_back(std::make_unique<HeadArrays>(problem, n / heads, n % heads, blocks));
      for (std::size_t h = 0; h < problem.query_heads(); ++h) {
        if (problem.key_value_head_of(h) != n % heads) continue;
        for (std::size_t i = 0; i < queries; i += rows_at_once)
          ranges.push_back({arrays.back().get(), h, i, std::min(rows_at_once, queries - i)});
      }
    }
    for (auto& judge : judges)  // those of the last heads looked into memory that is gone
      judge = std::make_unique<RangeJudge>(problem, claim, kernels, blocks);
    in_parallel(threads, arrays.size(),
                [&](std::size_t, std::size_t n) { arrays[n]->read(split); });
    std::size_t done = 0;
    std::mutex telling;
    const auto judge_all = [&](const std::vector<RowRange>& some) {
      std::vector<RangeFindings> found(some.size());
      in_parallel(threads, some.size(), [&](std::size_t worker, std::size_t n) {
        found[n] = judges[worker]->judge(some[n]);
        const std::lock_guard lock(telling);
        done += some[n].count - found[n].open.size();
        if (worker == 0 && options.progress)
          options.progress(static_cast<double>(report.rows + done + passed_over) /
                           static_cast<double>(all_rows));
      });
      return found;
    };
    RangeFindings all;
    std::vector<RowRange> left;
    const auto no_pass = [&] {
      return std::max({output.verdict, scores.verdict, all.output.verdict, all.scores.verdict}) !=
             Verdict::pass;
    };
    const auto failed = [&] {
      const auto fails = [](const OutputReport& one, const OutputReport& other) {
        return std::max(one.verdict, other.verdict) == Verdict::fail;
      };
      return (!problem.output || fails(output, all.output)) &&
             (!problem.scores || fails(scores, all.scores));
    };
    // Of the ranges from n on those that are looked at once all that is judged fails.
    const auto keep_some = [&](std::vector<RowRange>& some, std::size_t n) {
      const double part =
          static_cast<double>(to - from) / static_cast<double>(problem.batches() * heads);
      const double rows = part * options.work_after_failure / static_cast<double>(per_row + 1);
      const std::size_t rest = some.size() - n;
      double of_rest = 0;
      for (std::size_t r = n; r < some.size(); ++r) of_rest += static_cast<double>(some[r].count);
      const auto kept = static_cast<std::size_t>(
          std::max(1.0, static_cast<double>(rest) * std::min(1.0, rows / of_rest)));
      std::size_t next = 0;
      for (std::size_t r = 0; r < rest; ++r) {
        const RowRange range = some[n + r];
        if (r == next * rest / kept) {
          some[n + next++] = range;
          continue;
        }
        passed_over += range.count;
        if (problem.output) all.output.not_looked_at += range.count * value_width;
        if (problem.scores) all.scores.not_looked_at += range.count * problem.keys();
      }
      some.resize(n + kept);
    };
    // findings take a kilobyte for each range
    const auto judge_in_turn = [&](std::vector<RowRange> some, bool one_by_one) {
      // one by one only so many that after a fraction of a second it may be certain
      const std::size_t at_once =
          one_by_one ? std::clamp<std::size_t>((std::size_t{1} << 26) / (per_row + 1), 16, 128)
                     : 1024;
      bool all_kept = true;
      for (std::size_t n = 0; n < some.size(); n += at_once) {
        if (options.only_whether_it_passes && no_pass()) return;
        if (one_by_one && all_kept && failed()) {
          keep_some(some, n);
          all_kept = false;
        }
        const auto begin = some.begin() + static_cast<std::ptrdiff_t>(n);
        const auto count = static_cast<std::ptrdiff_t>(std::min(at_once, some.size() - n));
        const std::vector<RangeFindings> found = judge_all({begin, begin + count});
        for (std::size_t r = 0; r < found.size(); ++r) {
          all.add(found[r]);
          for (const std::size_t row : found[r].open)
            left.push_back({some[n + r].arrays, some[n + r].query_head, row, 1, true});
        }
      }
    };
    std::vector<RowRange> in_blocks;
    for (const RowRange& range : ranges)
      (range.arrays->in_blocks() ? in_blocks : left).push_back(range);
    judge_in_turn(std::move(in_blocks), false);
    std::vector<RowRange> one_by_one = std::move(left);
    left.clear();
    for (const RowRange& row : one_by_one) row.arrays->end_blocks();
    judge_in_turn(std::move(one_by_one), true);
    output.add(all.output);
    scores.add(all.scores);
    report.rows += all.rows;
    report.double_double_rows += all.double_double_rows;
    report.wide_rows += all.wide_rows;
    if (all.worst.graver_than(worst)) worst = all.worst;
    if (options.only_whether_it_passes && no_pass()) break;
  }
  judges.clear();
  output.elements += output.not_looked_at;
  scores.elements += scores.not_looked_at;
  output.bound = claim.weight_rounding ? Bound::replay : Bound::likely;
  if (worst.excess >= 0) {
    HeadArrays arrays(problem, worst.batch, worst.head, false);
    RangeJudge(problem, claim, kernels, false)
        .look_at({&arrays, worst.query_head, worst.row, 1}, output);
  }
  if (problem.output) report.outputs.push_back(std::move(output));
  if (problem.scores) report.outputs.push_back(std::move(scores));
}

}  // namespace detail
}  // namespace attest::oracle
