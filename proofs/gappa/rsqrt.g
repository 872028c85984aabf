# near_rsqrt and near_sqrt (include/attest/sqrt.hpp): s = 1/sqrt(m), 1 <= m < 4, by four of Newton's steps.
@rnd = float<ieee_64, ne>;
@product = mul_rel<53>;  # rounded to nearest, or not at all where the compiler contracts
@sum = add_rel<53>;
@difference = sub_rel<53>;

# A step from y, of relative error e0. Without rounding, it leaves of e the error -e^2(3 + e)/2.
y = s * (1 + e0);
half = 0.5 / (s * s);
step = sum(y, product(y, difference(0.5, product(product(half, y), y))));
exact_step = y + y * (0.5 - half * y * y);

# The last step, from x, of relative error e3. Contraction leaves out the rounding of the second product, of the third,
# or of both.
x = s * (1 + e3);
p = rnd(half * x);
separate = rnd(x + rnd(x * rnd(0.5 - rnd(p * x))));
second_fused = rnd(x + rnd(x * rnd(0.5 - p * x)));
third_fused = rnd(x + x * rnd(0.5 - rnd(p * x)));
both_fused = rnd(x + x * rnd(0.5 - p * x));
exact_last = x + x * (0.5 - half * x * x);

# sqrt(m), m times this result, r the relative error of which.
root = rnd((1 + r) / s);

{ s in [0.5, 1]
  /\ e0 in [-0.035, 0.035] /\ e1 in [-0.00187, 0.00187] /\ e2 in [-5.3e-6, 5.3e-6] /\ e3 in [-1b-34, 1b-34]
  /\ r in [-0x2.1p-53, 0x2.1p-53]
->
  (step - exact_step) / s in [-1b-48, 1b-48]
  /\ e0 * e0 * (3 + e0) / 2 + 1b-48 in [-0.00187, 0.00187]
  /\ e1 * e1 * (3 + e1) / 2 + 1b-48 in [-5.3e-6, 5.3e-6]
  /\ e2 * e2 * (3 + e2) / 2 + 1b-48 in [-1b-34, 1b-34]
  # 2.0625 units of 2^-53, reached where x and s are next to 1.
  /\ (separate - s) / s in [-0x2.1p-53, 0x2.1p-53] /\ (second_fused - s) / s in [-0x2.1p-53, 0x2.1p-53]
  /\ (third_fused - s) / s in [-0x2.1p-53, 0x2.1p-53] /\ (both_fused - s) / s in [-0x2.1p-53, 0x2.1p-53]
  /\ root - 1 / s in [-1b-50, 1b-50]
}

(separate - s) / s -> (separate - exact_last) / s - e3 * e3 * (3 + e3) / 2 {s <> 0};
(second_fused - s) / s -> (second_fused - exact_last) / s - e3 * e3 * (3 + e3) / 2 {s <> 0};
(third_fused - s) / s -> (third_fused - exact_last) / s - e3 * e3 * (3 + e3) / 2 {s <> 0};
(both_fused - s) / s -> (both_fused - exact_last) / s - e3 * e3 * (3 + e3) / 2 {s <> 0};

(separate - s) / s, (second_fused - s) / s, (third_fused - s) / s, (both_fused - s) / s $ s in 64;
