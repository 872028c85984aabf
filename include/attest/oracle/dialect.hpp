// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// Dialects: named readings of a call. Each turns a framework's arrays and options into a problem.
#pragma once
#include <attest/oracle/dialect/conventions.hpp>
#include <attest/oracle/dialect/cudnn.hpp>
#include <attest/oracle/dialect/flash_attention.hpp>
#include <attest/oracle/dialect/flashinfer.hpp>
#include <attest/oracle/dialect/ggml.hpp>
#include <attest/oracle/dialect/gpt_oss.hpp>
#include <attest/oracle/dialect/jax.hpp>
#include <attest/oracle/dialect/mlx.hpp>
#include <attest/oracle/dialect/onnx.hpp>
#include <attest/oracle/dialect/openvino.hpp>
#include <attest/oracle/dialect/ort.hpp>
#include <attest/oracle/dialect/plain.hpp>
#include <attest/oracle/dialect/torch.hpp>

#include <span>
#include <string>
#include <string_view>

namespace attest::oracle {

struct Dialect {
  std::string_view name;
  std::string_view what;    // in one line
  std::string_view source;  // the text that defines it
  Problem (*read)(const Call&);
  const Conventions* conventions;  // null: it takes every one as an option
  std::span<const Term> options;
  std::span<const Term> arrays;  // beside q, k, v and out
};

inline constexpr Dialect dialects[] = {
    {"onnx-23", "ONNX operator Attention, operator set 23",
     "https://onnx.ai/onnx/operators/onnx__Attention.html", detail::read_onnx<23>,
     &detail::onnx_conventions, detail::onnx_options, detail::onnx_23_arrays},
    {"onnx-24", "ONNX operator Attention, operator set 24",
     "https://onnx.ai/onnx/operators/onnx__Attention.html", detail::read_onnx<24>,
     &detail::onnx_conventions, detail::onnx_options, detail::onnx_24_arrays},
    {"onnx-25", "ONNX operator Attention, operator set 25",
     "https://onnx.ai/onnx/operators/onnx__Attention.html", detail::read_onnx<25>,
     &detail::onnx_25_conventions, detail::onnx_25_options, detail::onnx_24_arrays},
    {"torch", "PyTorch 2.5 and later, torch.nn.functional.scaled_dot_product_attention",
     "https://docs.pytorch.org/docs/stable/generated/"
     "torch.nn.functional.scaled_dot_product_attention.html, and its math path",
     detail::read_torch, &detail::torch_conventions, detail::torch_options, detail::torch_arrays},
    {"flash-attention-2", "FlashAttention 2, flash_attn_func, _varlen_func and _with_kvcache",
     "https://github.com/Dao-AILab/flash-attention, flash_attn/flash_attn_interface.py",
     detail::read_flash_attention_2, &detail::flash_attention_conventions,
     detail::flash_attention_2_options, detail::flash_attention_2_arrays},
    {"flash-attention-3", "FlashAttention 3, flash_attn_func, _varlen_func and _with_kvcache",
     "https://github.com/Dao-AILab/flash-attention, hopper/flash_attn_interface.py",
     detail::read_flash_attention_3, &detail::flash_attention_conventions,
     detail::flash_attention_3_options, detail::flash_attention_3_arrays},
    {"jax", "JAX, jax.nn.dot_product_attention",
     "https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html, and "
     "jax/_src/nn/functions.py",
     detail::read_jax, &detail::jax_conventions, detail::jax_options, detail::jax_arrays},
    {"cudnn", "cuDNN, scaled dot product attention of its frontend",
     "https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/operations/Attention.html",
     detail::read_cudnn, &detail::cudnn_conventions, detail::cudnn_options, detail::cudnn_arrays},
    {"mlx", "MLX, mlx.core.fast.scaled_dot_product_attention",
     "https://ml-explore.github.io/mlx/build/html/python/_autosummary/"
     "mlx.core.fast.scaled_dot_product_attention.html",
     detail::read_mlx, &detail::mlx_conventions, detail::mlx_options, detail::mlx_arrays},
    {"flashinfer", "FlashInfer, prefill of one request, ragged or paged batches",
     "https://docs.flashinfer.ai/api/prefill.html, and include/flashinfer/attention/variants.cuh",
     detail::read_flashinfer, &detail::flashinfer_conventions, detail::flashinfer_options,
     detail::flashinfer_arrays},
    {"ort-gqa", "ONNX Runtime's own operator GroupQueryAttention",
     "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md, and "
     "onnxruntime/contrib_ops/cpu/bert/gqa_attention_base.h",
     detail::read_ort_gqa, &detail::ort_gqa_conventions, detail::ort_gqa_options,
     detail::ort_gqa_arrays},
    {"ort-mha", "ONNX Runtime's own operator MultiHeadAttention",
     "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md",
     detail::read_ort_mha, &detail::ort_mha_conventions, detail::ort_mha_options,
     detail::ort_mha_arrays},
    {"openvino", "OpenVINO operation ScaledDotProductAttention-13",
     "https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/"
     "operation-specs/sequence/scaled-dot-product-attention.html",
     detail::read_openvino, &detail::openvino_conventions, detail::openvino_options,
     detail::openvino_arrays},
    {"gpt-oss", "gpt-oss, causal attention with sinks",
     "https://github.com/openai/gpt-oss/blob/main/gpt_oss/torch/model.py, and transformers' "
     "modeling_gpt_oss.py",
     detail::read_gpt_oss, &detail::gpt_oss_conventions, detail::gpt_oss_options,
     detail::gpt_oss_arrays},
    {"ggml", "ggml, ggml_flash_attn_ext and ggml_soft_max_ext",
     "https://github.com/ggml-org/llama.cpp/blob/master/ggml/include/ggml.h, and the CPU "
     "backend's ops.cpp",
     detail::read_ggml, &detail::ggml_conventions, detail::ggml_options, detail::ggml_arrays},
    {"plain", "home-made attention, every choice an option of its own", "docs/captures.md",
     detail::read_plain, nullptr, detail::plain_options, detail::plain_arrays},
};

// Null: nobody's.
inline const Dialect* find_dialect(std::string_view name) {
  for (const Dialect& dialect : dialects)
    if (dialect.name == name) return &dialect;
  return nullptr;
}

// Reads the call by its dialect. Throws BadCall where the call cannot be meant.
inline Problem read_problem(const Call& call) {
  if (const Dialect* dialect = find_dialect(call.dialect)) return dialect->read(call);
  std::string known;
  for (const Dialect& dialect : dialects)
    known += (known.empty() ? "" : ", ") + std::string(dialect.name);
  throw BadCall("unknown dialect \"" + call.dialect + "\"; known are " + known);
}

}  // namespace attest::oracle
