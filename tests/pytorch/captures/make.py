# Copyright the attest authors
# SPDX-License-Identifier: BSL-1.0

"""Outputs and gradients of PyTorch's nn.MultiheadAttention, as tests/pytorch reads them.

python3 make.py FOLDER    writes NAME_float32.npz and NAME_float64.npz (numpy; torch >= 1.13, for
the products, of scaled_dot_product_attention, >= 2.5)

Tokens, parameters and the gradient of the output are normal random numbers. Gradients are those of
sum(output * d_output). Names are PyTorch's; d_NAME is the gradient with respect to NAME.
"""
import sys

import numpy
import torch
from torch import nn


def save(name, arrays):
    numpy.savez_compressed(
        name, **{k: v.detach().numpy() for k, v in arrays.items() if v is not None}
    )


def layer(folder, name, dtype, embed, heads, queries, keys=None, batch=None, bias=True, kdim=None,
          vdim=None, add_zero_attn=False, masks=None, cross=False):
    torch.manual_seed(1)
    attention = nn.MultiheadAttention(embed, heads, bias=bias, kdim=kdim, vdim=vdim,
                                      add_zero_attn=add_zero_attn, batch_first=True).to(dtype)
    for parameter in attention.parameters():
        nn.init.normal_(parameter, std=0.5)
    front = () if batch is None else (batch,)

    def tokens(count, width):
        return torch.randn(*front, count, width, dtype=dtype).requires_grad_()

    inputs = {"query": tokens(queries, embed)}
    if cross:
        inputs["key"] = tokens(keys, kdim or embed)
        inputs["value"] = tokens(keys, vdim or embed)
    query = inputs["query"]
    given = masks(dtype) if masks else {}
    for mask in given.values():
        if mask.is_floating_point():
            mask.requires_grad_()
    output, weights = attention(query, inputs.get("key", query), inputs.get("value", query),
                                need_weights=True, average_attn_weights=False, **given)
    d_output = torch.randn_like(output)
    (output * d_output).sum().backward()
    parameters = dict(attention.named_parameters())
    arrays = {**inputs, **parameters, **given, "output": output, "weights": weights,
              "d_output": d_output}
    for key, value in {**inputs, **parameters, **given}.items():
        if value.grad is not None:
            arrays["d_" + key] = value.grad
    save(f"{folder}/{name}_{str(dtype).split('.')[1]}.npz", arrays)


def product(folder, name, dtype, query_heads, key_value_heads, queries, keys, width, value_width,
            mask=None, **options):
    torch.manual_seed(2)
    query, key, value = (
        torch.randn(1, h, t, w, dtype=dtype).requires_grad_()
        for h, t, w in ((query_heads, queries, width), (key_value_heads, keys, width),
                        (key_value_heads, keys, value_width)))
    # Which algorithm is taken by default depends on the machine; this is the one of the definition.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        output = nn.functional.scaled_dot_product_attention(query, key, value, mask, **options)
    d_output = torch.randn_like(output)
    (output * d_output).sum().backward()
    save(f"{folder}/{name}_{str(dtype).split('.')[1]}.npz",
         {"query": query, "key": key, "value": value, "attn_mask": mask, "output": output,
          "d_output": d_output, "d_query": query.grad, "d_key": key.grad, "d_value": value.grad})


def rotary(folder):
    """Both forms of Llama's rotary embedding, positions 1000 to 1003, six of eight entries turned."""
    torch.manual_seed(3)
    x = torch.randn(4, 8, dtype=torch.float64)
    turned, rest = x[:, :6], x[:, 6:]
    frequencies = 1.0 / 10000.0 ** (torch.arange(0, 6, 2, dtype=torch.float64) / 6)
    angles = torch.outer(torch.arange(1000, 1004, dtype=torch.float64), frequencies)
    # Meta's model.py: neighbouring entries as complex numbers.
    complex_pairs = torch.view_as_complex(turned.reshape(4, 3, 2).contiguous())
    interleaved = torch.view_as_real(complex_pairs * torch.polar(torch.ones_like(angles), angles))
    # Hugging Face's modeling_llama.py: rotate_half.
    cosine, sine = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
    rotate_half = torch.cat((-turned[:, 3:], turned[:, :3]), -1)
    halves = turned * cosine + rotate_half * sine
    save(f"{folder}/rotary_float64.npz",
         {"x": x, "interleaved": torch.cat((interleaved.reshape(4, 6), rest), -1),
          "halves": torch.cat((halves, rest), -1)})


def main(folder):
    rotary(folder)
    for dtype in (torch.float32, torch.float64):
        layer(folder, "self", dtype, 8, 2, 5)
        # True hides: the polarity of nn.MultiheadAttention, and of nothing else in PyTorch.
        layer(folder, "self_causal", dtype, 12, 3, 6, bias=False,
              masks=lambda _: {"attn_mask": torch.ones(6, 6, dtype=torch.bool).triu(1)})
        layer(folder, "self_batch", dtype, 8, 4, 4, batch=2,
              masks=lambda _: {"key_padding_mask": torch.tensor([[False] * 4,
                                                                 [False, True, False, True]])})
        layer(folder, "self_zero", dtype, 8, 2, 3, add_zero_attn=True)
        layer(folder, "cross", dtype, 8, 2, 4, 7, cross=True, kdim=6, vdim=5)
        layer(folder, "cross_masked", dtype, 6, 2, 4, 5, cross=True,
              masks=lambda t: {"attn_mask": torch.randn(2, 4, 5, dtype=t)})
        if hasattr(nn, "attention"):
            product(folder, "product_causal", dtype, 2, 2, 5, 5, 6, 4, is_causal=True)
            seen = torch.tensor([[True, False, True, True, False, True]] * 3 + [[True] * 6])
            product(folder, "product_grouped", dtype, 4, 2, 4, 6, 6, 6, seen, enable_gqa=True,
                    scale=0.7)


if __name__ == "__main__":
    main(sys.argv[1])
