// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Attention for fixed sizes, in reading order: values with shapes, elementary functions, softmax,
// attention, its cost.
#pragma once
#include <attest/matrix.hpp>

#include <attest/concepts.hpp>

#include <attest/algebra.hpp>

#include <attest/exp.hpp>
#include <attest/log.hpp>
#include <attest/sincos.hpp>
#include <attest/sqrt.hpp>
#include <attest/tanh.hpp>

#include <attest/fixed.hpp>
#include <attest/formats.hpp>

#include <attest/bias.hpp>
#include <attest/mask.hpp>
#include <attest/rule.hpp>
#include <attest/softmax.hpp>

#include <attest/roles.hpp>
#include <attest/score.hpp>
#include <attest/rows.hpp>

#include <attest/attention.hpp>
#include <attest/hard.hpp>

#include <attest/heads.hpp>
#include <attest/layer.hpp>
#include <attest/position.hpp>
#include <attest/streaming.hpp>

#include <attest/cache.hpp>

#include <attest/gradient.hpp>
#include <attest/layer_gradient.hpp>

#include <attest/cost.hpp>
