# Copyright the attest authors
# SPDX-License-Identifier: BSL-1.0

"""PyTorch's scaled_dot_product_attention as a subject for attest fuzz, by its own options.

    attest fuzz --persistent --subject 'python3 torch_attention.py' --dialect torch \\
        --for causal,boolean-mask

Releases before 2.0 have it under another name, without a scale and for boolean masks alone.
"""
import torch

from attest_subject import serve

functional = torch.nn.functional
if hasattr(functional, "scaled_dot_product_attention"):
    sdpa = functional.scaled_dot_product_attention
else:
    def sdpa(*arrays, **options):
        return functional._scaled_dot_product_attention(*arrays, **options)[0]


def attention(call):
    q, k, v = (torch.from_numpy(x) for x in (call.q, call.k, call.v))
    options = {"is_causal": bool(call.get("is_causal", False))}
    if call.attn_mask is not None:
        options["attn_mask"] = torch.from_numpy(call.attn_mask)
    if call.get("scale") is not None:
        options["scale"] = call.get("scale")
    if q.shape[1] != k.shape[1]:  # as enable_gqa does
        k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    return {"out": sdpa(q, k, v, **options).numpy()}


if __name__ == "__main__":
    serve(attention)
