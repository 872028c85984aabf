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

e11 = 1/11;
e10 = 1/10 - r * e11;
e9 = 1/9 - r * e10;
e8 = 1/8 - r * e9;
e7 = 1/7 - r * e8;
e6 = 1/6 - r * e7;
e5 = 1/5 - r * e6;
e4 = 1/4 - r * e5;
e3 = 1/3 - r * e4;
e2 = 1/2 - r * e3;
e1 = 1 - r * e2;
{ r in [-1b-6, 1b-6] -> s1 - e1 in ? /\ s1 in ? }
