# near_tanh (include/attest/tanh.hpp): -m/(2 + m) with m = e^y - 1, y = -2x. constants.cpp defines exp_tables' ln2_high,
# ln2_low and cubicN.
@rnd = float<ieee_64, ne>;
@product = mul_rel<53>;  # rounded to nearest, or not at all where the compiler contracts
@sum = add_rel<53>;

# From k = -1 on: y = k*ln(2) + r, y a float, and p = e^r - 1, for exact_r, exact_p and exact_c as close as they are.
y = fixed<-25, ne>(y_);
k = fixed<0, ne>(k_);
difference = y - k * ln2_high;
r_high = rnd(difference);
low = product(k, ln2_low);
r = rnd(r_high - low);
r2 = rnd(r * r);
h8 = sum(cubic8, product(r, cubic9));
h6 = sum(sum(cubic6, product(r, cubic7)), product(r2, h8));
h4 = sum(sum(cubic4, product(r, cubic5)), product(r2, h6));
h2 = sum(sum(cubic2, product(r, cubic3)), product(r2, h4));
h0 = sum(sum(cubic0, product(r, cubic1)), product(r2, h2));
cubic = product(product(r, r2), h0);
inner = rnd(cubic - low);
middle = rnd(0.5 * r2 + inner);
p = rnd(r_high + middle);

exact_low = k * (ln2_low + ln2_rest);
exact_r = difference - exact_low;
exact_r2 = exact_r * exact_r;
exact_h0 = cubic0 + exact_r * cubic1 + exact_r2 * (cubic2 + exact_r * cubic3 + exact_r2 * (cubic4 + exact_r * cubic5 +
           exact_r2 * (cubic6 + exact_r * cubic7 + exact_r2 * (cubic8 + exact_r * cubic9))));
exact_c = exact_h0 + c_error;
exact_p = exact_r + (0.5 * exact_r2 + exact_r * exact_r2 * exact_c);

# Then m = 2^k*p + (2^k - 1), and the quotient.
m = rnd(exact_m + power * p_error);
denominator = rnd(2 + m);
quotient = -m / denominator;
result = rnd(quotient);
exact_result = -exact_m / (2 + exact_m);

# For k = 0, s = y exactly and m = p: m/s = unit, all of whose roundings but that of the cubic term are relative.
s = float<ieee_32, ne>(s_);
s2 = rnd(s * s);
f8 = sum(cubic8, product(s, cubic9));
f6 = sum(sum(cubic6, product(s, cubic7)), product(s2, f8));
f4 = sum(sum(cubic4, product(s, cubic5)), product(s2, f6));
f2 = sum(sum(cubic2, product(s, cubic3)), product(s2, f4));
f0 = sum(sum(cubic0, product(s, cubic1)), product(s2, f2));
term = product(product(s, s2), f0);
exact_s2 = s * s;
exact_f0 = cubic0 + s * cubic1 + exact_s2 * (cubic2 + s * cubic3 + exact_s2 * (cubic4 + s * cubic5 +
           exact_s2 * (cubic6 + s * cubic7 + exact_s2 * (cubic8 + s * cubic9))));
exact_d = exact_f0 + d_error;
exact_term = s * exact_s2 * exact_d;
unit = (1 + s * (0.5 + s * exact_d * (1 + e_term)) * (1 + e_middle)) * (1 + e_sum);
exact_unit = 1 + s * (0.5 + s * exact_d);

# And with the error e of m = n*(1 + e), that of the quotient:
ratio = (1 + 2 * e / (2 + n * (1 + e))) * (1 + e_quotient) / (1 + e_denominator);

{ difference in [-0.2877, 0.4055] /\ k in [-29, -1]
  /\ ln2_rest in [-1b-98, 1b-98]  # ln 2 is ln2_high + ln2_low and this
  /\ c_error in [-1b-55, 1b-55] /\ d_error in [-1b-55, 1b-55]  # the polynomial of degree 9: tests/tanh.cpp
  /\ exact_m in [-1, -0.2499] /\ power in [1b-29, 0.5] /\ p_error in [-0x1.bp-54, 0x1.bp-54]
  /\ s in [-0.2877, -1b-148] /\ e_term in [-1b-50, 1b-50] /\ e_middle in [-1b-53, 1b-53] /\ e_sum in [-1b-53, 1b-53]
  /\ n in [-0.2525, 0] /\ e in [-0x1.5p-53, 0x1.5p-53] /\ e_quotient in [-1b-53, 1b-53]
  /\ e_denominator in [-1b-53, 1b-53]
->
  p - exact_p in [-0x1.bp-54, 0x1.bp-54]
  /\ (result - exact_result) / exact_result in [-0x4.9p-53, 0x4.9p-53]
  /\ s2 - exact_s2 in [0, 0] /\ term -/ exact_term in [-1b-50, 1b-50]
  /\ unit -/ exact_unit in [-0x1.5p-53, 0x1.5p-53]
  /\ ratio - 1 in [-0x4.9p-53, 0x4.9p-53]
}

# How to split the errors, as Gappa would not by itself.
low - exact_low -> (low - k * ln2_low) - k * ln2_rest;
r_high - low - exact_r -> (r_high - difference) - (low - exact_low);
r - exact_r -> (r - (r_high - low)) + (r_high - difference) - (low - exact_low);
h0 - exact_c -> (h0 - exact_h0) - c_error;
r_high + middle - exact_p ->
  (r_high - difference) + (middle - (0.5 * r2 + inner)) + 0.5 * (r2 - exact_r2) + (inner - (cubic - low)) +
  (cubic - exact_r * exact_r2 * exact_c) - (low - exact_low);

(result - exact_result) / exact_result ->
  (1 + 2 * ((m - exact_m) / exact_m) / (2 + m)) * (1 + (result - quotient) / quotient) /
  (1 + (denominator - (2 + m)) / (2 + m)) - 1
  {exact_m <> 0, 2 + m <> 0, 2 + exact_m <> 0, quotient <> 0, denominator <> 0};
m - exact_m -> (m - (exact_m + power * p_error)) + power * p_error;

f0 - exact_d -> (f0 - exact_f0) - d_error;
unit - exact_unit ->
  exact_unit * e_sum +
  s * ((0.5 + s * exact_d) * e_middle + s * exact_d * e_term * (1 + e_middle)) * (1 + e_sum);

p - exact_p $ difference in 4;
(result - exact_result) / exact_result $ exact_m in 32;
