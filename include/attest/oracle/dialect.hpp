// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Dialects: named readings of a call. Each turns a framework's arrays and options into a problem.
#pragma once
#include <attest/oracle/call.hpp>
#include <attest/oracle/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attest::oracle {

struct Dialect {
  std::string_view name;
  std::string_view source;  // the text that defines it
  Problem (*read)(const Call&);
};

namespace detail {

// The options of a call, each asked for by name; what nobody asked for is an error.
class Options {
 public:
  Options(const Call& call) : attributes_(call.attributes), dialect_(call.dialect) {}

  bool given(const std::string& name) {
    asked_.insert(name);
    return attributes_.count(name) != 0;
  }
  double number(const std::string& name, double otherwise) {
    if (!given(name)) return otherwise;
    const Attribute& value = attributes_.at(name);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
    throw wrong(name, "a number");
  }
  std::int64_t integer(const std::string& name, std::int64_t otherwise) {
    if (!given(name)) return otherwise;
    if (const auto* integer = std::get_if<std::int64_t>(&attributes_.at(name))) return *integer;
    throw wrong(name, "an integer");
  }
  // true, false, 1 or 0
  bool flag(const std::string& name) {
    if (!given(name)) return false;
    const Attribute& value = attributes_.at(name);
    if (const auto* boolean = std::get_if<bool>(&value)) return *boolean;
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer && (*integer == 0 || *integer == 1)) return *integer == 1;
    throw wrong(name, "0, 1, true or false");
  }
  std::string word(const std::string& name, std::string_view otherwise,
                   std::initializer_list<std::string_view> known) {
    if (!given(name)) return std::string(otherwise);
    const auto* text = std::get_if<std::string>(&attributes_.at(name));
    if (text && std::find(known.begin(), known.end(), *text) != known.end()) return *text;
    std::string list;
    for (std::string_view word : known) list += (list.empty() ? "\"" : ", \"") + std::string(word) + "\"";
    throw wrong(name, "one of " + list);
  }
  std::vector<std::int64_t> integers(const std::string& name, std::size_t count,
                                     std::vector<std::int64_t> otherwise) {
    if (!given(name)) return otherwise;
    const auto* list = std::get_if<std::vector<std::int64_t>>(&attributes_.at(name));
    if (list && list->size() == count) return *list;
    throw wrong(name, "a list of " + std::to_string(count) + " integers");
  }
  // Scale as the framework means it: 1/√d_k unless given.
  Scale scale() {
    const double value = number("scale", 0);
    if (!given("scale")) return Scale::one_over_root_width();
    if (!std::isfinite(value)) throw wrong("scale", "a finite number");
    return Scale::of(value);
  }
  long window(const std::string& name, std::int64_t side) {
    if (side < -1 || side > INT32_MAX) throw wrong(name, "-1 (open) or a number of keys");
    return static_cast<long>(side);
  }

  BadCall wrong(const std::string& name, const std::string& expected) const {
    return BadCall("option \"" + name + "\" of dialect " + dialect_ + ": expected " + expected);
  }
  // Every option of the call has been asked for; otherwise it means something that would be ignored.
  void no_others() const {
    for (const auto& [name, value] : attributes_)
      if (!asked_.count(name)) {
        std::string known;
        for (const std::string& one : asked_) known += (known.empty() ? "" : ", ") + one;
        throw BadCall("unknown option \"" + name + "\" of dialect " + dialect_ + "; it knows " + known);
      }
  }

 private:
  const std::map<std::string, Attribute>& attributes_;
  const std::string& dialect_;
  std::set<std::string> asked_;
};

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
  static BadCall wrong_shape(const std::string& name, const Tensor& found, const std::string& expected) {
    return BadCall("array \"" + name + "\": found shape " + to_string(found.shape) + ", expected " + expected);
  }
  // The array with exactly this shape.
  static const Tensor& shaped(const std::string& name, const Tensor& found, const Shape& expected,
                              const std::string& meaning) {
    if (found.shape != expected) throw wrong_shape(name, found, to_string(expected) + ", " + meaning);
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

// (batch, head, row, column) from (row, column), (head, row, column), or four axes in the call's layout.
inline Tensor by_heads(const std::string& name, const Tensor& found, const Call& call) {
  if (found.rank() < 2 || found.rank() > 4)
    throw Arrays::wrong_shape(name, found, "2, 3 or 4 axes");
  Tensor view = with_leading_axes(found);
  if (found.rank() == 4 && call.layout == "bshd") {
    std::swap(view.shape[1], view.shape[2]);
    std::swap(view.strides[1], view.strides[2]);
  }
  return view;
}

// (batch, head, row, column) from (batch, row, heads·columns): hidden index = head·columns + column.
inline Tensor split_heads(const std::string& name, const Tensor& found, std::size_t heads) {
  const std::size_t hidden = found.shape[2];
  if (hidden % heads != 0)
    throw Arrays::wrong_shape(name, found, "a last axis that is a multiple of its " + std::to_string(heads) + " heads");
  const std::size_t columns = hidden / heads;
  Tensor view = found;
  view.shape = {found.shape[0], heads, found.shape[1], columns};
  view.strides = {found.strides[0], found.strides[2] * static_cast<std::ptrdiff_t>(columns), found.strides[1],
                  found.strides[2]};
  return view;
}

// A mask seen as (batch, query head, query, key): axes are aligned at the right, an axis of extent 1 is repeated. With
// `pad_short_rows` a last axis shorter than the keys stays short (even 1): the keys beyond it are masked.
inline Tensor broadcast_mask(const Tensor& found, const Problem& problem, bool pad_short_rows) {
  if (found.rank() < 1 || found.rank() > 4) throw Arrays::wrong_shape("attn_mask", found, "1 to 4 axes");
  const Shape full = {problem.batches(), problem.query_heads(), problem.queries(), problem.keys()};
  Tensor view = with_leading_axes(found);
  for (std::size_t axis = 0; axis < 4; ++axis) {
    if (axis == 3 && pad_short_rows && view.shape[3] <= full[3]) continue;
    if (view.shape[axis] == full[axis]) continue;
    if (view.shape[axis] != 1)
      throw Arrays::wrong_shape("attn_mask", found, "what broadcasts to " + to_string(full) +
                                                        " (batch, query heads, queries, keys)");
    view.shape[axis] = full[axis];
    view.strides[axis] = 0;
  }
  return view;
}

// Query, key and value fit each other; the first sentence of every definition of attention.
inline void check_shapes(const Problem& p) {
  const auto fits = [](const std::string& name, const Tensor& array, std::size_t axis, const Tensor& other,
                       const std::string& other_name) {
    constexpr const char* axes[] = {"batch entries", "heads", "rows", "columns"};
    if (array.shape[axis] != other.shape[axis])
      throw BadCall("array \"" + name + "\": found " + std::to_string(array.shape[axis]) + " " + axes[axis] +
                    ", expected " + std::to_string(other.shape[axis]) + " as \"" + other_name +
                    "\" has; (batch, heads, rows, columns) is " + to_string(array.shape));
  };
  const auto positive = [](const std::string& name, const Tensor& array, std::initializer_list<std::size_t> axes) {
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
    throw BadCall("array \"q\": found " + std::to_string(p.query_heads()) + " heads, expected a multiple of the " +
                  std::to_string(p.key_value_heads()) + " heads of \"k\"");
}

// What every dialect asks last: nothing in the call was overlooked, and there is something to judge.
inline void finish(const Problem& problem, const Options& options, const Arrays& arrays) {
  options.no_others();
  arrays.no_others();
  if (!problem.output && !problem.scores && !problem.present_key && !problem.present_value)
    throw BadCall("nothing to judge: the call holds none of out, qk_matmul_output, present_key, present_value");
}

inline Claim claim(const std::string& name, Tensor view) { return {name, std::move(view)}; }

// ONNX Attention, operator sets 23, 24 and 25, as the operator's text and function body define it.
template <int Opset>
Problem read_onnx(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p;

  const Tensor& q = arrays.required("q");
  const Tensor& k = arrays.required("k");
  const Tensor& v = arrays.required("v");
  const Tensor* out = arrays.find("out");
  const bool hidden_layout = q.rank() == 3;
  if ((q.rank() != 3 && q.rank() != 4) || k.rank() != q.rank() || v.rank() != q.rank())
    throw BadCall("arrays \"q\", \"k\", \"v\": found " + std::to_string(q.rank()) + ", " + std::to_string(k.rank()) +
                  " and " + std::to_string(v.rank()) + " axes, expected all 3 or all 4");
  const std::int64_t query_heads = options.integer("q_num_heads", 0);
  const std::int64_t key_value_heads = options.integer("kv_num_heads", 0);
  if (hidden_layout) {
    if (query_heads <= 0 || query_heads > INT32_MAX) throw options.wrong("q_num_heads", "the number of heads: q has 3 axes");
    if (key_value_heads <= 0 || key_value_heads > INT32_MAX)
      throw options.wrong("kv_num_heads", "the number of heads: k has 3 axes");
    p.query = split_heads("q", q, static_cast<std::size_t>(query_heads));
    p.key = split_heads("k", k, static_cast<std::size_t>(key_value_heads));
    p.value = split_heads("v", v, static_cast<std::size_t>(key_value_heads));
  } else {
    if (Opset >= 25 && (options.given("q_num_heads") || options.given("kv_num_heads")))
      throw options.wrong("q_num_heads", "no head counts with 4 axes");
    p.query = by_heads("q", q, call);
    p.key = by_heads("k", k, call);
    p.value = by_heads("v", v, call);
  }
  check_shapes(p);
  p.format = *q.format();
  const std::size_t batches = p.batches();

  const Tensor* past_key = arrays.find("past_key");
  const Tensor* past_value = arrays.find("past_value");
  if (!past_key != !past_value)
    throw BadCall(std::string("array \"") + (past_key ? "past_value" : "past_key") +
                  "\" is missing: past key and past value come together");
  if (past_key) {
    Arrays::floating("past_key", *past_key);
    Arrays::floating("past_value", *past_value);
    if (past_key->rank() != 4) throw Arrays::wrong_shape("past_key", *past_key, "4 axes");
    const std::size_t past = past_key->shape[2];
    p.past_key = Arrays::shaped("past_key", *past_key, {batches, p.key_value_heads(), past, p.width()},
                                "(batch, key/value heads, past, width)");
    p.past_value = Arrays::shaped("past_value", *past_value, {batches, p.key_value_heads(), past, p.value_width()},
                                  "(batch, key/value heads, past, value width)");
  }

  // Causality and window count from the end of the past, or from each entry's end of valid keys, or from 0.
  p.offsets.assign(batches, static_cast<long>(p.past()));
  p.lengths.assign(batches, p.keys());
  const Tensor* nonpad = Opset >= 24 ? arrays.find("nonpad_kv_seqlen") : nullptr;
  if (nonpad) {
    if (past_key) throw BadCall("array \"nonpad_kv_seqlen\": found together with past_key, expected one of them");
    if (nonpad->format())
      throw BadCall("array \"nonpad_kv_seqlen\": found " + std::string(facts(nonpad->type).name) + ", expected int64");
    Arrays::shaped("nonpad_kv_seqlen", *nonpad, {batches}, "one length for each batch entry");
    for (std::size_t b = 0; b < batches; ++b) {
      const std::int64_t length = nonpad->integer_at(nonpad->data + static_cast<std::ptrdiff_t>(b) * nonpad->strides[0]);
      if (length < 0 || length > static_cast<std::int64_t>(p.keys()))
        throw BadCall("array \"nonpad_kv_seqlen\": found length " + std::to_string(length) + ", expected 0 to " +
                      std::to_string(p.keys()));
      p.lengths[b] = static_cast<std::size_t>(length);
      p.offsets[b] = static_cast<long>(length) - static_cast<long>(p.queries());
    }
  }

  const Tensor* mask = arrays.find("attn_mask");
  if (mask) p.mask = broadcast_mask(*mask, p, Opset >= 24);

  // scale and softcap are float32 attributes of the model; a softcap of 0 or below is no cap.
  p.rule.scale = options.scale();
  if (!p.rule.scale.by_width) p.rule.scale.given = formats::float32.round(p.rule.scale.given);
  p.rule.scale_by_square_roots = true;
  p.rule.softcap = std::max(0.0, formats::float32.round(options.number("softcap", 0)));
  if (!std::isfinite(p.rule.softcap)) throw options.wrong("softcap", "a finite number of float32");
  p.rule.causal = options.flag("is_causal");
  if (Opset >= 25) {
    p.rule.window_left = options.window("left_window_size", options.integer("left_window_size", -1));
    p.rule.window_right = options.window("right_window_size", options.integer("right_window_size", -1));
  }
  p.rule.empty_row = EmptyRow::zero;
  p.rule.masked_non_finite = MaskedNonFinite::propagate;
  if (options.given("softmax_precision")) {
    switch (options.integer("softmax_precision", 0)) {  // TensorProto.DataType
      case 1: p.softmax_format = &formats::float32; break;
      case 10: p.softmax_format = &formats::float16; break;
      case 11: p.softmax_format = &formats::float64; break;
      case 16: p.softmax_format = &formats::bfloat16; break;
      default: throw options.wrong("softmax_precision", "1 (float32), 10 (float16), 11 (float64) or 16 (bfloat16)");
    }
  }
  if (p.format == formats::float64) {
    // The text takes √scale exactly; the function body takes it in float32 and only then widens it.
    const float scale = p.rule.scale.by_width ? 1 / std::sqrt(static_cast<float>(p.width()))
                                              : static_cast<float>(p.rule.scale.given);
    const double root = scale > 0 ? static_cast<double>(std::sqrt(scale)) : 0;
    if (root > 0) {
      Rule body = p.rule;
      body.scale = Scale::of(root * root);
      p.alternatives.push_back({"square root of the scale in float32, as the function body has it", body});
    }
  }
  const std::int64_t stage = options.integer("qk_matmul_output_mode", 0);
  if (stage < 0 || stage > 3) throw options.wrong("qk_matmul_output_mode", "0, 1, 2 or 3");
  p.score_stage = static_cast<ScoreStage>(stage);

  if (out) {
    Arrays::floating("out", *out);
    if (hidden_layout) {
      Arrays::shaped("out", *out, {batches, p.queries(), p.query_heads() * p.value_width()},
                     "(batch, queries, heads·value width)");
      p.output = claim("out", split_heads("out", *out, p.query_heads()));
    } else {
      p.output = claim("out", by_heads("out", *out, call));
      Arrays::shaped("out", p.output->got, {batches, p.query_heads(), p.queries(), p.value_width()},
                     "(batch, query heads, queries, value width)");
    }
  }
  if (const Tensor* scores = arrays.find("qk_matmul_output"))
    p.scores = claim("qk_matmul_output",
                     Arrays::shaped("qk_matmul_output", Arrays::floating("qk_matmul_output", *scores),
                                    {batches, p.query_heads(), p.queries(), p.keys()},
                                    "(batch, query heads, queries, keys)"));
  if (const Tensor* present = arrays.find("present_key"))
    p.present_key = claim("present_key",
                          Arrays::shaped("present_key", *present, {batches, p.key_value_heads(), p.keys(), p.width()},
                                         "(batch, key/value heads, keys, width)"));
  if (const Tensor* present = arrays.find("present_value"))
    p.present_value = claim(
        "present_value", Arrays::shaped("present_value", *present,
                                        {batches, p.key_value_heads(), p.keys(), p.value_width()},
                                        "(batch, key/value heads, keys, value width)"));
  finish(p, options, arrays);
  return p;
}

// What torch and plain share: arrays of 2 to 4 axes, no cache, out and possibly gradients beside it.
inline Problem read_heads(const Call& call, Arrays& arrays) {
  Problem p;
  p.query = by_heads("q", arrays.required("q"), call);
  p.key = by_heads("k", arrays.required("k"), call);
  p.value = by_heads("v", arrays.required("v"), call);
  check_shapes(p);
  p.format = *p.query.format();
  p.offsets.assign(p.batches(), 0);
  p.lengths.assign(p.batches(), p.keys());
  if (const Tensor* mask = arrays.find("attn_mask")) p.mask = broadcast_mask(*mask, p, false);
  if (const Tensor* out = arrays.find("out")) {
    p.output = claim("out", by_heads("out", Arrays::floating("out", *out), call));
    Arrays::shaped("out", p.output->got, {p.batches(), p.query_heads(), p.queries(), p.value_width()},
                   "(batch, query heads, queries, value width)");
  }
  arrays.find("dout");
  for (const char* gradient : {"lse", "dq", "dk", "dv"})
    if (arrays.find(gradient)) p.not_judged.push_back(gradient);
  return p;
}

// torch.nn.functional.scaled_dot_product_attention. Causality is aligned top-left; a row without keys is zero since
// the math path uses _safe_softmax (2.5); causal together with a mask is an error.
inline Problem read_torch(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_heads(call, arrays);
  p.rule.scale = options.scale();
  p.rule.causal = options.flag("is_causal");
  p.rule.empty_row = EmptyRow::zero;
  if (p.rule.causal && p.mask)
    throw BadCall("option \"is_causal\" of dialect torch: found together with attn_mask, expected one of them");
  if (options.number("dropout_p", 0) != 0) throw options.wrong("dropout_p", "0: dropout has no one right output");
  if (!options.flag("enable_gqa") && p.query_heads() != p.key_value_heads())
    throw BadCall("array \"k\": found " + std::to_string(p.key_value_heads()) + " heads, expected " +
                  std::to_string(p.query_heads()) + " as q has, or the option enable_gqa");
  finish(p, options, arrays);
  return p;
}

// Home-made attention without a framework; docs/captures.md lists the options.
inline Problem read_plain(const Call& call) {
  Options options(call);
  Arrays arrays(call);
  Problem p = read_heads(call, arrays);
  p.rule.scale = options.scale();
  p.rule.softcap = options.number("softcap", 0);
  if (!(p.rule.softcap >= 0) || !std::isfinite(p.rule.softcap)) throw options.wrong("softcap", "0 (off) or a positive number");
  const std::string causal = options.word("causal", "none", {"none", "top-left", "bottom-right"});
  p.rule.causal = causal != "none";
  if (causal == "bottom-right")
    p.offsets.assign(p.batches(), static_cast<long>(p.keys()) - static_cast<long>(p.queries()));
  const std::vector<std::int64_t> window = options.integers("window", 2, {-1, -1});
  p.rule.window_left = options.window("window", window[0]);
  p.rule.window_right = options.window("window", window[1]);
  p.rule.head_map = options.word("heads_map", "blocked", {"blocked", "tiled"}) == "tiled" ? HeadMap::tiled : HeadMap::blocked;
  const std::string empty_row = options.word("empty_row", "zero", {"zero", "nan", "mean", "any"});
  p.rule.empty_row = empty_row == "zero"   ? EmptyRow::zero
                     : empty_row == "nan"  ? EmptyRow::nan
                     : empty_row == "mean" ? EmptyRow::mean
                                           : EmptyRow::unspecified;
  finish(p, options, arrays);
  return p;
}

}  // namespace detail

inline constexpr Dialect dialects[] = {
    {"onnx-23", "ONNX operator Attention, operator set 23", detail::read_onnx<23>},
    {"onnx-24", "ONNX operator Attention, operator set 24", detail::read_onnx<24>},
    {"onnx-25", "ONNX operator Attention, operator set 25", detail::read_onnx<25>},
    {"torch", "PyTorch 2.5 and later, torch.nn.functional.scaled_dot_product_attention", detail::read_torch},
    {"plain", "home-made attention, every choice an option of its own", detail::read_plain},
};

// Reads the call by its dialect. Throws BadCall where the call cannot be meant.
inline Problem read_problem(const Call& call) {
  std::string known;
  for (const Dialect& dialect : dialects) {
    if (dialect.name == call.dialect) return dialect.read(call);
    known += (known.empty() ? "" : ", ") + std::string(dialect.name);
  }
  throw BadCall("unknown dialect \"" + call.dialect + "\"; known are " + known);
}

}  // namespace attest::oracle
