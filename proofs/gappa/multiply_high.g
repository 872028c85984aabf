# multiply_high of two Wides (include/attest/bits.hpp), 128 bits behind the point each: the product of the high words and
# two truncated products are at most 3 units of 2^-128 too small, the product of a Wide and a word at most 1.
a = fixed<-128, dn>(a_);
b = fixed<-128, dn>(b_);
a_high = fixed<-64, dn>(a);
b_high = fixed<-64, dn>(b);
a_low = a - a_high;
b_low = b - b_high;
product = a_high * b_high + fixed<-128, dn>(a_high * b_low) + fixed<-128, dn>(a_low * b_high);
by_word = a_high * b_high + fixed<-128, dn>(a_high * b_low);

{ a in [0, 1] /\ b in [0, 1] -> product - a * b in [-3b-128, 0] /\ by_word - a_high * b in [-1b-128, 0] }

product - a * b -> (fixed<-128, dn>(a_high * b_low) - a_high * b_low) +
                   (fixed<-128, dn>(a_low * b_high) - a_low * b_high) - (a - a_high) * (b - b_high);
by_word - a_high * b -> fixed<-128, dn>(a_high * b_low) - a_high * b_low;
