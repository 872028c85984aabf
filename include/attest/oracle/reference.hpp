// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Reference: the outputs a call should have had, correctly rounded and certified element by
// element.
#pragma once
#include <attest/oracle/call.hpp>
#include <attest/oracle/certificate.hpp>
#include <attest/oracle/linkage.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attest::oracle {

// One output, in the layout of the call's own.
struct ReferenceArray {
  std::string name;
  ElementType type = ElementType::float32;
  Shape shape;
  std::vector<std::byte> bytes;                   // in C order, little-endian
  std::vector<ReferenceElement> elements;         // in the same order
  std::array<std::size_t, certificates> count{};  // of elements by what certifies them
  double widest = 0;                              // of the intervals

  std::size_t certified_by(Certificate certificate) const {
    return count[static_cast<std::size_t>(certificate)];
  }
};

struct ReferenceOptions {
  // Of out and qk_matmul_output; nothing: as the call has them, or else as q is. Present key and
  // value are copies and keep the inputs' type.
  std::optional<ElementType> type;
};

// The correctly rounded `out` of a call, and of ONNX's other outputs those that the call holds. By
// the dialect's first reading, whatever the call's own outputs are. Throws BadCall where the call
// cannot be meant.
std::vector<ReferenceArray> reference(const Call& call, const ReferenceOptions& options = {});

}  // namespace attest::oracle

#ifndef ATTEST_ORACLE_COMPILED
#include <attest/oracle/definitions/reference.hpp>
#endif
