# near_exp (include/attest/exp.hpp): the error of its last steps, from r_high = x - k*ln2_high, which is exact, relative
# to the same polynomial without rounding, however a compiler contracts: a product that is added to something may be
# rounded or not, and mul_rel allows any relative error up to 2^-53. With the 2^-60.3 of the polynomial itself and the
# 2^-90 of k times what ln2_high and ln2_low leave of ln 2, the result is within 1.24*2^-53.
# kl is k*ln2_low, |k| <= 151; c1 and c2 are its two uses, each rounded or not.
@rnd = float<ieee_64, ne>;
r_high = rnd(r_high_);
r = rnd(r_high - c1);
r2 = rnd(r * r);
r3 = rnd(r * r2);
p8 = rnd(cubic8 + mul_rel<53>(r, cubic9));
p6 = rnd(rnd(cubic6 + mul_rel<53>(r, cubic7)) + mul_rel<53>(r2, p8));
p4 = rnd(rnd(cubic4 + mul_rel<53>(r, cubic5)) + mul_rel<53>(r2, p6));
p2 = rnd(rnd(cubic2 + mul_rel<53>(r, cubic3)) + mul_rel<53>(r2, p4));
p0 = rnd(rnd(cubic0 + mul_rel<53>(r, cubic1)) + mul_rel<53>(r2, p2));
s = rnd(1 + rnd(r_high + rnd(0.5 * r2 + rnd(mul_rel<53>(r3, p0) - c2))));

# the same without rounding
R = r_high - kl;
P8 = cubic8 + R * cubic9;
P6 = (cubic6 + R * cubic7) + (R * R) * P8;
P4 = (cubic4 + R * cubic5) + (R * R) * P6;
P2 = (cubic2 + R * cubic3) + (R * R) * P4;
P0 = (cubic0 + R * cubic1) + (R * R) * P2;
S = 1 + (r_high + (0.5 * (R * R) + ((R * (R * R)) * P0 - kl)));

# ln(3/4) = -0.28768... and ln(3/2) = 0.40546...; 1.366e-16 < 1.231*2^-53
{ r_high in [-0.2877, 0.4055] /\ |kl| <= 1b-36 /\ |c1 - kl| <= 1b-89 /\ |c2 - kl| <= 1b-89 -> |s -/ S| <= 1.366e-16 }
$ r_high in 64;
