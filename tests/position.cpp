// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Positions against a hundred digits: frequencies, sinusoids and turned pairs within the error the
// header states, and what rotary embeddings promise of products and norms.
#include "random_matrix.hpp"
//
#include <attest/algebra.hpp>
#include <attest/attention.hpp>
#include <attest/position.hpp>
#include <cmath>

#include "reference_attention.hpp"

namespace {
using namespace attest;
using namespace tests;

// ω_i = base^(−2i/width), and what the header says of it.
struct ReferenceFrequency {
  Real value;
  Real lambda;

  ReferenceFrequency(size_t pair, size_t width, double base) {
    const Real exponent = Real(2 * pair) / width;
    value = pow(Real(base), Real(-exponent));
    lambda = exponent * abs(Real(log(Real(base))));
  }
  Real frequency_bound() const {
    return higher_orders * (1 + 3 * lambda) * unit_roundoff<double> * value;
  }
  Real angle_bound(size_t position) const {
    return higher_orders * (2 + 3 * lambda) * unit_roundoff<double> * Real(position) * value;
  }
};

// u for rounding cosine or sine to T, and once more to double before.
template <class T>
Real rounding_of_a_sine() {
  return higher_orders *
         (unit_roundoff<T> + (sizeof(T) < sizeof(double) ? unit_roundoff<double> : Real(0)));
}

template <size_t Width>
void frequencies_are_within_the_bound(double base) {
  const auto of_pair = angles<double, Width>(base);
  for (size_t i = 0; i < Width / 2; ++i) {
    CAPTURE(base, i);
    const ReferenceFrequency exact(i, Width, base);
    CHECK(abs(Real(Real(of_pair.frequency[i]) - exact.value)) <= exact.frequency_bound());
    if (base >= 1) CHECK(exact.angle_bound(1) <= higher_orders * Real(2.2) * unit_roundoff<double>);
  }
}

// Written from the definitions: which entry of a row belongs to which pair, and whether it is the
// sine.
struct Place {
  size_t pair;
  bool second;

  Place(Pairing pairing, size_t width, size_t entry)
      : pair(pairing == Pairing::interleaved ? entry / 2 : entry % (width / 2)),
        second(pairing == Pairing::interleaved ? entry % 2 == 1 : entry >= width / 2) {}
};

template <class T, size_t Width, Pairing pairing>
void sinusoids_are_within_the_bound(size_t first, double base) {
  const auto positions = sinusoidal_positions<T, 3, Width, pairing>(first, base);
  for (size_t p = 0; p < 3; ++p)
    for (size_t t = 0; t < Width; ++t) {
      CAPTURE(first, base, p, t);
      const Place place(pairing, Width, t);
      const ReferenceFrequency frequency(place.pair, Width, base);
      const Real angle = Real(first + p) * frequency.value;
      const Real exact = place.second ? Real(cos(angle)) : Real(sin(angle));
      CHECK(abs(Real(Real(positions[p][t]) - exact)) <=
            frequency.angle_bound(first + p) + rounding_of_a_sine<T>() * abs(exact));
    }
}

template <class T, size_t Width>
void sinusoids() {
  for (const double base : {10000.0, 500000.0, 2.0})
    for (const size_t first : {0u, 1u, 77u, 4096u, 1000000u}) {
      sinusoids_are_within_the_bound<T, Width, Pairing::interleaved>(first, base);
      sinusoids_are_within_the_bound<T, Width, Pairing::halves>(first, base);
    }
}

// q·R_d·k of the first `width` entries of two rows, d a distance between positions.
template <class T, size_t D>
Real turned_product(const T (&q)[D], const T (&k)[D], Pairing pairing, size_t width,
                    long distance) {
  Real product;
  for (size_t t = 0; t < width; ++t) {
    const Place place(pairing, width, t);
    if (place.second) continue;
    const size_t other = pairing == Pairing::interleaved ? t + 1 : t + width / 2;
    const Real angle = Real(distance) * ReferenceFrequency(place.pair, width, 10000).value;
    product += (Real(q[t]) * Real(k[t]) + Real(q[other]) * Real(k[other])) * cos(angle) +
               (Real(q[other]) * Real(k[t]) - Real(q[t]) * Real(k[other])) * sin(angle);
  }
  for (size_t t = width; t < D; ++t) product += Real(q[t]) * Real(k[t]);
  return product;
}

template <class T, size_t D, size_t Width, Pairing pairing>
void rotary_laws() {
  static const auto turns = angles<T, Width>();
  const auto position = [] { return index_below(100000); };
  const auto other_entry = [](size_t t) {
    return pairing == Pairing::interleaved ? t + 1 : t + Width / 2;
  };
  const auto length = [&](const auto& row, size_t t) {
    return Real(sqrt(
        Real(Real(row[t]) * Real(row[t]) + Real(row[other_entry(t)]) * Real(row[other_entry(t)]))));
  };
  const Real tiny = 4 * smallest<T>;

  rc::prop("the error of a turned pair is within the bound, and its length is kept", [&] {
    const auto q = numbers<T, 3, D>();
    const size_t first = position();
    const auto turned = rotated<pairing>(Query{q}, turns, first).matrix;
    for (size_t i = 0; i < 3; ++i) {
      for (size_t t = 0; t < Width; ++t) {
        const Place place(pairing, Width, t);
        if (place.second) continue;
        const ReferenceFrequency frequency(place.pair, Width, 10000);
        const Real angle = Real(first + i) * frequency.value;
        const Real a = Real(q[i][t]), b = Real(q[i][other_entry(t)]), r = length(q[i], t);
        const Real a_error = Real(turned[i][t]) - (a * cos(angle) - b * sin(angle));
        const Real b_error = Real(turned[i][other_entry(t)]) - (a * sin(angle) + b * cos(angle));
        const Real delta = frequency.angle_bound(first + i);
        const Real three_u = higher_orders * 2 * unit_roundoff<T> + rounding_of_a_sine<T>();
        RC_ASSERT(abs(a_error) <= (delta + three_u) * r + tiny);
        RC_ASSERT(abs(b_error) <= (delta + three_u) * r + tiny);
        RC_ASSERT(Real(sqrt(Real(a_error * a_error + b_error * b_error))) <=
                  (delta + sqrt(Real(2)) * three_u) * r + tiny);
        RC_ASSERT(abs(Real(length(turned[i], t) - r)) <= sqrt(Real(2)) * three_u * r + tiny);
      }
      for (size_t t = Width; t < D; ++t) RC_ASSERT(turned[i][t] == q[i][t]);
    }
  });
  rc::prop("products depend on the distance alone, within the bound", [&] {
    const Query q{numbers<T, 1, D>()};
    const Key k{numbers<T, 1, D>()};
    const size_t m = position(), n = position();
    const auto turned_q = rotated<pairing>(q, turns, m);
    const auto turned_k = rotated<pairing>(k, turns, n);
    const auto& query = turned_q.matrix[0];
    const auto& key = turned_k.matrix[0];
    Real bound, magnitude;
    for (size_t t = 0; t < Width; ++t) {
      const Place place(pairing, Width, t);
      if (place.second) continue;
      const ReferenceFrequency frequency(place.pair, Width, 10000);
      bound +=
          (frequency.angle_bound(m) + frequency.angle_bound(n) +
           2 * sqrt(Real(2)) * (higher_orders * 2 * unit_roundoff<T> + rounding_of_a_sine<T>())) *
          higher_orders * length(q.matrix[0], t) * length(k.matrix[0], t);
    }
    for (size_t t = 0; t < D; ++t) magnitude += abs(Real(Real(query[t]) * Real(key[t])));
    bound += D * unit_roundoff<T> * magnitude + tiny;
    RC_ASSERT(abs(Real(Real(dot(query, key)) -
                       turned_product(q.matrix[0], k.matrix[0], pairing, Width,
                                      static_cast<long>(n) - static_cast<long>(m)))) <= bound);
  });
  rc::prop("a token alone is turned as it is among the others, to the bit", [&] {
    const Query q{numbers<T, 5, D>()};
    const size_t first = position(), i = index_below(5);
    Query<T, 1, D> one;
    for (size_t t = 0; t < D; ++t) one.matrix[0][t] = q.matrix[i][t];
    const auto whole = rotated<pairing>(q, turns, first);
    const auto alone = rotated<pairing>(one, turns, first + i);
    for (size_t t = 0; t < D; ++t) RC_ASSERT(alone.matrix[0][t] == whole.matrix[i][t]);
  });
}

template <class T>
void both_pairings_turn_the_same_pairs() {
  rc::prop("one pairing is the other with the entries in another order, to the bit", [] {
    const auto interleaved = numbers<T, 2, 6>();
    const size_t first = index_below(1000);
    const auto in_halves = [](const auto& m) {
      Matrix<T, 2, 6> result;
      for (size_t i = 0; i < 2; ++i)
        for (size_t pair = 0; pair < 3; ++pair) {
          result[i][pair] = m[i][2 * pair];
          result[i][pair + 3] = m[i][2 * pair + 1];
        }
      return result;
    };
    static const auto turns = angles<T, 6>();
    RC_ASSERT(in_halves(rotated(Key{interleaved}, turns, first).matrix) ==
              rotated<Pairing::halves>(Key{in_halves(interleaved)}, turns, first).matrix);
  });
}

template <class T>
void sinusoids_measure_distance() {
  // Σ_i sin a_i sin b_i + cos a_i cos b_i = Σ_i cos(a_i − b_i): each entry is at most 1 and off by
  // what its angle is and u.
  rc::prop("the product of two sinusoidal positions depends on their distance", [] {
    const size_t m = index_below(100000), n = index_below(100000);
    const auto a = sinusoidal_positions<T, 1, 8>(m), b = sinusoidal_positions<T, 1, 8>(n);
    Real exact, bound;
    for (size_t i = 0; i < 4; ++i) {
      const ReferenceFrequency frequency(i, 8, 10000);
      exact += cos(Real((Real(m) - Real(n)) * frequency.value));
      bound += frequency.angle_bound(m) + frequency.angle_bound(n) + 4 * rounding_of_a_sine<T>();
    }
    bound += 8 * unit_roundoff<T> * 8 * higher_orders;
    RC_ASSERT(abs(Real(Real(dot(a[0], b[0])) - exact)) <= higher_orders * bound);
  });
}

}  // namespace

TEST_CASE("frequencies of positions", "[position]") {
  for (const double base : {10000.0, 500000.0, 1e6, 1.5, 1.0, 0.25}) {
    frequencies_are_within_the_bound<2>(base);
    frequencies_are_within_the_bound<6>(base);
    frequencies_are_within_the_bound<64>(base);
    frequencies_are_within_the_bound<128>(base);
  }
}

TEST_CASE("sinusoidal positions", "[position]") {
  sinusoids<float, 6>();
  sinusoids<float, 64>();
  sinusoids<double, 6>();
  sinusoids<double, 64>();
}

TEST_CASE("products of sinusoidal positions", "[position]") {
  SECTION("float") {
    sinusoids_measure_distance<float>();
  }
  SECTION("double") {
    sinusoids_measure_distance<double>();
  }
}

TEST_CASE("rotary embeddings in float", "[position]") {
  SECTION("interleaved") {
    rotary_laws<float, 6, 6, Pairing::interleaved>();
  }
  SECTION("halves, of a part") {
    rotary_laws<float, 9, 4, Pairing::halves>();
  }
}

TEST_CASE("rotary embeddings in double", "[position]") {
  SECTION("interleaved, of a part") {
    rotary_laws<double, 7, 4, Pairing::interleaved>();
  }
  SECTION("halves") {
    rotary_laws<double, 8, 8, Pairing::halves>();
  }
}

TEST_CASE("pairings of rotary embeddings", "[position]") {
  SECTION("float") {
    both_pairings_turn_the_same_pairs<float>();
  }
  SECTION("double") {
    both_pairings_turn_the_same_pairs<double>();
  }
}
