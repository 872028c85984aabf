// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0
#include "random_matrix.hpp"

namespace tests {
namespace {

rc::Gen<std::vector<int>> integers_in(size_t n, int low, int end) {
  return rc::gen::container<std::vector<int>>(n, rc::gen::inRange(low, end));
}

// In [−bound, bound], towards zero when shrinking, which inRange alone does towards its lower end.
rc::Gen<std::vector<int>> integers_up_to(size_t n, int bound) {
  return rc::gen::map(integers_in(n, 0, 2 * bound + 1), [](std::vector<int> steps) {
    for (int& k : steps) k = k % 2 == 0 ? k / 2 : -(k + 1) / 2;
    return steps;
  });
}

RandomMatrix filled(size_t rows, size_t columns, int digits, const std::vector<int>& integers,
                    double unit) {
  RandomMatrix m{rows, columns, digits, {}};
  for (const int n : integers) m.entries.push_back(n * unit);
  return m;
}

rc::Gen<RandomMatrix> numbers(size_t rows, size_t columns, int digits) {
  constexpr int bits = 24;
  return rc::gen::apply(
      [=](const std::vector<int>& entries, double magnitude) {
        return filled(rows, columns, digits, entries, magnitude / (1 << bits));
      },
      rc::gen::resize(rc::kNominalSize, integers_up_to(rows * columns, 1 << bits)),
      rc::gen::element(1.0, 0.0625, 4.0, 16.0));
}

}  // namespace

void showValue(const RandomMatrix& m, std::ostream& out) {
  const auto digits = out.precision(m.digits);
  for (size_t i = 0; i < m.rows; ++i) {
    out << (i == 0 ? "{{" : " {");
    for (size_t j = 0; j < m.columns; ++j)
      out << m.entries[i * m.columns + j] << (j + 1 < m.columns ? ", " : "}");
    out << (i + 1 < m.rows ? ",\n" : "}");
  }
  out.precision(digits);
}

RandomMatrix random_integers(size_t rows, size_t columns, int bound, double unit) {
  return *rc::gen::map(
      integers_up_to(rows * columns, bound),
      [=](const std::vector<int>& integers) { return filled(rows, columns, 9, integers, unit); });
}

RandomMatrix random_numbers(size_t rows, size_t columns, int digits) {
  return *numbers(rows, columns, digits);
}

RandomMatrix random_mask(size_t rows, size_t columns) {
  return *rc::gen::map(integers_in(rows * columns, 0, 3), [=](std::vector<int> integers) {
    for (int& n : integers) n = n != 0;
    return filled(rows, columns, 1, integers, 1);
  });
}

RandomMatrix random_bias(size_t rows, size_t columns, int digits) {
  return *rc::gen::apply(
      [](RandomMatrix bias, const std::vector<int>& hidden) {
        for (size_t i = 0; i < hidden.size(); ++i)
          if (hidden[i] == 3) bias.entries[i] = -std::numeric_limits<double>::infinity();
        return bias;
      },
      numbers(rows, columns, digits), integers_in(rows * columns, 0, 4));
}

int integer_in(int low, int end) {
  return *rc::gen::inRange(low, end);
}
size_t index_below(size_t n) {
  return *rc::gen::inRange<size_t>(0, n);
}
size_t any_of(size_t n) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<size_t>(0, n));
}

std::vector<size_t> order_of(size_t n) {
  return *rc::gen::map(integers_in(n, 0, 1 << 20), [](const std::vector<int>& keys) {
    std::vector<size_t> order;
    for (size_t i = 0; i < keys.size(); ++i) {
      auto place = order.begin();
      while (place != order.end() && keys[*place] <= keys[i]) ++place;
      order.insert(place, i);
    }
    return order;
  });
}

}  // namespace tests
