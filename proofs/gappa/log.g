# log and log2 (include/attest/log.hpp), integers as fixed-point numbers: the series S = log(1 + r)/r with 64 bits (s)
# and with 128 (w), and the relative error of the result made of it. constants.cpp defines shortN and wideN, the first
# word and all of log_tables::one_over[N].

# What is subtracted for a positive r is truncated, and so is what is added for a negative one.
@short = fixed<-63, zr>;
@wide = fixed<-127, zr>;
r = fixed<-61, ne>(r_);

s11 = short11;
s10 = short10 - short(r * s11);
s9 = short9 - short(r * s10);
s8 = short8 - short(r * s9);
s7 = short7 - short(r * s8);
s6 = short6 - short(r * s7);
s5 = short5 - short(r * s6);
s4 = short4 - short(r * s5);
s3 = short3 - short(r * s4);
s2 = short2 - short(r * s3);
s1 = short1 - short(r * s2);

w21 = wide21;
w20 = wide20 - wide(r * w21);
w19 = wide19 - wide(r * w20);
w18 = wide18 - wide(r * w19);
w17 = wide17 - wide(r * w18);
w16 = wide16 - wide(r * w17);
w15 = wide15 - wide(r * w16);
w14 = wide14 - wide(r * w15);
w13 = wide13 - wide(r * w14);
w12 = wide12 - wide(r * w13);
w11 = wide11 - wide(r * w12);
w10 = wide10 - wide(r * w11);
w9 = wide9 - wide(r * w10);
w8 = wide8 - wide(r * w9);
w7 = wide7 - wide(r * w8);
w6 = wide6 - wide(r * w7);
w5 = wide5 - wide(r * w6);
w4 = wide4 - wide(r * w5);
w3 = wide3 - wide(r * w4);
w2 = wide2 - wide(r * w3);
w1 = wide1 - wide(r * w2);

# The same without truncation. The terms after these make S of it.
t11 = 1/11;
t10 = 1/10 - r * t11;
t9 = 1/9 - r * t10;
t8 = 1/8 - r * t9;
t7 = 1/7 - r * t8;
t6 = 1/6 - r * t7;
t5 = 1/5 - r * t6;
t4 = 1/4 - r * t5;
t3 = 1/3 - r * t4;
t2 = 1/2 - r * t3;
t1 = 1/1 - r * t2;

u21 = 1/21;
u20 = 1/20 - r * u21;
u19 = 1/19 - r * u20;
u18 = 1/18 - r * u19;
u17 = 1/17 - r * u18;
u16 = 1/16 - r * u17;
u15 = 1/15 - r * u16;
u14 = 1/14 - r * u15;
u13 = 1/13 - r * u14;
u12 = 1/12 - r * u13;
u11 = 1/11 - r * u12;
u10 = 1/10 - r * u11;
u9 = 1/9 - r * u10;
u8 = 1/8 - r * u9;
u7 = 1/7 - r * u8;
u6 = 1/6 - r * u7;
u5 = 1/5 - r * u6;
u4 = 1/4 - r * u5;
u3 = 1/3 - r * u4;
u2 = 1/2 - r * u3;
u1 = 1/1 - r * u2;

S = t1 + rest_s;
T = u1 + rest_w;

# With q = 1/ln(base): factor = S*q with 126 bits behind the point, from q with 127.
q_table = q + q_error;
factor_s = s1 * q_table + d1;
factor_w = w1 * q_table + d1;

# Around 1 the result is r*factor, r shifted to 1/2 <= m < 1.
near_s = m * factor_s + d2;
near_w = m * factor_w + d2;

# Elsewhere: offset + r*factor with 126 bits behind the point, offset = 1 - log(c), less 1 for k = 0.
one_s = (offset + offset_error) + (r * factor_s + d3);
one_w = (offset + offset_error) + (r * factor_w + d3);
zero_s = one_s - 1;
zero_w = one_w - 1;
log_z_s = offset + r * (S*q) - 1;
log_z_w = offset + r * (T*q) - 1;

# For other k with 116, and k*log(2).
far_s = one_s + d4 - 1 + k * (log_2 + log_2_error);
far_w = one_w + d4 - 1 + k * (log_2 + log_2_error);
log_x_s = log_z_s + k * log_2;
log_x_w = log_z_w + k * log_2;

{ r in [-1b-6, 1b-6]  # constants.cpp asserts it of every c
  /\ rest_s in [-1b-69, 1b-69] /\ rest_w in [-1b-130, 1b-130]  # |r|^11/12/(1 - |r|) and |r|^21/22/(1 - |r|)
  /\ q in [1, 1.4427]  # the bases e and 2
  # Tables are truncated.
  /\ q_error in [-1b-127, 0] /\ offset_error in [-1b-126, 0] /\ log_2_error in [-1b-116, 0]
  # Products of two Wides (multiply_high.g), of a Wide and a word, and ten bits that are cut off.
  /\ d1 in [-3b-126, 0] /\ d2 in [-3b-126, 0] /\ d3 in [-1b-126, 1b-126] /\ d4 in [-1b-116, 0]
  /\ m in [0.5, 1]
  # k = 0 and c other than 1: z <= 127/128 or z >= 65/64. Other k: 91/128 <= z < 91/64.
  /\ |log_z_s| in [1b-8, 2] /\ |log_z_w| in [1b-8, 2]
  /\ |k| in [1, 1075] /\ |log_x_s| in [0.34, 2000] /\ |log_x_w| in [0.34, 2000]
  /\ log_x_s / k in [0.34, 2] /\ log_x_w / k in [0.34, 2]
->
  s1 - S in [-1b-62, 1b-62] /\ w1 - T in [-1b-126, 1b-126]
  /\ near_s -/ (m * (S*q)) in [-1b-61, 1b-61] /\ near_w -/ (m * (T*q)) in [-1b-122, 1b-122]
  /\ zero_s -/ log_z_s in [-1b-60, 1b-60] /\ zero_w -/ log_z_w in [-1b-116, 1b-116]
  /\ (far_s - log_x_s) / log_x_s in [-1b-66, 1b-66] /\ (far_w - log_x_w) / log_x_w in [-1b-113, 1b-113]
}

# How to split the errors, as Gappa would not by itself.
s1 - S -> (s1 - t1) - rest_s;
factor_s - S*q -> (s1*q_table - S*q) + d1;
near_s - m * (S*q) -> m * (factor_s - S*q) + d2;
zero_s - log_z_s -> offset_error + r * (factor_s - S*q) + d3;
(far_s - log_x_s) / log_x_s -> ((zero_s - log_z_s + d4) / k + log_2_error) / (log_x_s / k) {k <> 0, log_x_s <> 0};

w1 - T -> (w1 - u1) - rest_w;
factor_w - T*q -> (w1*q_table - T*q) + d1;
near_w - m * (T*q) -> m * (factor_w - T*q) + d2;
zero_w - log_z_w -> offset_error + r * (factor_w - T*q) + d3;
(far_w - log_x_w) / log_x_w -> ((zero_w - log_z_w + d4) / k + log_2_error) / (log_x_w / k) {k <> 0, log_x_w <> 0};
q_table - q -> q_error;
