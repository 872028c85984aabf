// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The facts a shape must satisfy, each named as the sentence the compiler prints when it does not
// hold.
#pragma once
#include <stddef.h>

namespace attest {

template <class A, class B>
inline constexpr bool is_same_type = false;
template <class A>
inline constexpr bool is_same_type<A, A> = true;

// What an expression gives, references and const put aside: decltype(by_value(…)).
template <class T>
T by_value(T);

// A + B, A − B: entry by entry.
template <::size_t LeftRows, ::size_t LeftColumns, ::size_t RightRows, ::size_t RightColumns>
concept same_shape = LeftRows == RightRows && LeftColumns == RightColumns;

// A·B: A has as many columns as B has rows.
template <::size_t LeftColumns, ::size_t RightRows>
concept inner_dimensions_agree = LeftColumns == RightRows;

// q·k is defined only between vectors of one length, d_k.
template <::size_t QueryWidth, ::size_t KeyWidth>
concept query_width_equals_key_width = QueryWidth == KeyWidth;

// Every key that can be found has one value to hand over.
template <::size_t KeyRows, ::size_t ValueRows>
concept one_value_row_per_key_row = KeyRows == ValueRows;

// A mask says for every query and every key whether the one may see the other.
template <::size_t MaskRows, ::size_t MaskColumns, ::size_t QueryRows, ::size_t KeyRows>
concept mask_has_one_row_per_query_and_one_column_per_key =
    MaskRows == QueryRows && MaskColumns == KeyRows;

// Arithmetic happens in one type; a conversion is written where it happens, not found in a result.
template <class A, class B>
concept same_number_type = is_same_type<A, B>;

}  // namespace attest
