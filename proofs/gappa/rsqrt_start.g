# The start of near_rsqrt (include/attest/sqrt.hpp) is within 3.5% of s = 1/sqrt(m). constants.cpp defines start, rsqrt_start
# as the exponent and the fraction of a double.
# The start is linear in m = 1/s^2, but for the bit that the shift drops: up to m = 2, then as far as the exponent is 1022,
# then to m = 4.
first = (start - 1532 - 1 / (2 * s_first * s_first) + bit) / 2;
second = (start - 1532.5 - 1 / (4 * s_second * s_second) + bit) / 2;
third = (start - 1531.5 - 1 / (4 * s_third * s_third) + bit) / 4;

{ bit in [0, 1b-53] /\ s_first in [0.7071, 1] /\ s_second in [0.5177, 0.7072] /\ s_third in [0.5, 0.5179]
->
  first * (1 / s_first) - 1 in [-0.035, 0.035]
  /\ second * (1 / s_second) - 1 in [-0.035, 0.035]
  /\ third * (1 / s_third) - 1 in [-0.035, 0.035]
}

first * (1 / s_first) - 1 $ s_first;
second * (1 / s_second) - 1 $ s_second;
third * (1 / s_third) - 1 $ s_third;
