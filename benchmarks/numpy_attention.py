# Copyright the attest authors
# SPDX-License-Identifier: BSL-1.0
"""Attention in float64 with numpy, and one row with mpmath times the number of rows: the processor's seconds, the least of
several runs.

Usage: OPENBLAS_NUM_THREADS=1 numpy_attention.py numpy|mpmath. Prints nothing where the package is not installed.
"""
import sys
import time

heads, tokens, width = 8, 2048, 64


def shortest(work, runs):
    times = []
    for _ in range(runs):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def with_numpy():
    import numpy

    random = numpy.random.default_rng(1)
    q, k, v = (random.standard_normal((heads, tokens, width)).astype(numpy.float32) for _ in range(3))

    def attention():
        scores = q.astype(numpy.float64) @ k.astype(numpy.float64).transpose(0, 2, 1)
        scores *= width**-0.5
        scores -= scores.max(axis=2, keepdims=True)
        numpy.exp(scores, out=scores)
        out = scores @ v.astype(numpy.float64)
        out /= scores.sum(axis=2, keepdims=True)
        return out.astype(numpy.float32)

    return shortest(attention, 7)


def with_mpmath():
    import random

    import mpmath

    mpmath.mp.dps = 50
    numbers = random.Random(1)
    q = [mpmath.mpf(numbers.gauss(0, 1)) for _ in range(width)]
    k, v = ([[mpmath.mpf(numbers.gauss(0, 1)) for _ in range(width)] for _ in range(tokens)] for _ in range(2))

    def row():
        scores = [mpmath.fdot(q, key) / 8 for key in k]
        most = max(scores)
        e = [mpmath.exp(s - most) for s in scores]
        total = mpmath.fsum(e)
        return [mpmath.fdot(e, column) / total for column in zip(*v)]

    return shortest(row, 2) * heads * tokens


try:
    print(with_numpy() if sys.argv[1] == "numpy" else with_mpmath())
except ImportError:
    pass
