# Copyright the attest authors
# SPDX-License-Identifier: BSL-1.0

"""Attention of the dialect plain in NumPy, as a subject for attest fuzz.

    attest fuzz --persistent --subject 'python3 numpy_attention.py' --for all
"""
import numpy as np

from attest_subject import serve


def attention(call):
    q, k, v = (x.astype(np.float64) for x in (call.q, call.k, call.v))
    batches, heads, queries, width = q.shape
    groups, keys = k.shape[1], k.shape[2]
    each = np.arange(heads)
    read = each % groups if call.get("heads_map") == "tiled" else each // (heads // groups)
    k, v = k[:, read], v[:, read]

    scores = q @ k.swapaxes(-1, -2) * call.get("scale", width ** -0.5)
    cap = call.get("softcap", 0)
    if cap:
        scores = cap * np.tanh(scores / cap)
    offset = keys - queries if call.get("causal") == "bottom-right" else 0
    ahead = np.arange(keys)[None, :] - np.arange(queries)[:, None] - offset
    visible = np.ones((queries, keys), bool)
    if call.get("causal", "none") != "none":
        visible &= ahead <= 0
    left, right = call.get("window", [-1, -1])
    if left >= 0:
        visible &= ahead >= -left
    if right >= 0:
        visible &= ahead <= right
    if call.alibi_slopes is not None:
        slopes = call.alibi_slopes.astype(np.float64).reshape(-1, heads, 1, 1)
        scores = scores - slopes * np.abs(ahead)
    mask = call.attn_mask
    if mask is not None and mask.dtype != bool:
        scores = scores + mask
    if mask is not None and mask.dtype == bool:
        visible = visible & mask
    scores = np.where(visible, scores, -np.inf)
    if call.sinks is not None:  # one more key, of value 0
        sinks = np.broadcast_to(call.sinks.reshape(1, heads, 1, 1), (batches, heads, queries, 1))
        scores = np.concatenate([scores, sinks], -1)
        v = np.concatenate([v, np.zeros_like(v[:, :, :1])], 2)

    most = scores.max(-1, keepdims=True)
    shift = np.where(np.isfinite(most), most, 0)
    weights = np.exp(scores - shift)
    total = weights.sum(-1, keepdims=True)
    empty = total == 0
    out = weights / np.where(empty, 1, total) @ v
    if call.get("empty_row") == "mean":
        out = np.where(empty, v.mean(2, keepdims=True), out)
    with np.errstate(divide="ignore"):
        lse = (shift + np.log(total))[..., 0]
    return {"out": out, "lse": lse / np.log(2) if call.get("lse_base") == "2" else lse}


if __name__ == "__main__":
    serve(attention)
