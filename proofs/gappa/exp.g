# The oracle's exp in double (include/attest/oracle/arithmetic.hpp): the Taylor polynomial of degree 13 in Horner's form,
# every product and every sum rounded. |error of the evaluation| <= 1.91e-16 on the reduced range.
@rnd = float<ieee_64, ne>;
r = rnd(r_);
c13 = rnd(1/6227020800);
c12 = rnd(1/479001600);
c11 = rnd(1/39916800);
c10 = rnd(1/3628800);
c9 = rnd(1/362880);
c8 = rnd(1/40320);
c7 = rnd(1/5040);
c6 = rnd(1/720);
c5 = rnd(1/120);
c4 = rnd(1/24);
c3 = rnd(1/6);
p12 rnd = c13 * r + c12;
p11 rnd = p12 * r + c11;
p10 rnd = p11 * r + c10;
p9 rnd = p10 * r + c9;
p8 rnd = p9 * r + c8;
p7 rnd = p8 * r + c7;
p6 rnd = p7 * r + c6;
p5 rnd = p6 * r + c5;
p4 rnd = p5 * r + c4;
p3 rnd = p4 * r + c3;
p2 rnd = p3 * r + 0.5;
p1 rnd = p2 * r + 1;
p0 rnd = p1 * r + 1;
# the same without rounding
e12 = r / 6227020800 + 1/479001600;
e11 = e12 * r + 1/39916800;
e10 = e11 * r + 1/3628800;
e9 = e10 * r + 1/362880;
e8 = e9 * r + 1/40320;
e7 = e8 * r + 1/5040;
e6 = e7 * r + 1/720;
e5 = e6 * r + 1/120;
e4 = e5 * r + 1/24;
e3 = e4 * r + 1/6;
e2 = e3 * r + 0.5;
e1 = e2 * r + 1;
e0 = e1 * r + 1;
{ r in [-0.3467, 0.3467] -> p0 - e0 in [-1.91e-16, 1.91e-16] }
$ r in 64;
