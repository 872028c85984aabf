// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Shrinking: the smallest call that fails still, found by taking away.
#pragma once
#include <attest/oracle/dialect.hpp>
#include <attest/testing/trial.hpp>

#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace attest::testing {
namespace detail {

// Keeps `chosen` of the query heads, with the key/value heads they read; nothing if these would not
// be read alike.
inline bool keep_heads(EditableCall& call, std::size_t count) {
  const std::size_t query_heads = call.extent(Axis::query_head);
  const std::size_t groups = call.extent(Axis::key_value_head);
  if (groups == 0 || query_heads % groups != 0) return false;
  const std::size_t each = query_heads / groups;
  if (groups > 1 && count % each == 0) {  // whole groups
    call.choose(Axis::query_head, counted(count));
    call.choose(Axis::key_value_head, counted(count / each));
    return true;
  }
  if (groups > 1) return false;
  call.choose(Axis::query_head, counted(count));
  return true;
}

class Shrinker {
 public:
  using Fails = std::function<bool(const EditableCall&)>;
  Shrinker(EditableCall call, Fails fails, int most_tries)
      : call_(std::move(call)), fails_(std::move(fails)), left_(most_tries) {}

  EditableCall run() {
    bool better = true;
    while (better && left_ > 0) {
      better = false;
      better = heads_and_batches() || better;
      for (const Axis axis : {Axis::query, Axis::key}) better = rows(axis) || better;
      better = columns() || better;
      better = leave_out() || better;
    }
    numbers();
    return std::move(call_);
  }

 private:
  bool accept(EditableCall candidate) {
    if (left_ <= 0) return false;
    --left_;
    if (!fails_(candidate)) return false;
    call_ = std::move(candidate);
    return true;
  }

  bool heads_and_batches() {
    bool any = false;
    for (std::size_t b = 0; call_.extent(Axis::batch) > 1 && b < call_.extent(Axis::batch); ++b) {
      EditableCall one = call_;
      one.choose(Axis::batch, {b});
      any = accept(std::move(one)) || any;
    }
    const std::size_t groups = call_.extent(Axis::key_value_head);
    const std::size_t heads = call_.extent(Axis::query_head);
    for (std::size_t g = 0; groups > 1 && g < groups && heads % groups == 0; ++g) {
      EditableCall one = call_;
      const std::size_t each = heads / groups;
      one.choose(Axis::query_head, counted(each, g * each));
      one.choose(Axis::key_value_head, {g});
      if (accept(std::move(one))) return true;
    }
    for (std::size_t h = 0; groups == 1 && heads > 1 && h < heads; ++h) {
      EditableCall one = call_;
      one.choose(Axis::query_head, {h});
      if (accept(std::move(one))) return true;
    }
    for (std::size_t count = 1; count < heads; ++count) {
      EditableCall fewer = call_;
      if (keep_heads(fewer, count) && accept(std::move(fewer))) return true;
    }
    return any;
  }

  // Stretches of rows are taken away, long ones first.
  bool rows(Axis axis) {
    bool any = false;
    for (std::size_t size = call_.extent(axis) / 2; size >= 1; size /= 2) {
      for (std::size_t from = 0;
           from < call_.extent(axis) && call_.extent(axis) > 1 && left_ > 0;) {
        const std::size_t extent = call_.extent(axis);
        std::vector<std::size_t> kept;
        for (std::size_t n = 0; n < extent; ++n)
          if (n < from || n >= from + size) kept.push_back(n);
        EditableCall fewer = call_;
        if (axis == Axis::key)
          fewer.choose_keys(kept);
        else
          fewer.choose(axis, kept);
        if (!kept.empty() && accept(std::move(fewer)))
          any = true;
        else
          from += size;
      }
    }
    return any;
  }
  bool columns() {
    bool any = false;
    for (const Axis axis : {Axis::width, Axis::value_width})
      for (std::size_t count = 1; count < call_.extent(axis) && left_ > 0; count *= 2) {
        EditableCall fewer = call_;
        fewer.choose(axis, counted(count));
        if (!accept(std::move(fewer))) continue;
        any = true;
        break;
      }
    return any;
  }
  bool leave_out() {
    bool any = false;
    for (const char* name :
         {"attn_mask", "sinks", "sink_token", "sink", "head_sink", "alibi_slopes",
          "nonpad_kv_seqlen", "seqused_k", "present_key", "present_value", "dattn_mask", "dsinks",
          "dlse", "lse", "dq", "dk", "dv", "out"})
      if (call_.has(name)) {
        EditableCall without = call_;
        without.arrays.erase(name);
        if (name == std::string("attn_mask")) without.arrays.erase("dattn_mask");
        if (name == std::string("sinks")) without.arrays.erase("dsinks");
        any = accept(std::move(without)) || any;
      }
    if (call_.has("dout") && !call_.has("dq") && !call_.has("dk") && !call_.has("dv")) {
      EditableCall without = call_;
      without.arrays.erase("dout");
      without.arrays.erase("dlse");
      without.arrays.erase("dsinks");
      without.arrays.erase("dattn_mask");
      any = accept(std::move(without)) || any;
    }
    std::vector<std::string> options;
    for (const auto& [name, value] : call_.call.attributes) options.push_back(name);
    for (const std::string& name : options) {
      EditableCall without = call_;
      without.call.attributes.erase(name);
      any = accept(std::move(without)) || any;
    }
    return any;
  }
  // Fewer bits, then single numbers 0.
  void numbers() {
    for (const char* name :
         {"q", "k", "v", "past_key", "past_value", "attn_mask", "dout", "dlse"}) {
      if (!call_.has(name)) continue;
      for (const double unit : {1.0, 0.25, 1.0 / 16}) {
        EditableCall rounded = call_;
        for (double& x : rounded[name].numbers)
          x = std::isfinite(x) ? std::round(x / unit) * unit : x;
        if (rounded.at(name).numbers == call_.at(name).numbers || accept(std::move(rounded))) break;
      }
      const std::size_t count = call_.at(name).numbers.size();
      for (std::size_t n = 0; n < count && count <= 64 && left_ > 0; ++n) {
        if (call_.at(name).numbers[n] == 0) continue;
        EditableCall zero = call_;
        zero[name].numbers[n] = 0;
        accept(std::move(zero));
      }
    }
  }

  EditableCall call_;
  Fails fails_;
  int left_;
};

}  // namespace detail

// The smallest call found for which `fails` holds, as it does for `call`; `fails` is asked about at
// most so many and throws nothing.
inline EditableCall shrunk(const EditableCall& call, std::function<bool(const EditableCall&)> fails,
                           int most_tries) {
  return detail::Shrinker(call, std::move(fails), most_tries).run();
}

}  // namespace attest::testing
