# tanh of a double (include/attest/tanh.hpp), integers as fixed-point numbers. constants.cpp defines wideN,
# tanh_tables::coefficient[N].
@rnd = float<ieee_64, ne>;

# Below 2^-10: x times the series in z = x^2, with 127 bits. dN is what multiply_high of two Wides cuts off.
square = x * x;
z = square + z_error;
s6 = wide6;
s5 = wide5 - (z * s6 + d5);
s4 = wide4 - (z * s5 + d4);
s3 = wide3 - (z * s4 + d3);
s2 = wide2 - (z * s3 + d2);
s1 = wide1 - (z * s2 + d1);
s0 = wide0 - (z * s1 + d0);
t6 = 21844/6081075;
t5 = 1382/155925 - square * t6;
t4 = 62/2835 - square * t5;
t3 = 17/315 - square * t4;
t2 = 2/15 - square * t3;
t1 = 1/3 - square * t2;
t0 = 1 - square * t1;
tanh_over_x = t0 + rest;
sum = s0 + d;
small = m * sum;  # m is the significand of x
exact_small = m * tanh_over_x;

# reciprocal of a in (1, 2], given with 126 bits: y with 127, a product with a with 125.
quotient = (1 - 1b-50) / a;
start = rnd((1 - 1b-50) / rnd(fixed<-62, dn>(a)));
y1 = start + (start * (1 - (a * start + f0)) + g0);
y2 = y1 + (y1 * (1 - (a * y1 + f1)) + g1);

# From 2^-10 on: (1 - w)/(1 + w), w = e^(-2x) with 126 bits.
v = w + w_error;
y = 1 / (1 + v) + y_error;
large = (1 - v) * y + g2;
exact_large = (1 - w) / (1 + w);

{ x in [1b-27, 1b-10] /\ z_error in [-1b-128, 0] /\ m in [0.5, 1]
  /\ d0 in [-3b-127, 0] /\ d1 in [-3b-127, 0] /\ d2 in [-3b-127, 0]
  /\ d3 in [-3b-127, 0] /\ d4 in [-3b-127, 0] /\ d5 in [-3b-127, 0]
  /\ d in [-2b-127, 0]  # a unit of the product with m, at most two of what m multiplies
  /\ rest in [-1b-140, 1b-140]  # the first term left out: 929569/638512875 z^7
  /\ a in [1, 2] /\ f0 in [-3b-125, 0] /\ f1 in [-3b-125, 0] /\ g0 in [-3b-127, 0] /\ g1 in [-3b-127, 0]
  /\ w in [0, 0.99805]  # e^(-2^-9)
  /\ w_error in [-0x1.2p-122, 0x1.2p-122]  # wide_exp_significand: 2^-122; a unit is cut off
  /\ y_error in [-1b-125, 1b-123] /\ g2 in [-3b-126, 0]
->
  small -/ exact_small in [-1b-125, 1b-125]
  /\ a * start - 1 in [-0x1.4p-50, -0x0.bp-50]
  /\ 1 - a * y1 in [1b-101, 1b-99]  # above 0: a*y1, truncated, is below 1
  /\ y2 - 1 / a in [-1b-125, 1b-123]
  /\ (large - exact_large) / exact_large in [-1b-111, 1b-111]
}

# How to split the errors, as Gappa would not by itself.
s5 - t5 -> (wide5 - 1382/155925) - (z * s6 - square * t6) - d5;
s4 - t4 -> (wide4 - 62/2835) - (z * s5 - square * t5) - d4;
s3 - t3 -> (wide3 - 17/315) - (z * s4 - square * t4) - d3;
s2 - t2 -> (wide2 - 2/15) - (z * s3 - square * t3) - d2;
s1 - t1 -> (wide1 - 1/3) - (z * s2 - square * t2) - d1;
s0 - t0 -> (wide0 - 1) - (z * s1 - square * t1) - d0;
z - square -> z_error;
sum - tanh_over_x -> (s0 - t0) + d - rest;
1 - a * y1 -> (a * start - 1) * (a * start - 1) + a * (start * f0 - g0);
y2 - 1 / a -> -((1 - a * y1) * (1 - a * y1)) / a - y1 * f1 + g1 {a <> 0};
(large - exact_large) / exact_large ->
  ((1 - v) * y_error + g2) * (1 + w) / (1 - w) - 2 * w_error / ((1 + v) * (1 - w)) {1 + v <> 0, 1 - w <> 0};
a * start - 1 -> (start - quotient) / quotient * (1 - 1b-50) - 1b-50 {quotient <> 0};
