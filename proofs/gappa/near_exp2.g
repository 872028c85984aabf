# near_exp2 (include/attest/exp.hpp): the error of its last steps, from r = x - k, which is exact and has at most 25
# bits, relative to the same polynomial without rounding, however a compiler contracts: a product that is added to
# something may be rounded or not, and mul_rel allows any relative error up to 2^-53. With the 2^-58.5 of the polynomial
# itself the result is within 1.27*2^-53.
@rnd = float<ieee_64, ne>;
r = float<25, -149, ne>(r_);
r2 = rnd(r * r);
p8 = rnd(rnd(quadratic8 + mul_rel<53>(r, quadratic9)) + mul_rel<53>(r2, quadratic10));
p6 = rnd(rnd(quadratic6 + mul_rel<53>(r, quadratic7)) + mul_rel<53>(r2, p8));
p4 = rnd(rnd(quadratic4 + mul_rel<53>(r, quadratic5)) + mul_rel<53>(r2, p6));
p2 = rnd(rnd(quadratic2 + mul_rel<53>(r, quadratic3)) + mul_rel<53>(r2, p4));
p0 = rnd(rnd(quadratic0 + mul_rel<53>(r, quadratic1)) + mul_rel<53>(r2, p2));
s = rnd(1 + rnd(rnd(r * ln2_short) + rnd(mul_rel<53>(r2, p0) + mul_rel<53>(r, ln2_rest))));

# the same without rounding
P8 = (quadratic8 + r * quadratic9) + (r * r) * quadratic10;
P6 = (quadratic6 + r * quadratic7) + (r * r) * P8;
P4 = (quadratic4 + r * quadratic5) + (r * r) * P6;
P2 = (quadratic2 + r * quadratic3) + (r * r) * P4;
P0 = (quadratic0 + r * quadratic1) + (r * r) * P2;
S = 1 + (r * ln2_short + ((r * r) * P0 + r * ln2_rest));

# log2(3/4) = -0.41503... and log2(3/2) = 0.58496...; 1.379e-16 < 1.243*2^-53
{ r in [-0.4151, 0.585] -> rnd(r * ln2_short) - r * ln2_short in [0, 0] /\ |s -/ S| <= 1.379e-16 }
$ r in 64;
