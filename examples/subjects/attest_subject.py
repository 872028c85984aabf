# Copyright the attest authors
# SPDX-License-Identifier: BSL-1.0

"""What a subject for attest fuzz needs: reads captures, writes outputs.

    attest fuzz --persistent --subject 'python3 my_subject.py'

with serve(f) in my_subject.py, where f takes a Call and returns a dictionary of outputs.
"""
import json
import pathlib
import sys

import numpy as np


class Call:
    """Arrays by their names in captures, and the options; what is not there is None."""

    def __init__(self, path):
        path = pathlib.Path(path)
        self.options = json.loads(path.with_suffix(".json").read_text())
        self.attributes = self.options.get("attributes", {})
        with np.load(path) as arrays:
            self.arrays = {name: arrays[name] for name in arrays}
        for name, format_ in self.options.get("formats", {}).items():
            if format_ == "bfloat16":  # its bits are the upper half of a float32's
                bits = self.arrays[name].astype(np.uint32) << 16
                self.arrays[name] = bits.view(np.float32)

    def __getattr__(self, name):
        return self.arrays.get(name)

    def get(self, name, otherwise=None):
        return self.attributes.get(name, otherwise)


def _stored(call, name, array):
    """As the capture has this output: its type, or its bits."""
    if call.options.get("formats", {}).get(name) == "bfloat16":
        bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
        return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.asarray(array).astype(call.arrays[name].dtype)


def answer(attention, source, target):
    call = Call(source)
    outputs = attention(call)
    np.savez(target, **{n: _stored(call, n, a) for n, a in outputs.items() if n in call.arrays})


def serve(attention):
    """One call by two arguments, IN and OUT; without any, one for each line IN<tab>OUT."""
    if len(sys.argv) == 3:
        answer(attention, sys.argv[1], sys.argv[2])
        return
    for line in sys.stdin:
        source, target = line.rstrip("\n").split("\t")
        try:
            answer(attention, source, target)
            print("ok", flush=True)
        except Exception as error:  # the next call may go well
            print(f"{type(error).__name__}: {error}".replace("\n", " "), flush=True)
