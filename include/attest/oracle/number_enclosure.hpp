// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The enclosure of one number.
#pragma once
#include <cmath>

namespace attest::oracle {

// A number near an exact one: the exact value lies within `radius` of high + low. `low` is what
// `high` lost to double.
struct Enclosure {
  double high = 0;
  double low = 0;
  double radius = 0;

  // Bounds of |got − exact|; 4 roundoffs of each part cover that these few operations round.
  double nearest(double got) const { return std::fmax(0, distance(got) - slack(got)); }
  double farthest(double got) const { return distance(got) + slack(got); }

 private:
  double distance(double got) const { return std::fabs((got - high) - low); }
  double slack(double got) const {
    return radius + 4 * 0x1p-53 * (distance(got) + std::fabs(low) + radius);
  }
};

inline Enclosure enclosure(double value, double radius) {
  return {value, 0, radius};
}

}  // namespace attest::oracle
