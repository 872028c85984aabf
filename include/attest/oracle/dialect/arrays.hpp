// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Arrays: a call's arrays by name, brought into one layout and held against each other.
#pragma once
#include <attest/oracle/dialect/options.hpp>
#include <attest/oracle/problem.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace attest::oracle {
namespace detail {

// The arrays of a call, each asked for by name; what nobody asked for is an error.
class Arrays {
 public:
  Arrays(const Call& call) : call_(call) {}

  const Call& call() const { return call_; }
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

// An array added to or hiding scores, seen as (batch, query head, query, key): axes are aligned at
// the right, an axis of extent 1 is repeated. With `pad_short_rows` a last axis shorter than the
// keys stays short (even 1): the keys beyond it are masked.
inline Tensor broadcast_scores(const std::string& name, const Tensor& found, const Problem& problem,
                               bool pad_short_rows = false) {
  if (found.rank() < 1 || found.rank() > 4) throw Arrays::wrong_shape(name, found, "1 to 4 axes");
  const Shape full = {problem.batches(), problem.query_heads(), problem.queries(),
                      problem.given_keys()};
  Tensor view = with_leading_axes(found);
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (axis == 3 && pad_short_rows && view.shape[3] <= full[3]) continue;
    if (view.shape[axis] == full[axis]) continue;
    if (view.shape[axis] != 1)
      throw Arrays::wrong_shape(
          name, found,
          "what broadcasts to " + to_string(full) + " (batch, query heads, queries, keys)");
    view.shape[axis] = full[axis];
    view.strides[axis] = 0;
  }
  return view;
}

inline Tensor broadcast_mask(const Tensor& found, const Problem& problem, bool pad_short_rows) {
  return broadcast_scores("attn_mask", found, problem, pad_short_rows);
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
  if (problem.d_sinks && problem.sinks.empty())
    throw BadCall("array \"dsinks\": found without sinks");
  if (!problem.output && !problem.scores && !problem.present_key && !problem.present_value &&
      !problem.log_sum_exp && !problem.has_gradients())
    throw BadCall(
        "nothing to judge: the call holds none of out, qk_matmul_output, present_key, "
        "present_value, lse, dq, dk, dv, dsinks, dattn_mask");
}

inline Claim claim(const std::string& name, Tensor view) {
  return {name, std::move(view)};
}

// Query, key and value of 2 to 4 axes, every row counting.
inline Problem read_query_key_value(const Call& call, Arrays& arrays) {
  Problem p;
  p.query = by_heads("q", arrays.required("q"), call);
  p.key = by_heads("k", arrays.required("k"), call);
  p.value = by_heads("v", arrays.required("v"), call);
  check_shapes(p);
  p.format = *p.query.format();
  p.offsets.assign(p.batches(), 0);
  p.lengths.assign(p.batches(), p.keys());
  return p;
}

enum class MaskKinds { boolean, added, both };

inline void read_mask(Arrays& arrays, Problem& p, MaskKinds kinds = MaskKinds::both) {
  const Tensor* mask = arrays.find("attn_mask");
  if (!mask) return;
  const bool known = (mask->type == ElementType::boolean && kinds != MaskKinds::added) ||
                     (mask->format() && kinds != MaskKinds::boolean);
  if (!known)
    throw BadCall(
        "array \"attn_mask\": found " + std::string(facts(mask->type).name) + ", expected " +
        (kinds == MaskKinds::boolean ? "bool (true = attend)"
         : kinds == MaskKinds::added ? "a floating-point format (added)"
                                     : "bool (true = attend) or a floating-point format (added)"));
  p.mask = broadcast_mask(*mask, p, false);
}

// The output, shaped as the query with the value's width.
inline void read_output(const Call& call, Arrays& arrays, Problem& p) {
  if (const Tensor* out = arrays.find("out")) {
    p.output = claim("out", by_heads("out", Arrays::floating("out", *out), call));
    Arrays::shaped("out", p.output->got,
                   {p.batches(), p.query_heads(), p.queries(), p.value_width()},
                   "(batch, query heads, queries, value width)");
  }
}

// A number for each query: (batch, query head, query), leading axes of one left out at will, seen
// with a last axis of one.
inline Tensor by_queries(const std::string& name, const Tensor& found, const Problem& p) {
  Arrays::floating(name, found);
  Tensor view = found;
  view.shape.push_back(1);
  view.strides.push_back(0);
  view = view.rank() <= 4 ? with_leading_axes(view) : view;
  if (view.shape != Shape{p.batches(), p.query_heads(), p.queries(), 1})
    throw Arrays::wrong_shape(name, found,
                              to_string(Shape{p.batches(), p.query_heads(), p.queries()}) +
                                  ", (batch, query heads, queries)");
  return view;
}

// The gradient of an array that is read by heads.
inline std::optional<Claim> read_gradient(const std::string& name, Arrays& arrays,
                                          const Tensor& of) {
  const Tensor* found = arrays.find(name);
  if (!found) return std::nullopt;
  const Tensor view = by_heads(name, Arrays::floating(name, *found), arrays.call());
  return claim(name, Arrays::shaped(name, view, of.shape, "the shape of what it is by"));
}

// Those of these arrays that the call holds are named as not judged.
inline void leave_unjudged(Arrays& arrays, Problem& p, std::initializer_list<const char*> names) {
  for (const char* start : {"dout", "dlse"}) arrays.find(start);
  for (const char* name : names)
    if (arrays.find(name)) p.not_judged.push_back(name);
}

// The log-sum-exp, and gradients with what they start from.
inline void read_log_sum_exp_and_gradients(Arrays& arrays, Problem& p) {
  const Tensor& q = arrays.required("q");
  const bool queries_by_head = by_heads("q", q, arrays.call()).shape == p.query.shape;
  if (!queries_by_head)  // heads side by side
    return leave_unjudged(arrays, p, {"lse", "dq", "dk", "dv", "dsinks", "dattn_mask"});
  if (const Tensor* found = arrays.find("lse"))
    p.log_sum_exp = claim("lse", by_queries("lse", *found, p));
  const Tensor& k = arrays.required("k");
  if (p.key.rows || by_heads("k", k, arrays.call()).shape != p.key.shape)  // in pages
    return leave_unjudged(arrays, p, {"dq", "dk", "dv", "dsinks", "dattn_mask"});
  p.d_query = read_gradient("dq", arrays, p.query);
  p.d_key = read_gradient("dk", arrays, p.key);
  p.d_value = read_gradient("dv", arrays, p.value);
  if (const Tensor* found = arrays.find("dsinks")) {
    const Shape one_each{p.query_heads()};
    Arrays::shaped("dsinks", Arrays::floating("dsinks", *found), one_each,
                   "one for each query head");
    p.d_sinks = claim("dsinks", with_leading_axes(*found));
  }
  if (const Tensor* found = arrays.find("dattn_mask")) {
    const Tensor* mask = arrays.find("attn_mask");
    if (!mask || !mask->format() || !p.mask)
      throw BadCall("array \"dattn_mask\": expected an added attn_mask beside it");
    Arrays::shaped("dattn_mask", Arrays::floating("dattn_mask", *found), mask->shape,
                   "the shape of attn_mask");
    p.d_bias = claim("dattn_mask", with_leading_axes(*found));
    p.d_bias_extents = p.d_bias->got.shape;
  }
  const Tensor* d_output = arrays.find("dout");
  const Tensor* d_log_sum_exp = arrays.find("dlse");
  if (p.has_gradients() && !d_output)
    throw BadCall("array \"dout\" is missing: gradients start from it");
  if (d_output) {
    const Tensor view = by_heads("dout", Arrays::floating("dout", *d_output), arrays.call());
    p.d_output =
        Arrays::shaped("dout", view, {p.batches(), p.query_heads(), p.queries(), p.value_width()},
                       "(batch, query heads, queries, value width)");
  }
  if (d_log_sum_exp) p.d_log_sum_exp = by_queries("dlse", *d_log_sum_exp, p);
}

// What torch and plain share: arrays of 2 to 4 axes, no cache, out and possibly gradients beside
// it.
inline Problem read_heads(const Call& call, Arrays& arrays) {
  Problem p = read_query_key_value(call, arrays);
  read_mask(arrays, p);
  read_output(call, arrays, p);
  read_log_sum_exp_and_gradients(arrays, p);
  return p;
}

// Whole numbers, whatever axes of extent 1 surround them; each from `least` to `most`.
inline std::vector<std::int64_t> whole_numbers(const std::string& name, const Tensor& found,
                                               std::size_t count, const std::string& meaning,
                                               std::int64_t least, std::int64_t most) {
  if (found.format() || found.type == ElementType::boolean)
    throw BadCall("array \"" + name + "\": found " + std::string(facts(found.type).name) +
                  ", expected integers");
  if (found.size() != count)
    throw Arrays::wrong_shape(name, found, to_string(Shape{count}) + ", " + meaning);
  std::vector<std::int64_t> numbers;
  const auto bytes = static_cast<std::ptrdiff_t>(facts(found.type).bytes);
  for (std::size_t n = 0; n < count; ++n) {
    const std::int64_t number =
        found.integer_at(found.data + static_cast<std::ptrdiff_t>(n) * bytes);
    if (number < least || number > most)
      throw BadCall("array \"" + name + "\": found " + std::to_string(number) + ", expected " +
                    std::to_string(least) + " to " + std::to_string(most));
    numbers.push_back(number);
  }
  return numbers;
}

// One length for each batch entry, at most `most`.
inline std::optional<std::vector<std::size_t>> read_lengths(const std::string& name, Arrays& arrays,
                                                            const Problem& p, std::size_t most) {
  const Tensor* found = arrays.find(name);
  if (!found) return std::nullopt;
  const std::vector<std::int64_t> lengths =
      whole_numbers(name, *found, p.batches(), "one length for each batch entry", 0,
                    static_cast<std::int64_t>(most));
  return std::vector<std::size_t>(lengths.begin(), lengths.end());
}

// Attention sinks, a score for each query head.
inline void read_sinks(const std::string& name, Arrays& arrays, Problem& p) {
  const Tensor* found = arrays.find(name);
  if (!found) return;
  Arrays::floating(name, *found);
  if (found->size() != p.query_heads())
    throw Arrays::wrong_shape(name, *found,
                              to_string(Shape{p.query_heads()}) + ", one for each query head");
  const auto bytes = static_cast<std::ptrdiff_t>(facts(found->type).bytes);
  for (std::size_t h = 0; h < p.query_heads(); ++h)
    p.sinks.push_back(found->number_at(found->data + static_cast<std::ptrdiff_t>(h) * bytes));
}

// ALiBi's slopes, one for each query head, or for each batch entry and query head.
inline bool read_alibi_slopes(Arrays& arrays, Problem& p) {
  const Tensor* found = arrays.find("alibi_slopes");
  if (!found) return false;
  Arrays::floating("alibi_slopes", *found);
  const std::size_t heads = p.query_heads();
  const bool for_all = found->shape == Shape{heads};
  if (!for_all && found->shape != Shape{p.batches(), heads})
    throw Arrays::wrong_shape("alibi_slopes", *found,
                              to_string(Shape{heads}) + " or " +
                                  to_string(Shape{p.batches(), heads}) +
                                  ", one for each query head");
  const auto bytes = static_cast<std::ptrdiff_t>(facts(found->type).bytes);
  for (std::size_t b = 0; b < p.batches(); ++b)
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t at = for_all ? h : b * heads + h;
      const double slope = found->number_at(found->data + static_cast<std::ptrdiff_t>(at) * bytes);
      if (!std::isfinite(slope))
        throw BadCall("array \"alibi_slopes\": found a number that is not finite");
      p.alibi_slopes.push_back(slope);
    }
  return true;
}

// 2^(−most·(h + 1)/n) for the first n heads, n the greatest power of two among them, and every
// other one of 2n for the rest: the slopes that frameworks compute themselves. Only where they are
// powers of two does every framework compute the same.
inline std::vector<double> computed_slopes(const std::string& option, double most,
                                           std::size_t heads, const Options& options) {
  std::size_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<double> slopes;
  for (std::size_t h = 0; h < heads; ++h) {
    const double exponent =
        h < power
            ? -most * static_cast<double>(h + 1) / static_cast<double>(power)
            : -most / 2 * static_cast<double>(2 * (h - power) + 1) / static_cast<double>(power);
    if (exponent != std::floor(exponent) || exponent < -126)
      throw options.wrong(option,
                          "an array alibi_slopes beside it: for " + std::to_string(heads) +
                              " heads the slopes are no powers of two, and rounded ones differ");
    slopes.push_back(std::ldexp(1.0, static_cast<int>(exponent)));
  }
  return slopes;
}

// A past of four axes before the new keys and values.
inline void read_past(Arrays& arrays, Problem& p) {
  const Tensor* past_key = arrays.find("past_key");
  const Tensor* past_value = arrays.find("past_value");
  if (!past_key != !past_value)
    throw BadCall(std::string("array \"") + (past_key ? "past_value" : "past_key") +
                  "\" is missing: past key and past value come together");
  if (!past_key) return;
  Arrays::floating("past_key", *past_key);
  Arrays::floating("past_value", *past_value);
  if (past_key->rank() != 4) throw Arrays::wrong_shape("past_key", *past_key, "4 axes");
  const std::size_t past = past_key->shape[2];
  p.past_key =
      Arrays::shaped("past_key", *past_key, {p.batches(), p.key_value_heads(), past, p.width()},
                     "(batch, key/value heads, past, width)");
  p.past_value = Arrays::shaped("past_value", *past_value,
                                {p.batches(), p.key_value_heads(), past, p.value_width()},
                                "(batch, key/value heads, past, value width)");
}

// past ++ new, bit for bit.
inline void read_present(Arrays& arrays, Problem& p) {
  if (const Tensor* present = arrays.find("present_key"))
    p.present_key = claim(
        "present_key", Arrays::shaped("present_key", *present,
                                      {p.batches(), p.key_value_heads(), p.given_keys(), p.width()},
                                      "(batch, key/value heads, keys, width)"));
  if (const Tensor* present = arrays.find("present_value"))
    p.present_value =
        claim("present_value",
              Arrays::shaped("present_value", *present,
                             {p.batches(), p.key_value_heads(), p.given_keys(), p.value_width()},
                             "(batch, key/value heads, keys, value width)"));
}

// Queries that end where their keys end, in each batch entry.
inline void align_bottom_right(Problem& p) {
  for (std::size_t b = 0; b < p.batches(); ++b)
    p.offsets[b] = static_cast<long>(p.lengths[b]) - static_cast<long>(p.query_length(b));
}

inline double positive_softcap(Options& options, const std::string& name) {
  const double softcap = options.number(name, 0);
  if (!(softcap >= 0) || !std::isfinite(softcap))
    throw options.wrong(name, "0 (off) or a positive number");
  return softcap;
}

}  // namespace detail
}  // namespace attest::oracle
