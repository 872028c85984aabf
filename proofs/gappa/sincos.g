# sin and cos (include/attest/sincos.hpp), integers as fixed-point numbers: the series of cos(a) (even) and of sin(a)/a
# (odd), z = a^2, with 64 bits (s) and with 128 (w), and the relative error of the results made of them. constants.cpp
# defines shortN and wideN, the first word and all of sincos_tables::one_over_factorial[N].
@short = fixed<-63, dn>;
z = fixed<-128, dn>(z_);
z_high = fixed<-64, dn>(z);

s20 = short20;
s18 = short18 - short(z_high * s20);
s16 = short16 - short(z_high * s18);
s14 = short14 - short(z_high * s16);
s12 = short12 - short(z_high * s14);
s10 = short10 - short(z_high * s12);
s8 = short8 - short(z_high * s10);
s6 = short6 - short(z_high * s8);
s4 = short4 - short(z_high * s6);
s2 = short2 - short(z_high * s4);
s0 = short0 - short(z_high * s2);

s21 = short21;
s19 = short19 - short(z_high * s21);
s17 = short17 - short(z_high * s19);
s15 = short15 - short(z_high * s17);
s13 = short13 - short(z_high * s15);
s11 = short11 - short(z_high * s13);
s9 = short9 - short(z_high * s11);
s7 = short7 - short(z_high * s9);
s5 = short5 - short(z_high * s7);
s3 = short3 - short(z_high * s5);
s1 = short1 - short(z_high * s3);

# dN is what multiply_high of two Wides cuts off.
w32 = wide32;
w30 = wide30 - (z * w32 + d30);
w28 = wide28 - (z * w30 + d28);
w26 = wide26 - (z * w28 + d26);
w24 = wide24 - (z * w26 + d24);
w22 = wide22 - (z * w24 + d22);
w20 = wide20 - (z * w22 + d20);
w18 = wide18 - (z * w20 + d18);
w16 = wide16 - (z * w18 + d16);
w14 = wide14 - (z * w16 + d14);
w12 = wide12 - (z * w14 + d12);
w10 = wide10 - (z * w12 + d10);
w8 = wide8 - (z * w10 + d8);
w6 = wide6 - (z * w8 + d6);
w4 = wide4 - (z * w6 + d4);
w2 = wide2 - (z * w4 + d2);
w0 = wide0 - (z * w2 + d0);

w33 = wide33;
w31 = wide31 - (z * w33 + d31);
w29 = wide29 - (z * w31 + d29);
w27 = wide27 - (z * w29 + d27);
w25 = wide25 - (z * w27 + d25);
w23 = wide23 - (z * w25 + d23);
w21 = wide21 - (z * w23 + d21);
w19 = wide19 - (z * w21 + d19);
w17 = wide17 - (z * w19 + d17);
w15 = wide15 - (z * w17 + d15);
w13 = wide13 - (z * w15 + d13);
w11 = wide11 - (z * w13 + d11);
w9 = wide9 - (z * w11 + d9);
w7 = wide7 - (z * w9 + d7);
w5 = wide5 - (z * w7 + d5);
w3 = wide3 - (z * w5 + d3);
w1 = wide1 - (z * w3 + d1);

# The same without truncation. The terms after these make cos(a) and sin(a)/a of it.
t20 = 1/2432902008176640000;
t18 = 1/6402373705728000 - z * t20;
t16 = 1/20922789888000 - z * t18;
t14 = 1/87178291200 - z * t16;
t12 = 1/479001600 - z * t14;
t10 = 1/3628800 - z * t12;
t8 = 1/40320 - z * t10;
t6 = 1/720 - z * t8;
t4 = 1/24 - z * t6;
t2 = 1/2 - z * t4;
t0 = 1/1 - z * t2;

t21 = 1/51090942171709440000;
t19 = 1/121645100408832000 - z * t21;
t17 = 1/355687428096000 - z * t19;
t15 = 1/1307674368000 - z * t17;
t13 = 1/6227020800 - z * t15;
t11 = 1/39916800 - z * t13;
t9 = 1/362880 - z * t11;
t7 = 1/5040 - z * t9;
t5 = 1/120 - z * t7;
t3 = 1/6 - z * t5;
t1 = 1/1 - z * t3;

u32 = 1/263130836933693530167218012160000000;
u30 = 1/265252859812191058636308480000000 - z * u32;
u28 = 1/304888344611713860501504000000 - z * u30;
u26 = 1/403291461126605635584000000 - z * u28;
u24 = 1/620448401733239439360000 - z * u26;
u22 = 1/1124000727777607680000 - z * u24;
u20 = 1/2432902008176640000 - z * u22;
u18 = 1/6402373705728000 - z * u20;
u16 = 1/20922789888000 - z * u18;
u14 = 1/87178291200 - z * u16;
u12 = 1/479001600 - z * u14;
u10 = 1/3628800 - z * u12;
u8 = 1/40320 - z * u10;
u6 = 1/720 - z * u8;
u4 = 1/24 - z * u6;
u2 = 1/2 - z * u4;
u0 = 1/1 - z * u2;

u33 = 1/8683317618811886495518194401280000000;
u31 = 1/8222838654177922817725562880000000 - z * u33;
u29 = 1/8841761993739701954543616000000 - z * u31;
u27 = 1/10888869450418352160768000000 - z * u29;
u25 = 1/15511210043330985984000000 - z * u27;
u23 = 1/25852016738884976640000 - z * u25;
u21 = 1/51090942171709440000 - z * u23;
u19 = 1/121645100408832000 - z * u21;
u17 = 1/355687428096000 - z * u19;
u15 = 1/1307674368000 - z * u17;
u13 = 1/6227020800 - z * u15;
u11 = 1/39916800 - z * u13;
u9 = 1/362880 - z * u11;
u7 = 1/5040 - z * u9;
u5 = 1/120 - z * u7;
u3 = 1/6 - z * u5;
u1 = 1/1 - z * u3;

cos_s = t0 + rest_cos_s;
sin_s = t1 + rest_sin_s;
cos_w = u0 + rest_cos_w;
sin_w = u1 + rest_sin_w;

# The angle of which z is the square is off itself, and so is the square. sin(a) is the product with the angle, of which
# m is the significand, with 127 bits behind the point.
near_cos_s = s0;
near_cos_w = w0;
sum_s = (1 + m_error) * s1 + d;
near_sin_s = m * sum_s;
sum_w = (1 + m_error) * w1 + d;
near_sin_w = m * sum_w;

{ z in [0, 0.617]  # at most (pi/4)^2, rounded up
  /\ d0 in [-3b-127, 0] /\ d1 in [-3b-127, 0] /\ d2 in [-3b-127, 0] /\ d3 in [-3b-127, 0]
  /\ d4 in [-3b-127, 0] /\ d5 in [-3b-127, 0] /\ d6 in [-3b-127, 0] /\ d7 in [-3b-127, 0]
  /\ d8 in [-3b-127, 0] /\ d9 in [-3b-127, 0] /\ d10 in [-3b-127, 0] /\ d11 in [-3b-127, 0]
  /\ d12 in [-3b-127, 0] /\ d13 in [-3b-127, 0] /\ d14 in [-3b-127, 0] /\ d15 in [-3b-127, 0]
  /\ d16 in [-3b-127, 0] /\ d17 in [-3b-127, 0] /\ d18 in [-3b-127, 0] /\ d19 in [-3b-127, 0]
  /\ d20 in [-3b-127, 0] /\ d21 in [-3b-127, 0] /\ d22 in [-3b-127, 0] /\ d23 in [-3b-127, 0]
  /\ d24 in [-3b-127, 0] /\ d25 in [-3b-127, 0] /\ d26 in [-3b-127, 0] /\ d27 in [-3b-127, 0]
  /\ d28 in [-3b-127, 0] /\ d29 in [-3b-127, 0] /\ d30 in [-3b-127, 0] /\ d31 in [-3b-127, 0]
  # The first term left out: z^11/22!, z^11/23!, z^17/34!, z^17/35!.
  /\ rest_cos_s in [-1b-77, 1b-77] /\ rest_sin_s in [-1b-81, 1b-81]
  /\ rest_cos_w in [-1b-139, 1b-139] /\ rest_sin_w in [-1b-144, 1b-144]
  # m is off by 2^-124 of itself, z by 4 units of 2^-128 besides; when z changes, cos(a) changes by at most 1/2 and
  # sin(a)/a by 1/6 of that. The product is 3 units too small, at most 12 of m.
  /\ m in [0.25, 1] /\ m_error in [-1b-124, 1b-124] /\ d in [-12b-127, 0]
  /\ cos_off in [-3b-126, 3b-126] /\ sin_off in [-1b-126, 1b-126]
  /\ cos_s + cos_off in [0.7, 1] /\ cos_w + cos_off in [0.7, 1]
  /\ sin_s + sin_off in [0.9, 1] /\ sin_w + sin_off in [0.9, 1]
->
  s0 - cos_s in [-1b-62, 1b-62] /\ s1 - sin_s in [-1b-62, 1b-62]
  /\ w0 - cos_w in [-1b-124, 1b-124] /\ w1 - sin_w in [-1b-124, 1b-124]
  /\ near_cos_s -/ (cos_s + cos_off) in [-1b-61, 1b-61] /\ near_cos_w -/ (cos_w + cos_off) in [-1b-123, 1b-123]
  /\ near_sin_s -/ (m * (sin_s + sin_off)) in [-1b-61, 1b-61]
  /\ near_sin_w -/ (m * (sin_w + sin_off)) in [-1b-122, 1b-122]
}

# How to split the errors, as Gappa would not by itself.
s0 - cos_s -> (s0 - t0) - rest_cos_s;
s1 - sin_s -> (s1 - t1) - rest_sin_s;
w0 - cos_w -> (w0 - u0) - rest_cos_w;
w1 - sin_w -> (w1 - u1) - rest_sin_w;
near_cos_s - (cos_s + cos_off) -> (s0 - cos_s) - cos_off;
near_cos_w - (cos_w + cos_off) -> (w0 - cos_w) - cos_off;
sum_s - (sin_s + sin_off) -> (s1 - sin_s) - sin_off + m_error * s1 + d;
sum_w - (sin_w + sin_off) -> (w1 - sin_w) - sin_off + m_error * w1 + d;
w30 - u30 -> (wide30 - 1/265252859812191058636308480000000) - (z * (w32 - u32) + d30);
w28 - u28 -> (wide28 - 1/304888344611713860501504000000) - (z * (w30 - u30) + d28);
w26 - u26 -> (wide26 - 1/403291461126605635584000000) - (z * (w28 - u28) + d26);
w24 - u24 -> (wide24 - 1/620448401733239439360000) - (z * (w26 - u26) + d24);
w22 - u22 -> (wide22 - 1/1124000727777607680000) - (z * (w24 - u24) + d22);
w20 - u20 -> (wide20 - 1/2432902008176640000) - (z * (w22 - u22) + d20);
w18 - u18 -> (wide18 - 1/6402373705728000) - (z * (w20 - u20) + d18);
w16 - u16 -> (wide16 - 1/20922789888000) - (z * (w18 - u18) + d16);
w14 - u14 -> (wide14 - 1/87178291200) - (z * (w16 - u16) + d14);
w12 - u12 -> (wide12 - 1/479001600) - (z * (w14 - u14) + d12);
w10 - u10 -> (wide10 - 1/3628800) - (z * (w12 - u12) + d10);
w8 - u8 -> (wide8 - 1/40320) - (z * (w10 - u10) + d8);
w6 - u6 -> (wide6 - 1/720) - (z * (w8 - u8) + d6);
w4 - u4 -> (wide4 - 1/24) - (z * (w6 - u6) + d4);
w2 - u2 -> (wide2 - 1/2) - (z * (w4 - u4) + d2);
w0 - u0 -> (wide0 - 1/1) - (z * (w2 - u2) + d0);
w31 - u31 -> (wide31 - 1/8222838654177922817725562880000000) - (z * (w33 - u33) + d31);
w29 - u29 -> (wide29 - 1/8841761993739701954543616000000) - (z * (w31 - u31) + d29);
w27 - u27 -> (wide27 - 1/10888869450418352160768000000) - (z * (w29 - u29) + d27);
w25 - u25 -> (wide25 - 1/15511210043330985984000000) - (z * (w27 - u27) + d25);
w23 - u23 -> (wide23 - 1/25852016738884976640000) - (z * (w25 - u25) + d23);
w21 - u21 -> (wide21 - 1/51090942171709440000) - (z * (w23 - u23) + d21);
w19 - u19 -> (wide19 - 1/121645100408832000) - (z * (w21 - u21) + d19);
w17 - u17 -> (wide17 - 1/355687428096000) - (z * (w19 - u19) + d17);
w15 - u15 -> (wide15 - 1/1307674368000) - (z * (w17 - u17) + d15);
w13 - u13 -> (wide13 - 1/6227020800) - (z * (w15 - u15) + d13);
w11 - u11 -> (wide11 - 1/39916800) - (z * (w13 - u13) + d11);
w9 - u9 -> (wide9 - 1/362880) - (z * (w11 - u11) + d9);
w7 - u7 -> (wide7 - 1/5040) - (z * (w9 - u9) + d7);
w5 - u5 -> (wide5 - 1/120) - (z * (w7 - u7) + d5);
w3 - u3 -> (wide3 - 1/6) - (z * (w5 - u5) + d3);
w1 - u1 -> (wide1 - 1/1) - (z * (w3 - u3) + d1);
