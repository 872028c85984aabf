// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// One NumPy array: what is written is read, in every type, order and version; what is not one
// array of numbers is refused in one line.
#include "catch.hpp"

#include <attest/format/npy.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

#include "files.hpp"

using attest::format::NpyArray;
using attest::format::parse_npy;
using attest::oracle::ElementType;
using attest::oracle::Shape;
using files::in_memory;
using files::npy;
using files::npy_with_header;
using files::refusal;

namespace {

NpyArray parse(std::string_view file) {
  return parse_npy(files::to_bytes(file), "x");
}

std::string refused(std::string_view file) {
  return refusal([&] { parse(file); });
}

// Six values of T, written as shape (2, 3) in both orders, come back at their places.
template <class T>
void check_round_trip(std::string descr, ElementType type, std::vector<T> values) {
  CAPTURE(descr);
  for (const unsigned major : {1u, 2u, 3u}) {
    for (const bool fortran_order : {false, true}) {
      const NpyArray array = parse(npy(descr, "(2, 3)", in_memory(values), fortran_order, major));
      const auto view = array.view();
      CHECK(view.type == type);
      CHECK(view.shape == Shape{2, 3});
      for (std::size_t row = 0; row < 2; ++row) {
        for (std::size_t column = 0; column < 3; ++column) {
          const std::byte* place = view.data + static_cast<std::ptrdiff_t>(row) * view.strides[0] +
                                   static_cast<std::ptrdiff_t>(column) * view.strides[1];
          const T written = values[fortran_order ? column * 2 + row : row * 3 + column];
          T read;
          std::memcpy(&read, place, sizeof read);
          CHECK(read == written);
          if constexpr (std::is_floating_point_v<T>)
            CHECK(view.number_at(place) == static_cast<double>(written));
          else if (type != ElementType::float16)
            CHECK(view.integer_at(place) == static_cast<std::int64_t>(written));
        }
      }
    }
  }
}

template <class T>
std::vector<T> six_integers() {
  return {0, 1, 2, 100, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
}

}  // namespace

TEST_CASE("every element type is read in both orders and all format versions") {
  check_round_trip<double>("<f8", ElementType::float64, {0, -1, 0.1, 1e308, 5e-324, -2.5});
  check_round_trip<float>("<f4", ElementType::float32, {0, -1, 0.1f, 1e38f, 1e-45f, -2.5f});
  check_round_trip<std::uint16_t>("<f2", ElementType::float16, {0, 0x3c00, 0xbc00, 1, 0x7bff, 9});
  check_round_trip<std::uint8_t>("|b1", ElementType::boolean, {0, 1, 1, 0, 1, 0});
  check_round_trip("|i1", ElementType::int8, six_integers<std::int8_t>());
  check_round_trip("<i2", ElementType::int16, six_integers<std::int16_t>());
  check_round_trip("<i4", ElementType::int32, six_integers<std::int32_t>());
  check_round_trip("<i8", ElementType::int64, six_integers<std::int64_t>());
  check_round_trip("|u1", ElementType::uint8, six_integers<std::uint8_t>());
  check_round_trip("<u2", ElementType::uint16, six_integers<std::uint16_t>());
  check_round_trip("<u4", ElementType::uint32, six_integers<std::uint32_t>());
  check_round_trip("<u8", ElementType::uint64, six_integers<std::uint64_t>());
  check_round_trip<float>("=f4", ElementType::float32, {0, -1, 0.1f, 1e38f, 1e-45f, -2.5f});
}

TEST_CASE("float16 is read as the number its bits mean") {
  const NpyArray array = parse(npy("<f2", "(3,)", in_memory<std::uint16_t>({0x3c00, 0xfc00, 1})));
  CHECK(array.view().number_at(array.view().data) == 1.0);
  CHECK(array.view().number_at(array.view().data + 2) == -INFINITY);
  CHECK(array.view().number_at(array.view().data + 4) == 0x1p-24);
}

TEST_CASE("arrays without axes, without elements and with eight axes") {
  CHECK(parse(npy("<i8", "()", in_memory<std::int64_t>({7}))).view().shape == Shape{});
  CHECK(parse(npy("<f4", "(1, 2, 0, 8)", "")).view().shape == Shape{1, 2, 0, 8});
  CHECK(parse(npy("|u1", "(1, 1, 1, 1, 1, 1, 1, 2)", "ab")).view().strides.size() == 8);
  CHECK(parse(npy("<f4", "(2, 0, 3)", "", true)).view().strides ==
        std::vector<std::ptrdiff_t>{4, 8, 0});
}

TEST_CASE("a header is a Python dictionary however it is spaced, quoted and ordered") {
  const std::string data = in_memory<float>({1, 2});
  CHECK(
      parse(npy_with_header("{\"shape\":(2,),'fortran_order':True,'descr':\"<f4\"}", data)).shape ==
      Shape{2});
  CHECK(parse(npy_with_header(
                  " {'shape' : ( 1 , 2 , ) ,\n'fortran_order' :False , 'descr': '<f4' ,}\n", data))
            .shape == Shape{1, 2});
}

TEST_CASE("what is not a NumPy file is refused") {
  CHECK(refused("") == "x: found \"\" at its beginning, expected \"\\x93NUMPY\"");
  CHECK(refused("PK\x03\x04 and so on") ==
        "x: found \"PK\\x03\\x04 a\" at its beginning, expected \"\\x93NUMPY\"");
  CHECK(refused("\x93NUMPY") == "x: ends after 6 bytes, in its header");
  CHECK(refused(std::string("\x93NUMPY\x01\x00\x10", 9)) == "x: ends after 9 bytes, in its header");
  CHECK(refused(std::string("\x93NUMPY\x02\x00\x10\x00", 10)) ==
        "x: ends after 10 bytes, in its header");
  CHECK(refused(npy("<f4", "(1,)", "abcd", false, 4)) ==
        "x: is in NumPy format 4.0; expected 1.0, 2.0 or 3.0");
  CHECK(refused(std::string("\x93NUMPY\x01\x01\x00\x00", 10)) ==
        "x: is in NumPy format 1.1; expected 1.0, 2.0 or 3.0");
  CHECK(refused(std::string("\x93NUMPY\x01\x00\xff\xff{}", 12)) ==
        "x: claims a header of 65535 bytes, but only 2 follow");
  CHECK(refused(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14)) ==
        "x: claims a header of 4294967295 bytes, but only 2 follow");
}

TEST_CASE("a header that is not the dictionary of an array is refused") {
  const auto header = [](std::string_view text) { return refused(npy_with_header(text, "")); };
  const std::string rest = "'fortran_order': False, 'shape': (2,), ";
  CHECK(header("") == "x: header, byte 0: found its end, expected '{'");
  CHECK(header("[]") == "x: header, byte 0: found \"[]\", expected '{'");
  CHECK(header("{}") == "x: the header lacks 'descr'");
  CHECK(header("{'descr': '<f4', 'shape': ()}") == "x: the header lacks 'fortran_order'");
  CHECK(header("{'descr': '<f4', 'fortran_order': True}") == "x: the header lacks 'shape'");
  CHECK(header("{'descr': '<f4', 'descr': '<f4'}") == "x: the header has 'descr' twice");
  CHECK(header("{'color': 'red'}") ==
        "x: the header has the unknown key 'color'; expected 'descr', 'fortran_order' and 'shape'");
  CHECK(header("{descr: '<f4'}") == "x: header, byte 1: found \"descr: '<f4'}\", expected a key");
  CHECK(header("{'descr' '<f4'}") == "x: header, byte 9: found \"'<f4'}\", expected ':'");
  CHECK(header("{'descr': '<f4}") ==
        "x: header, byte 10: found \"'<f4}\", expected a text that is closed");
  CHECK(header("{'des\\x63r': '<f4'}") ==
        "x: header, byte 1: found \"'des\\x63r': '<f4'}\", expected a text without backslash");
  CHECK(header("{'descr': '<f4' 'shape': ()}") ==
        "x: header, byte 16: found \"'shape': ()}\", expected ',' or '}'");
  CHECK(header("{'fortran_order': false}") ==
        "x: header, byte 18: found \"false}\", expected True or False");
  CHECK(header("{'fortran_order': 1}") ==
        "x: header, byte 18: found \"1}\", expected True or False");
  CHECK(header("{'shape': 2}") ==
        "x: header, byte 10: found \"2}\", expected a shape such as (2, 3)");
  CHECK(header("{'shape': [2, 3]}") ==
        "x: header, byte 10: found \"[2, 3]}\", expected a shape such as (2, 3)");
  CHECK(header("{'shape': (2)}") ==
        "x: header, byte 12: found \")}\", expected ',' after the only extent");
  CHECK(header("{'shape': ((2,),)}") ==
        "x: header, byte 11: found \"(2,),)}\", expected an extent");
  CHECK(header("{'shape': (,)}") == "x: header, byte 11: found \",)}\", expected an extent");
  CHECK(header("{'shape': (2 3)}") ==
        "x: header, byte 13: found \"3)}\", expected ',' after the only extent");
  CHECK(header("{'shape': (2, 3 4)}") == "x: header, byte 16: found \"4)}\", expected ',' or ')'");
  CHECK(header("{'shape': (2, 3") == "x: header, byte 15: found its end, expected ',' or ')'");
  CHECK(header("{'shape': (2.0,)}") ==
        "x: header, byte 12: found \".0,)}\", expected ',' after the only extent");
  CHECK(header("{'shape': (02,)}") ==
        "x: header, byte 11: found \"02,)}\", expected an extent without leading zeros");
  CHECK(header("{'descr': '<f4', " + rest + "} {}") ==
        "x: header, byte 58: found \"{}\", expected nothing after '}'");
  CHECK(header(std::string(1000, '{')) ==
        "x: header, byte 1: found \"" + std::string(20, '{') + "...\", expected a key");
}

TEST_CASE("a shape that no array has is refused") {
  CHECK(refused(npy("<f4", "(2, -1)", "")) ==
        "x: the header claims extent -1 of axis 1; expected 0 or more");
  CHECK(refused(npy("<f4", "(-0,)", "")) ==
        "x: the header claims extent -0 of axis 0; expected 0 or more");
  CHECK(refused(npy("<f4", "(18446744073709551616,)", "")) ==
        "x: the header claims extent 18446744073709551616 of axis 0; expected less than 2^63");
  CHECK(refused(npy("<f4", "(9223372036854775808,)", "")) ==
        "x: the header claims extent 9223372036854775808 of axis 0; expected less than 2^63");
  CHECK(refused(npy("<f4", "(4294967296, 4294967296)", "")) ==
        "x: the header claims shape (4294967296, 4294967296) of float32, 2^63 bytes or more");
  CHECK(refused(npy("<f8", "(2305843009213693952,)", "")) ==
        "x: the header claims shape (2305843009213693952) of float64, 2^63 bytes or more");
  CHECK(refused(npy("<f4", "(0, 4294967296, 4294967296)", "")) ==
        "x: the header claims shape (0, 4294967296, 4294967296) of float32, 2^63 bytes or more");
  CHECK(refused(npy("<f4", "(4294967296, 0)", "")) ==
        "x: the header claims shape (4294967296, 0), no elements in more than 2^31 rows");
  CHECK(refused(npy("|u1", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", "a")) ==
        "x: the header claims more than 8 axes");
}

TEST_CASE("data that is shorter or longer than the shape says is refused") {
  CHECK(refused(npy("<f4", "(1000000, 500)", std::string(128, 'a'))) ==
        "x: the header claims shape (1000000, 500) of float32, 2000000000 bytes, but only 128 "
        "follow");
  CHECK(refused(npy("<f4", "(2, 2)", std::string(20, 'a'))) ==
        "x: the header claims shape (2, 2) of float32, 16 bytes, but 20 follow");
  CHECK(refused(npy("<f4", "(2, 0)", "a")) ==
        "x: the header claims shape (2, 0) of float32, 0 bytes, but 1 follow");
  CHECK(refused(npy("<f4", "()", "abc")) ==
        "x: the header claims shape () of float32, 4 bytes, but only 3 follow");
}

TEST_CASE("elements that are not little-endian numbers or booleans are refused") {
  const std::string expected = "; expected one of <f8 <f4 <f2 |b1 |i1 <i2 <i4 <i8 |u1 <u2 <u4 <u8";
  const auto descr = [](std::string_view text) { return refused(npy(text, "()", "abcdefgh")); };
  CHECK(descr(">f8") == "x: the elements are big-endian, '>f8'; expected little-endian, '<f8'");
  CHECK(descr(">i1") == "x: the elements are big-endian, '>i1'; expected little-endian, '|i1'");
  CHECK(descr("|O") == "x: the elements are '|O', Python objects" + expected);
  CHECK(descr("<U2") == "x: the elements are '<U2', text" + expected);
  CHECK(descr("|S8") == "x: the elements are '|S8', text" + expected);
  CHECK(descr("<c8") == "x: the elements are '<c8', complex numbers" + expected);
  CHECK(descr("<M8[ns]") == "x: the elements are '<M8[ns]', dates or times" + expected);
  CHECK(descr("|V2") ==
        "x: the elements are '|V2', raw bytes (bfloat16 and float8 are stored as uint16 and uint8 "
        "and named in \"formats\")" +
            expected);
  CHECK(descr("<f16") == "x: the elements are '<f16', of an unknown type" + expected);
  CHECK(descr("|f4") == "x: the elements are '|f4', of an unknown type" + expected);
  CHECK(descr("") == "x: the elements are '', of an unknown type" + expected);
  CHECK(descr("f") == "x: the elements are 'f', of an unknown type" + expected);
  CHECK(refused(npy_with_header("{'descr': [('a', '<f4')], ", "")) ==
        "x: the elements are structures; expected numbers or booleans");
}

TEST_CASE("a bool is 0 or 1") {
  CHECK(refused(npy("|b1", "(4,)", std::string("\0\1\2\0", 4))) ==
        "x: element 2 of the data is the byte 2; a bool is 0 or 1");
}
