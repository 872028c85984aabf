# rough_exp2 (include/attest/exp.hpp): the error of evaluating its polynomial, relative to the polynomial without
# rounding, however a compiler contracts: a product that is added to something may be rounded or not, and mul_rel allows
# any relative error up to 2^-53. f is the rounded argument less an integer, nearly 1/2 at most.
@rnd = float<ieee_64, ne>;
f = rnd(f_);
f2 = rnd(f * f);
p5 = rnd(rnd(rough5 + mul_rel<53>(f, rough6)) + mul_rel<53>(f2, rough7));
p3 = rnd(rnd(rough3 + mul_rel<53>(f, rough4)) + mul_rel<53>(f2, p5));
p1 = rnd(rnd(rough1 + mul_rel<53>(f, rough2)) + mul_rel<53>(f2, p3));
s = rnd(rnd(1 + mul_rel<53>(f, rough0)) + mul_rel<53>(f2, p1));

# the same without rounding
P5 = (rough5 + f * rough6) + (f * f) * rough7;
P3 = (rough3 + f * rough4) + (f * f) * P5;
P1 = (rough1 + f * rough2) + (f * f) * P3;
S = (1 + f * rough0) + (f * f) * P1;

{ |f| <= 0.50001 -> |s -/ S| <= 1b-51 }
