// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Constants of exp.hpp, printed by tools/tables/exp.cpp: not to be edited by hand.
#pragma once
#include <stdint.h>

namespace attest::exp_tables {

// log2_e is 1/ln 2 rounded to nearest. ln 2 = ln2_high + ln2_low: ln2_high a multiple of 2^-44, so
// that k·ln2_high is exact for |k| < 2^9; ln2_low the rest, rounded to nearest.
inline constexpr double log2_e = 0x1.71547652b82fep+0;
inline constexpr double ln2_high = 0x1.62e42fefa38p-1;
inline constexpr double ln2_low = 0x1.ef35793c7673p-45;

// 1 - log2(3/2), rounded to nearest. With k = floor(x/ln 2 + up) the reduced argument r = x - k·ln 2
// lies between ln(3/4) and ln(3/2), so that e^r - 1 lies in [-1/4, 1/2].
inline constexpr double up = 0x1.a8ff971810a5ep-2;

// e^r = 1 + r + r^2/2 + r^3·(cubic[0] + cubic[1]·r + ... + cubic[9]·r^9) there, up to 2^-60.3 of e^r:
// the polynomial through the Chebyshev points, its coefficients rounded to double.
inline constexpr double cubic[10] = {
    0x1.5555555555555p-3,
    0x1.5555555555578p-5,
    0x1.111111111120cp-7,
    0x1.6c16c16bf0b72p-10,
    0x1.a01a019fc1f95p-13,
    0x1.a01a0314acb0bp-16,
    0x1.71de33e581fbfp-19,
    0x1.27df93396bb6fp-22,
    0x1.aec89073a1df3p-26,
    0x1.2cba71851d3f1p-29,
};

// ln 2 = ln2_short + ln2_rest: ln2_short of 29 bits, so that its product with a float is exact.
inline constexpr double ln2_short = 0x1.62e42fep-1;
inline constexpr double ln2_rest = 0x1.f473de6af278fp-30;

// 2^r = 1 + r·ln 2 + r^2·(quadratic[0] + ... + quadratic[10]·r^10) for log2(3/4) <= r <= log2(3/2),
// up to 2^-58.5 of 2^r: through the Chebyshev points, rounded to double.
inline constexpr double quadratic[11] = {
    0x1.ebfbdff82c58fp-3,
    0x1.c6b08d704a0bfp-5,
    0x1.3b2ab6fba4ed5p-7,
    0x1.5d87fe78a6d2cp-10,
    0x1.430912f83035ap-13,
    0x1.ffcbfc55ffec8p-17,
    0x1.62c023f6b1d2p-20,
    0x1.b5253a62e55dbp-24,
    0x1.e4c495211f9fbp-28,
    0x1.e937bc1424275p-32,
    0x1.dbb12ddc3f1b7p-36,
};

// 2^f = 1 + f·(rough[0] + ... + rough[7]·f^7) for -1/2 <= f <= 1/2, up to 2^-38.8 of 2^f: through
// the Chebyshev points, rounded to double.
inline constexpr double rough[8] = {
    0x1.62e42fef9cc69p-1,
    0x1.ebfbdff82a734p-3,
    0x1.c6b08da70cce3p-5,
    0x1.3b2ab70ad2565p-7,
    0x1.5d877598350dep-10,
    0x1.4308c7183d6a2p-13,
    0x1.00c0e4e15189cp-16,
    0x1.63b2d7971923fp-20,
};

// ln 2 to 21 bits behind the point, and what is left, rounded to nearest: less than a hundredth of the
// 2^-22 that may be.
inline constexpr float ln2_of_21_bits = 0x1.62e43p-1f;
inline constexpr float ln2_after_21_bits = -0x1.05c61p-29f;

// 2^(i/8) = eighth[i]·(1 + eighth_rest[i]), each rounded to nearest.
inline constexpr float eighth[8] = {
    0x1p+0f,
    0x1.172b84p+0f,
    0x1.306fep+0f,
    0x1.4bfdaep+0f,
    0x1.6a09e6p+0f,
    0x1.8ace54p+0f,
    0x1.ae89fap+0f,
    0x1.d5818ep+0f,
};
inline constexpr float eighth_rest[8] = {
    0x0p+0f,
    -0x1.9c0c22p-27f,
    0x1.125002p-25f,
    -0x1.0a355p-25f,
    0x1.26055cp-26f,
    0x1.67a1cap-28f,
    -0x1.f9c304p-27f,
    -0x1.a5217cp-28f,
};

// 2^(i/32) = thirty_second[i]·(1 + thirty_second_rest[i]), each rounded to nearest.
inline constexpr float thirty_second[32] = {
    0x1p+0f,
    0x1.059b0ep+0f,
    0x1.0b5586p+0f,
    0x1.11301ep+0f,
    0x1.172b84p+0f,
    0x1.1d4874p+0f,
    0x1.2387a6p+0f,
    0x1.29e9ep+0f,
    0x1.306fep+0f,
    0x1.371a74p+0f,
    0x1.3dea64p+0f,
    0x1.44e086p+0f,
    0x1.4bfdaep+0f,
    0x1.5342b6p+0f,
    0x1.5ab07ep+0f,
    0x1.6247ecp+0f,
    0x1.6a09e6p+0f,
    0x1.71f75ep+0f,
    0x1.7a1148p+0f,
    0x1.82589ap+0f,
    0x1.8ace54p+0f,
    0x1.93737cp+0f,
    0x1.9c4918p+0f,
    0x1.a5503cp+0f,
    0x1.ae89fap+0f,
    0x1.b7f77p+0f,
    0x1.c199bep+0f,
    0x1.cb720ep+0f,
    0x1.d5818ep+0f,
    0x1.dfc974p+0f,
    0x1.ea4afap+0f,
    0x1.f50766p+0f,
};
inline constexpr float thirty_second_rest[32] = {
    0x0p+0f,
    -0x1.947414p-25f,
    0x1.8d96d4p-25f,
    -0x1.dda2fcp-25f,
    -0x1.9c0c22p-27f,
    -0x1.a2fbb2p-25f,
    0x1.964904p-25f,
    -0x1.2b0dbcp-25f,
    0x1.125002p-25f,
    -0x1.cde8cep-26f,
    0x1.370be4p-25f,
    0x1.336de2p-30f,
    -0x1.0a355p-25f,
    -0x1.c541b4p-26f,
    -0x1.00d8acp-27f,
    -0x1.6cb284p-25f,
    0x1.26055cp-26f,
    0x1.8b2bb8p-26f,
    -0x1.05cb44p-25f,
    -0x1.1c2142p-26f,
    0x1.67a1cap-28f,
    -0x1.348e56p-25f,
    0x1.a3b5e4p-28f,
    -0x1.0b7ec8p-25f,
    -0x1.f9c304p-27f,
    -0x1.e4c886p-26f,
    -0x1.6961b4p-28f,
    -0x1.b5151ep-28f,
    -0x1.a5217cp-28f,
    -0x1.ab7132p-26f,
    0x1.61428ep-28f,
    -0x1.2ad5f8p-27f,
};

// e^r = 1 + r + r^2/2 + r^3·(cubic_of_eighths[0] + ... + [2]·r^2) for |r| <= ln(2)/16,
// up to 2^-38.4.
inline constexpr float cubic_of_eighths[3] = {
    0x1.555556p-3f,
    0x1.55596ep-5f,
    0x1.111368p-7f,
};

// e^r = 1 + r + r^2·(square_of_thirty_seconds[0] + ... + [2]·r^2) for |r| <= ln(2)/64,
// up to 2^-41.6.
inline constexpr float square_of_thirty_seconds[3] = {
    0x1p-1f,
    0x1.5555b8p-3f,
    0x1.555596p-5f,
};

// 64/ln 2, rounded to nearest. ln(2)/64·2^198 truncated, in words of 64 bits, the highest first.
inline constexpr double log2_e_times_64 = 0x1.71547652b82fep+6;
inline constexpr uint64_t ln2_over_64[3] = {
    0xb17217f7d1cf79ab,
    0xc9e3b39803f2f6af,
    0x40f343267298b62d,
};

// e^r = 1 + r + r^2·(square[0] + ... + square[4]·r^4) for 0 <= r <= ln(2)/64·(1 + 2^-16), up to
// 2^-67.0: the polynomial through the Chebyshev points, each coefficient times 2^64, truncated.
inline constexpr uint64_t square[5] = {
    0x800000000000042c,
    0x2aaaaaaaaa5f5fdf,
    0x0aaaaaab83e20f54,
    0x02222146d69e0b20,
    0x005b6004c4fdebca,
};

// 1/n! times 2^128, truncated, for n = 2 ... 14.
inline constexpr uint64_t reciprocal_factorial[15][2] = {
    {},
    {},
    {0x8000000000000000, 0x0000000000000000},
    {0x2aaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa},
    {0x0aaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa},
    {0x0222222222222222, 0x2222222222222222},
    {0x005b05b05b05b05b, 0x05b05b05b05b05b0},
    {0x000d00d00d00d00d, 0x00d00d00d00d00d0},
    {0x0001a01a01a01a01, 0xa01a01a01a01a01a},
    {0x00002e3bc74aad8e, 0x671f5583911ca002},
    {0x0000049f93edde27, 0xd71cbbc05b4fa999},
    {0x0000006b99159fd5, 0x138e3f9d1f92e0df},
    {0x00000008f76c77fc, 0x6c4bdaa26d4c3d67},
    {0x00000000b092309d, 0x43684be51c198e91},
    {0x000000000c9cba54, 0x603e4e905d6f8a2e},
};

// 2^(i/64) times 2^127, truncated.
inline constexpr uint64_t power_of_two[64][2] = {
    {0x8000000000000000, 0x0000000000000000},
    {0x8164d1f3bc030773, 0x7be56527bd14def4},
    {0x82cd8698ac2ba1d7, 0x3e2a475b46520bff},
    {0x843a28c3acde4046, 0x1af92eca13fd1582},
    {0x85aac367cc487b14, 0xc5c95b8c2154c1b2},
    {0x871f61969e8d1010, 0x3a1727c57b52a956},
    {0x88980e8092da8527, 0x5df8d76c98c67562},
    {0x8a14d575496efd9a, 0x080ca1d92c3680c2},
    {0x8b95c1e3ea8bd6e6, 0xfbe4628758a53c90},
    {0x8d1adf5b7e5ba9e5, 0xb4c7b4968e41ad36},
    {0x8ea4398b45cd53c0, 0x2dc0144c8783d4c5},
    {0x9031dc431466b1dc, 0x775814a8494e87e2},
    {0x91c3d373ab11c336, 0x0fd6d8e0ae5ac9d8},
    {0x935a2b2f13e6e92b, 0xd339940e9d924ee7},
    {0x94f4efa8fef70961, 0x2e8afad12551de54},
    {0x96942d3720185a00, 0x48ea9b683a9c22c4},
    {0x9837f0518db8a96f, 0x46ad23182e42f6f6},
    {0x99e0459320b7fa64, 0xe43086cb34b5fcae},
    {0x9b8d39b9d54e5538, 0xa2a817a2a3cc3f1f},
    {0x9d3ed9a72cffb750, 0xde494cf050e99b0b},
    {0x9ef5326091a111ad, 0xa0911f09ebb9fdd1},
    {0xa0b0510fb9714fc2, 0x192dc79edb0fd9a9},
    {0xa27043030c496818, 0x9b7a04ef80cfdea7},
    {0xa43515ae09e6809e, 0x0d1db4831781e1ee},
    {0xa5fed6a9b15138ea, 0x1cbd7f621710701b},
    {0xa7cd93b4e9653569, 0x9ec5b4d5039f72af},
    {0xa9a15ab4ea7c0ef8, 0x541e24ec3531fa73},
    {0xab7a39b5a93ed337, 0x658023b2759e0079},
    {0xad583eea42a14ac6, 0x4980a8c8f59a2ec4},
    {0xaf3b78ad690a4374, 0xdf26101ccbb35032},
    {0xb123f581d2ac258f, 0x87d037e96d215d8e},
    {0xb311c412a9112489, 0x3ecf14dc798a519b},
    {0xb504f333f9de6484, 0x597d89b3754abe9f},
    {0xb6fd91e328d17791, 0x07165f0ddd541a59},
    {0xb8fbaf4762fb9ee9, 0x1b879778566b65a1},
    {0xbaff5ab2133e45fb, 0x74d519d24593838c},
    {0xbd08a39f580c36be, 0xa8811fb66d0faf7a},
    {0xbf1799b67a731082, 0xe815d0abcbf0b850},
    {0xc12c4cca66709456, 0x7c457d59a50087b5},
    {0xc346ccda24976407, 0x20ec856128b83a42},
    {0xc5672a115506dadd, 0x3e2ad0c964dd9f37},
    {0xc78d74c8abb9b15c, 0xc13a2e3976c0277e},
    {0xc9b9bd866e2f27a2, 0x80e1f92a0511697e},
    {0xcbec14fef2727c5c, 0xf4907c8f45ebf6dc},
    {0xce248c151f8480e3, 0xe235838f95f2c6ed},
    {0xd06333daef2b2594, 0xd6d45c6559a4d502},
    {0xd2a81d91f12ae45a, 0x12248e57c3de4028},
    {0xd4f35aabcfedfa1f, 0x5921deffa6262c5a},
    {0xd744fccad69d6af4, 0x39a68bb9902d3fde},
    {0xd99d15c278afd7b5, 0xfe873deca3e12bab},
    {0xdbfbb797daf23755, 0x3d840d5a9e29aa64},
    {0xde60f4825e0e9123, 0xdd07a2d9e8466859},
    {0xe0ccdeec2a94e111, 0x065895048dd333ca},
    {0xe33f8972be8a5a51, 0x09bfe90795980eec},
    {0xe5b906e77c8348a8, 0x1e5e8f4a4edbb0ec},
    {0xe8396a503c4bdc68, 0x791790d0ac70c7dd},
    {0xeac0c6e7dd24392e, 0xd02d75b3706e54fa},
    {0xed4f301ed9942b84, 0x600d2db6a64bfb12},
    {0xefe4b99bdcdaf5cb, 0x46561cf6948db912},
    {0xf281773c59ffb139, 0xe8980a9cc8f47a4b},
    {0xf5257d152486cc2c, 0x7b9d0c7aed980fc3},
    {0xf7d0df730ad13bb8, 0xfe90d496d60fb6ea},
    {0xfa83b2db722a033a, 0x7c25bb14315d7fcc},
    {0xfd3e0c0cf486c174, 0x853f3a5931e0ee03},
};

}  // namespace attest::exp_tables
