// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Arrays: a call's arrays by name, brought into one layout and held against each other.
#pragma once
#include <attest/oracle/dialect/options.hpp>
#include <attest/oracle/problem.hpp>

#include <cstddef>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>

namespace attest::oracle {
namespace detail {

// The arrays of a call, each asked for by name; what nobody asked for is an error.
class Arrays {
 public:
  Arrays(const Call& call) : call_(call) {}

  const Tensor* find(const std::string& name) {
    asked_.insert(name);
    return call_.find(name);
  }
  const Tensor& required(const std::string& name) {
    if (const Tensor* found = find(name)) return *found;
    throw BadCall("array \"" + name + "\" is missing; every call has q, k and v");
  }
  void no_others() const {
    for (const auto& [name, array] : call_.arrays)
      if (!asked_.count(name))
        throw BadCall("array \"" + name + "\" has no meaning in dialect " + call_.dialect);
  }
  static BadCall wrong_shape(const std::string& name, const Tensor& found,
                             const std::string& expected) {
    return BadCall("array \"" + name + "\": found shape " + to_string(found.shape) + ", expected " +
                   expected);
  }
  // The array with exactly this shape.
  static const Tensor& shaped(const std::string& name, const Tensor& found, const Shape& expected,
                              const std::string& meaning) {
    if (found.shape != expected)
      throw wrong_shape(name, found, to_string(expected) + ", " + meaning);
    return found;
  }
  static const Tensor& floating(const std::string& name, const Tensor& found) {
    if (!found.format())
      throw BadCall("array \"" + name + "\": found " + std::string(facts(found.type).name) +
                    ", expected a floating-point format");
    return found;
  }

 private:
  const Call& call_;
  std::set<std::string> asked_;
};

// The view of rank 4 with leading axes of extent 1.
inline Tensor with_leading_axes(Tensor view) {
  while (view.rank() < 4) {
    view.shape.insert(view.shape.begin(), 1);
    view.strides.insert(view.strides.begin(), 0);
  }
  return view;
}

// (batch, head, row, column) from (row, column), (head, row, column), or four axes in the call's
// layout.
inline Tensor by_heads(const std::string& name, const Tensor& found, const Call& call) {
  if (found.rank() < 2 || found.rank() > 4)
    throw Arrays::wrong_shape(name, found, "2, 3 or 4 axes");
  if (found.rank() != 4 && call.layout == "bshd")
    throw BadCall("layout \"bshd\": array \"" + name + "\" has " + std::to_string(found.rank()) +
                  " axes, expected 4");
  Tensor view = with_leading_axes(found);
  if (found.rank() == 4 && call.layout == "bshd") {
    std::swap(view.shape[1], view.shape[2]);
    std::swap(view.strides[1], view.strides[2]);
  }
  return view;
}

// (batch, head, row, column) from (batch, row, heads·columns): hidden index = head·columns +
// column.
inline Tensor split_heads(const std::string& name, const Tensor& found, std::size_t heads) {
  const std::size_t hidden = found.shape[2];
  if (hidden % heads != 0)
    throw Arrays::wrong_shape(
        name, found, "a last axis that is a multiple of its " + std::to_string(heads) + " heads");
  const std::size_t columns = hidden / heads;
  Tensor view = found;
  view.shape = {found.shape[0], heads, found.shape[1], columns};
  view.strides = {found.strides[0], found.strides[2] * static_cast<std::ptrdiff_t>(columns),
                  found.strides[1], found.strides[2]};
  return view;
}

// A mask seen as (batch, query head, query, key): axes are aligned at the right, an axis of extent
// 1 is repeated. With `pad_short_rows` a last axis shorter than the keys stays short (even 1): the
// keys beyond it are masked.
inline Tensor broadcast_mask(const Tensor& found, const Problem& problem, bool pad_short_rows) {
  if (found.rank() < 1 || found.rank() > 4)
    throw Arrays::wrong_shape("attn_mask", found, "1 to 4 axes");
  const Shape full = {problem.batches(), problem.query_heads(), problem.queries(), problem.keys()};
  Tensor view = with_leading_axes(found);
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (axis == 3 && pad_short_rows && view.shape[3] <= full[3]) continue;
    if (view.shape[axis] == full[axis]) continue;
    if (view.shape[axis] != 1)
      throw Arrays::wrong_shape(
          "attn_mask", found,
          "what broadcasts to " + to_string(full) + " (batch, query heads, queries, keys)");
    view.shape[axis] = full[axis];
    view.strides[axis] = 0;
  }
  return view;
}

// Query, key and value fit each other; the first sentence of every definition of attention.
inline void check_shapes(const Problem& p) {
  const auto fits = [](const std::string& name, const Tensor& array, std::size_t axis,
                       const Tensor& other, const std::string& other_name) {
    constexpr const char* axes[] = {"batch entries", "heads", "rows", "columns"};
    if (array.shape[axis] != other.shape[axis])
      throw BadCall("array \"" + name + "\": found " + std::to_string(array.shape[axis]) + " " +
                    axes[axis] + ", expected " + std::to_string(other.shape[axis]) + " as \"" +
                    other_name + "\" has; (batch, heads, rows, columns) is " +
                    to_string(array.shape));
  };
  const auto positive = [](const std::string& name, const Tensor& array,
                           std::initializer_list<std::size_t> axes) {
    for (std::size_t axis : axes)
      if (array.shape[axis] == 0)
        throw BadCall("array \"" + name + "\": found shape " + to_string(array.shape) +
                      " (batch, heads, rows, columns), expected no axis of extent 0");
  };
  Arrays::floating("q", p.query);
  Arrays::floating("k", p.key);
  Arrays::floating("v", p.value);
  positive("q", p.query, {0, 1, 2, 3});
  positive("k", p.key, {1});
  positive("v", p.value, {3});
  fits("k", p.key, 0, p.query, "q");
  fits("k", p.key, 3, p.query, "q");
  fits("v", p.value, 0, p.query, "q");
  fits("v", p.value, 1, p.key, "k");
  fits("v", p.value, 2, p.key, "k");
  if (p.query_heads() % p.key_value_heads() != 0)
    throw BadCall("array \"q\": found " + std::to_string(p.query_heads()) +
                  " heads, expected a multiple of the " + std::to_string(p.key_value_heads()) +
                  " heads of \"k\"");
}

// What every dialect asks last: nothing in the call was overlooked, and there is something to
// judge.
inline void finish(const Problem& problem, const Options& options, const Arrays& arrays) {
  options.no_others();
  arrays.no_others();
  if (!problem.output && !problem.scores && !problem.present_key && !problem.present_value)
    throw BadCall(
        "nothing to judge: the call holds none of out, qk_matmul_output, present_key, "
        "present_value");
}

inline Claim claim(const std::string& name, Tensor view) {
  return {name, std::move(view)};
}

// What torch and plain share: arrays of 2 to 4 axes, no cache, out and possibly gradients beside
// it.
inline Problem read_heads(const Call& call, Arrays& arrays) {
  Problem p;
  p.query = by_heads("q", arrays.required("q"), call);
  p.key = by_heads("k", arrays.required("k"), call);
  p.value = by_heads("v", arrays.required("v"), call);
  check_shapes(p);
  p.format = *p.query.format();
  p.offsets.assign(p.batches(), 0);
  p.lengths.assign(p.batches(), p.keys());
  if (const Tensor* mask = arrays.find("attn_mask")) {
    if (mask->type != ElementType::boolean && !mask->format())
      throw BadCall("array \"attn_mask\": found " + std::string(facts(mask->type).name) +
                    ", expected bool (true = attend) or a floating-point format (added)");
    p.mask = broadcast_mask(*mask, p, false);
  }
  if (const Tensor* out = arrays.find("out")) {
    p.output = claim("out", by_heads("out", Arrays::floating("out", *out), call));
    Arrays::shaped("out", p.output->got,
                   {p.batches(), p.query_heads(), p.queries(), p.value_width()},
                   "(batch, query heads, queries, value width)");
  }
  arrays.find("dout");
  for (const char* gradient : {"lse", "dq", "dk", "dv"})
    if (arrays.find(gradient)) p.not_judged.push_back(gradient);
  return p;
}

}  // namespace detail
}  // namespace attest::oracle
