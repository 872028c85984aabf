// Copyright the attest authors
// SPDX-License-Identifier: BSL-1.0

// The dialects, one after the other.
#pragma once
#include <attest/oracle/dialect.hpp>
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

#include <string>

namespace attest::oracle {
namespace detail {

inline constexpr Dialect dialect_table[] = {
    {"onnx-23", "ONNX operator Attention, operator set 23",
     "https://onnx.ai/onnx/operators/onnx__Attention.html", read_onnx<23>, &onnx_conventions,
     onnx_options, onnx_23_arrays},
    {"onnx-24", "ONNX operator Attention, operator set 24",
     "https://onnx.ai/onnx/operators/onnx__Attention.html", read_onnx<24>, &onnx_conventions,
     onnx_options, onnx_24_arrays},
    {"onnx-25", "ONNX operator Attention, operator set 25",
     "https://onnx.ai/onnx/operators/onnx__Attention.html", read_onnx<25>, &onnx_25_conventions,
     onnx_25_options, onnx_24_arrays},
    {"torch", "PyTorch 2.5 and later, torch.nn.functional.scaled_dot_product_attention",
     "https://docs.pytorch.org/docs/stable/generated/"
     "torch.nn.functional.scaled_dot_product_attention.html, and its math path",
     read_torch, &torch_conventions, torch_options, torch_arrays},
    {"flash-attention-2", "FlashAttention 2, flash_attn_func, _varlen_func and _with_kvcache",
     "https://github.com/Dao-AILab/flash-attention, flash_attn/flash_attn_interface.py",
     read_flash_attention_2, &flash_attention_conventions, flash_attention_2_options,
     flash_attention_2_arrays},
    {"flash-attention-3", "FlashAttention 3, flash_attn_func, _varlen_func and _with_kvcache",
     "https://github.com/Dao-AILab/flash-attention, hopper/flash_attn_interface.py",
     read_flash_attention_3, &flash_attention_conventions, flash_attention_3_options,
     flash_attention_3_arrays},
    {"jax", "JAX, jax.nn.dot_product_attention",
     "https://docs.jax.dev/en/latest/_autosummary/jax.nn.dot_product_attention.html, and "
     "jax/_src/nn/functions.py",
     read_jax, &jax_conventions, jax_options, jax_arrays},
    {"cudnn", "cuDNN, scaled dot product attention of its frontend",
     "https://docs.nvidia.com/deeplearning/cudnn/frontend/latest/operations/Attention.html",
     read_cudnn, &cudnn_conventions, cudnn_options, cudnn_arrays},
    {"mlx", "MLX, mlx.core.fast.scaled_dot_product_attention",
     "https://ml-explore.github.io/mlx/build/html/python/_autosummary/"
     "mlx.core.fast.scaled_dot_product_attention.html",
     read_mlx, &mlx_conventions, mlx_options, mlx_arrays},
    {"flashinfer", "FlashInfer, prefill of one request, ragged or paged batches",
     "https://docs.flashinfer.ai/api/prefill.html, and include/flashinfer/attention/variants.cuh",
     read_flashinfer, &flashinfer_conventions, flashinfer_options, flashinfer_arrays},
    {"ort-gqa", "ONNX Runtime's own operator GroupQueryAttention",
     "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md, and "
     "onnxruntime/contrib_ops/cpu/bert/gqa_attention_base.h",
     read_ort_gqa, &ort_gqa_conventions, ort_gqa_options, ort_gqa_arrays},
    {"ort-mha", "ONNX Runtime's own operator MultiHeadAttention",
     "https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md", read_ort_mha,
     &ort_mha_conventions, ort_mha_options, ort_mha_arrays},
    {"openvino", "OpenVINO operation ScaledDotProductAttention-13",
     "https://docs.openvino.ai/2025/documentation/openvino-ir-format/operation-sets/"
     "operation-specs/sequence/scaled-dot-product-attention.html",
     read_openvino, &openvino_conventions, openvino_options, openvino_arrays},
    {"gpt-oss", "gpt-oss, causal attention with sinks",
     "https://github.com/openai/gpt-oss/blob/main/gpt_oss/torch/model.py, and transformers' "
     "modeling_gpt_oss.py",
     read_gpt_oss, &gpt_oss_conventions, gpt_oss_options, gpt_oss_arrays},
    {"ggml", "ggml, ggml_flash_attn_ext and ggml_soft_max_ext",
     "https://github.com/ggml-org/llama.cpp/blob/master/ggml/include/ggml.h, and the CPU "
     "backend's ops.cpp",
     read_ggml, &ggml_conventions, ggml_options, ggml_arrays},
    {"plain", "home-made attention, every choice an option of its own", "docs/captures.md",
     read_plain, nullptr, plain_options, plain_arrays},
};

}  // namespace detail

ATTEST_ORACLE_INLINE std::span<const Dialect> dialects() {
  return detail::dialect_table;
}

ATTEST_ORACLE_INLINE const Dialect* find_dialect(std::string_view name) {
  for (const Dialect& dialect : dialects())
    if (dialect.name == name) return &dialect;
  return nullptr;
}

ATTEST_ORACLE_INLINE Problem read_problem(const Call& call) {
  if (const Dialect* dialect = find_dialect(call.dialect)) return dialect->read(call);
  std::string known;
  for (const Dialect& dialect : dialects())
    known += (known.empty() ? "" : ", ") + std::string(dialect.name);
  throw BadCall("unknown dialect \"" + call.dialect + "\"; known are " + known);
}

}  // namespace attest::oracle
