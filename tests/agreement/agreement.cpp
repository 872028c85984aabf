// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Computes everything twice, while it is compiled and while it runs, and compares the bits. What it
// prints is the same for every compiler, flag and processor: agreement.txt.
#include <attest/attest.hpp>
#include <attest/exp.hpp>
#include <attest/fixed.hpp>
#include <attest/formats.hpp>
#include <attest/log.hpp>
#include <attest/sincos.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>

#include "board.hpp"

namespace {

using namespace attest;

// Where the inputs of a computation come from: as they stand in the source, or read from memory the
// compiler must not look into.
struct AsWritten {
  template <class A>
  constexpr A operator()(const A& a) const {
    return a;
  }
};
struct AtRunTime {
  template <class A>
  A operator()(const A& a) const {
    volatile A cell = a;
    return cell;
  }
  template <class T, size_t R, size_t C>
  Matrix<T, R, C> operator()(const Matrix<T, R, C>& a) const {
    Matrix<T, R, C> result;
    for (size_t i = 0; i < R; ++i)
      for (size_t j = 0; j < C; ++j) result[i][j] = (*this)(a[i][j]);
    return result;
  }
};

// xorshift (Marsaglia 2003).
constexpr uint32_t next(uint32_t& state) {
  state ^= state << 13;
  state ^= state >> 17;
  return state ^= state << 5;
}

// ±[2^-exponents, 2) with all bits of the fraction in use, times a unit.
template <class T>
constexpr T number(uint32_t& state, uint32_t exponents = 4) {
  using Word = bits::Word<T>;
  constexpr int fraction_bits = sizeof(T) == 4 ? 23 : 52, bias = sizeof(T) == 4 ? 127 : 1023;
  const Word sign = next(state) & 1;
  const Word exponent = static_cast<Word>(bias - next(state) % (exponents + 1));
  const uint64_t high = next(state), low = next(state);
  const Word fraction = static_cast<Word>((high << 32 | low) >> (64 - fraction_bits));
  return bits::bit_cast<T>(static_cast<Word>(sign << (sizeof(T) * 8 - 1)) |
                           static_cast<Word>(exponent << fraction_bits) | fraction);
}
template <class T, size_t R, size_t C>
constexpr Matrix<T, R, C> numbers(uint32_t seed, T unit = T(1)) {
  Matrix<T, R, C> result;
  for (auto& row : result.entries)
    for (auto& entry : row) entry = unit * number<T>(seed);
  return result;
}
template <size_t R, size_t C>
constexpr Matrix<bool, R, C> pattern(uint32_t seed) {
  Matrix<bool, R, C> mask;
  for (size_t i = 1; i < R; ++i)  // the first query sees nothing
    for (size_t j = 0; j < C; ++j) mask[i][j] = i + 1 == R || next(seed) % 3 != 0;
  return mask;
}

// One computation each: the same expression for both times.
template <class T>
struct AllKeys {  // d = 4, a power of four: 1/√d is exact
  static constexpr const char* name = "attention, all keys, d = 4";
  template <class Input>
  static constexpr auto result(const Input& input) {
    return attention(Query{input(numbers<T, 5, 4>(1))}, Key{input(numbers<T, 7, 4>(2))},
                     Value{input(numbers<T, 7, 3>(3))});
  }
};
template <class T>
struct CausalKeys {
  static constexpr const char* name = "attention, causal, d = 16";
  template <class Input>
  static constexpr auto result(const Input& input) {
    return attention(Query{input(numbers<T, 12, 16>(4))}, Key{input(numbers<T, 12, 16>(5))},
                     Value{input(numbers<T, 12, 16>(6))}, causal);
  }
};
template <class T>
struct CausalAfter {
  static constexpr const char* name = "attention, causal after 5, d = 8";
  template <class Input>
  static constexpr auto result(const Input& input) {
    return attention(Query{input(numbers<T, 3, 8>(7))}, Key{input(numbers<T, 8, 8>(8))},
                     Value{input(numbers<T, 8, 5>(9))}, causal_after(5));
  }
};
template <class T>
struct MaskedKeys {
  static constexpr const char* name = "attention, mask, d = 11";
  template <class Input>
  static constexpr auto result(const Input& input) {
    return attention(Query{input(numbers<T, 6, 11>(10))}, Key{input(numbers<T, 9, 11>(11))},
                     Value{input(numbers<T, 9, 4>(12))}, input(pattern<6, 9>(13)));
  }
};
template <class T>
struct SelfAttention {
  static constexpr const char* name = "self-attention, projected, d = 6";
  template <class Input>
  static constexpr auto result(const Input& input) {
    const auto x = input(numbers<T, 8, 12>(14));
    return attention(Query{x * input(numbers<T, 12, 6>(15))}, Key{x * input(numbers<T, 12, 6>(16))},
                     Value{x * input(numbers<T, 12, 6>(17))}, causal);
  }
};
template <class T>
struct FromCache {  // token by token: the numbers of CausalKeys
  static constexpr const char* name = "attention, causal, d = 16, cached";
  template <class Input>
  static constexpr auto result(const Input& input) {
    const auto q = input(numbers<T, 12, 16>(4)), k = input(numbers<T, 12, 16>(5)),
               v = input(numbers<T, 12, 16>(6));
    KeyValueCache<T, 14, 16, 16> cache;
    Matrix<T, 12, 16> output;
    for (size_t i = 0; i < 12; ++i) {
      Query<T, 1, 16> newest;
      for (size_t t = 0; t < 16; ++t) newest.matrix[0][t] = q[i][t];
      if (!cache.append(k[i], v[i])) return output;
      const auto row = attention<Rule{.causal = true}>(newest, cache);
      for (size_t t = 0; t < 16; ++t) output[i][t] = row[0][t];
    }
    return output;
  }
};
template <class T>
struct InTiles {
  static constexpr const char* name = "attention, softcap, ALiBi, sink, tiles of 5";
  template <class Input>
  static constexpr auto result(const Input& input) {
    constexpr Rule rule{.softcap = 3, .alibi = true, .causal = true, .offset = 9};
    return streaming_attention<5, rule>(Query{input(numbers<T, 3, 8>(26))},
                                        Key{input(numbers<T, 12, 8>(27))},
                                        Value{input(numbers<T, 12, 4>(28))}, everything, no_bias,
                                        Sink{input(numbers<T, 1, 1>(29))[0][0]});
  }
};
template <class T>
struct GroupedHeads {
  static constexpr const char* name = "attention, 4 query heads, 2 of keys, d = 3";
  template <class Input>
  static constexpr auto result(const Input& input) {
    return join_heads(attention<Rule{.causal = true, .head_map = HeadMap::tiled}>(
        split_heads<4>(Query{input(numbers<T, 5, 12>(30))}),
        split_heads<2>(Key{input(numbers<T, 5, 6>(31))}),
        split_heads<2>(Value{input(numbers<T, 5, 8>(32))})));
  }
};
template <class T>
struct LargeScores {  // most weights underflow, some to subnormal numbers
  static constexpr const char* name = "weights, large scores, d = 16";
  template <class Input>
  static constexpr auto result(const Input& input) {
    return attention_weights(Query{input(numbers<T, 6, 16>(18, T(sizeof(T) == 4 ? 8 : 24)))},
                             Key{input(numbers<T, 10, 16>(19, T(4)))});
  }
};
template <class T>
struct LongRows {  // more than two rounds of the 32 lanes a row is added in
  static constexpr const char* name = "weights, 77 keys, d = 4";
  template <class Input>
  static constexpr auto result(const Input& input) {
    return attention_weights(Query{input(numbers<T, 2, 4>(24))}, Key{input(numbers<T, 77, 4>(25))},
                             causal_after(75));
  }
};
// Eight queries that are worked on together, in full tiles of the widest vectors, and one that is
// left; two turns of the lanes a row is added in.
template <Rule rule, class T, class Input, class Visible>
constexpr auto of_nine_queries(const Input& input, const Visible& visible) {
  return attention<rule>(Query{input(numbers<T, 9, 16>(33))}, Key{input(numbers<T, 64, 16>(34))},
                         Value{input(numbers<T, 64, 16>(35))}, visible);
}
template <class T>
struct NineQueries {
  static constexpr const char* name = "attention, 9 queries, 64 keys, d = 16";
  template <class Input>
  static constexpr auto result(const Input& input) {
    return of_nine_queries<Rule{}, T>(input, everything);
  }
};
template <class T>
struct NineWindows {
  static constexpr const char* name = "attention, 9 queries, 64 keys, d = 16, window";
  template <class Input>
  static constexpr auto result(const Input& input) {
    constexpr Rule rule{.offset = 55, .window_left = 30, .window_right = 5};
    return of_nine_queries<rule, T>(input, everything);
  }
};
template <class T>
struct NineMaskedQueries {
  static constexpr const char* name = "attention, 9 queries, 64 keys, d = 16, mask";
  template <class Input>
  static constexpr auto result(const Input& input) {
    return of_nine_queries<Rule{}, T>(input, input(pattern<9, 64>(36)));
  }
};
template <class T>
struct SubnormalValues {
  static constexpr const char* name = "attention, subnormal values, d = 8";
  template <class Input>
  static constexpr auto result(const Input& input) {
    constexpr T tiny = T(sizeof(T) == 4 ? 0x1p-130 : 0x1p-1026);
    return attention(Query{input(numbers<T, 4, 8>(20))}, Key{input(numbers<T, 6, 8>(21))},
                     Value{input(numbers<T, 6, 8>(22, tiny))}, causal_after(2));
  }
};

// Every kind of number: zero, subnormal, normal, infinite, none; where exp overflows and
// underflows; and numbers of many magnitudes.
template <class T>
constexpr Matrix<T, 8, 8> arguments() {
  using Word = bits::Word<T>;
  constexpr Word smallest_normal = Word{1} << (sizeof(T) == 4 ? 23 : 52);
  constexpr T infinity = bits::infinity<T>;
  const T special[26] = {T(0),
                         -T(0),
                         T(1),
                         T(-1),
                         T(0.5),
                         T(2),
                         T(4),
                         T(10),
                         infinity,
                         -infinity,
                         bits::quiet_nan<T>,
                         bits::bit_cast<T>(Word{1}),
                         -bits::bit_cast<T>(Word{1}),
                         bits::bit_cast<T>(smallest_normal - 1),
                         bits::bit_cast<T>(smallest_normal),
                         bits::bit_cast<T>(bits::bit_cast<Word>(infinity) - 1),
                         T(88.5),
                         T(89),
                         T(-90),
                         T(-103.5),
                         T(-104),
                         T(709.5),
                         T(710),
                         T(-710),
                         T(-745),
                         T(-746)};
  Matrix<T, 8, 8> result;
  uint32_t seed = 23;
  for (size_t i = 0; i < 64; ++i)
    result[i / 8][i % 8] = i < 26 ? special[i] : T(512) * number<T>(seed, 24);
  return result;
}
template <class T, class Function>
constexpr Matrix<T, 8, 8> each(Function function, const Matrix<T, 8, 8>& x) {
  Matrix<T, 8, 8> result;
  for (size_t i = 0; i < 8; ++i)
    for (size_t j = 0; j < 8; ++j) result[i][j] = function(x[i][j]);
  return result;
}

using q3_12 = fixed<int16_t, 12>;

#define ATTEST_AGREEMENT(Name, expression)                                \
  template <class T>                                                      \
  struct Name {                                                           \
    static constexpr const char* name = #expression;                      \
    template <class Input>                                                \
    static constexpr auto result(const Input& input) {                    \
      return each([](T x) { return expression; }, input(arguments<T>())); \
    }                                                                     \
  }
ATTEST_AGREEMENT(Exp, exp(x));
ATTEST_AGREEMENT(Exp2, exp2(x));
ATTEST_AGREEMENT(Log, log(x));
ATTEST_AGREEMENT(Log2, log2(x));
ATTEST_AGREEMENT(Sqrt, sqrt(x));
ATTEST_AGREEMENT(Rsqrt, rsqrt(x));
ATTEST_AGREEMENT(Tanh, tanh(x));
ATTEST_AGREEMENT(Sin, sin(x));
ATTEST_AGREEMENT(Cos, cos(x));
ATTEST_AGREEMENT(ToFloat16, T(float16(x)));
ATTEST_AGREEMENT(ToBfloat16, T(bfloat16(x)));
ATTEST_AGREEMENT(ToE4m3, T(float8_e4m3fn(x)));
ATTEST_AGREEMENT(ToE5m2, T(float8_e5m2(x)));
ATTEST_AGREEMENT(ToFixed, T(q3_12(x)));
#undef ATTEST_AGREEMENT

// FNV-1a of the bytes of all numbers, the lowest byte first.
constexpr uint64_t basis = 0xcbf29ce484222325;
constexpr uint64_t hash_of_word(uint64_t hash, uint64_t word, int bytes) {
  for (int shift = 0; shift < 8 * bytes; shift += 8)
    hash = (hash ^ (word >> shift & 255)) * 0x100000001b3;
  return hash;
}
template <class T, size_t R, size_t C>
constexpr uint64_t hash_of(const Matrix<T, R, C>& a) {
  uint64_t hash = basis;
  for (const auto& row : a.entries)
    for (const T entry : row)
      hash = hash_of_word(hash, bits::bit_cast<bits::Word<T>>(entry), int{sizeof(T)});
  return hash;
}
template <class T, size_t R, size_t C>
uint32_t different(const Matrix<T, R, C>& a, const Matrix<T, R, C>& b) {
  using Word = bits::Word<T>;
  uint32_t count = 0;
  for (size_t i = 0; i < R; ++i)
    for (size_t j = 0; j < C; ++j)
      count += bits::bit_cast<Word>(a[i][j]) != bits::bit_cast<Word>(b[i][j]);
  return count;
}

template <class Computation>
inline constexpr auto proved = Computation::result(AsWritten{});

// Runs a computation, prints the hash of what came out, and adds to the hash of everything.
template <class Computation>
bool runs_as_proved(const char* type, uint64_t& all) {
  const auto run = Computation::result(AtRunTime{});
  const uint64_t hash = hash_of(run);
  all = hash_of_word(all, hash, 8);
  board::print_hexadecimal(hash);
  board::print("  ");
  board::print(type);
  board::print("  ");
  board::print(Computation::name);
  const uint32_t count = different(run, proved<Computation>);
  if (count > 0) {
    board::print(": ");
    board::print_decimal(count);
    board::print(" of ");
    board::print_decimal(run.rows * run.columns);
    board::print(" numbers are not those of compile time");
  }
  board::print("\n");
  return count == 0;
}

template <class... Computations>
struct Computed {
  static constexpr uint64_t hash() {
    uint64_t all = basis;
    ((all = hash_of_word(all, hash_of(proved<Computations>), 8)), ...);
    return all;
  }
  static bool runs(const char* type, uint64_t& all) {
    bool same = true;
    ((same = runs_as_proved<Computations>(type, all) && same), ...);
    return same;
  }
};

template <class T>
using Everywhere =
    Computed<AllKeys<T>, CausalKeys<T>, CausalAfter<T>, MaskedKeys<T>, SelfAttention<T>,
             FromCache<T>, InTiles<T>, GroupedHeads<T>, LargeScores<T>, LongRows<T>, NineQueries<T>,
             NineWindows<T>, NineMaskedQueries<T>, SubnormalValues<T>, Exp<T>, Exp2<T>, Log<T>,
             Log2<T>, Sqrt<T>, Rsqrt<T>, Tanh<T>, Sin<T>, Cos<T>, ToFloat16<T>, ToBfloat16<T>,
             ToE4m3<T>, ToE5m2<T>, ToFixed<T>>;

// The results themselves, whoever computes them. They change only when the order of an attention's
// operations does, never by another compiler or processor.
constexpr uint64_t float_results = 0x08f4878a096cbaa3;
constexpr uint64_t double_results = 0x8100114d7bfaee0b;
static_assert(Everywhere<float>::hash() == float_results);
static_assert(Everywhere<double>::hash() == double_results);

}  // namespace

int board::program() {
  uint64_t floats = basis, doubles = basis;
  bool same = Everywhere<float>::runs("float ", floats);
  same = Everywhere<double>::runs("double", doubles) && same;
  same = same && floats == float_results && doubles == double_results;
  print_hexadecimal(floats);
  print("  float   everything\n");
  print_hexadecimal(doubles);
  print("  double  everything\n");
  return same ? 0 : 1;
}
