# tools/gpucheck/counting.py - counts the products and bytes of a launch under Triton's interpreter.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The least traffic is that of caches without limit: every 32-byte sector of memory that any program touches counts once as
read and once as written. Operations are those of `tl.dot` on complete tiles, including masked elements, two for each product."""
import numpy as np


class Counter:
    def __init__(self):
        self.clear()

    def clear(self):
        self.operations, self.read, self.written = {}, set(), set()

    def work(self):
        return {"dot_flop": self.operations, "bytes": 32 * (len(self.read) + len(self.written))}

    def install(self):
        """Call it after all other replacements of the interpreter's functions."""
        from triton.runtime.interpreter import InterpreterBuilder as builder
        load, store, dot = builder.create_masked_load, builder.create_masked_store, builder.create_dot
        counter = self

        def masked_load(self, ptrs, mask, *rest):
            counter.touch(counter.read, ptrs, mask)
            return load(self, ptrs, mask, *rest)

        def masked_store(self, ptrs, value, mask, *rest):
            counter.touch(counter.written, ptrs, mask)
            return store(self, ptrs, value, mask, *rest)

        def counted_dot(self, a, b, d, *rest):
            kind = str(a.dtype.scalar)
            count = 2 * int(np.prod(a.data.shape)) * int(b.data.shape[-1])
            counter.operations[kind] = counter.operations.get(kind, 0) + count
            return dot(self, a, b, d, *rest)

        builder.create_masked_load, builder.create_masked_store, builder.create_dot = masked_load, masked_store, counted_dot

    @staticmethod
    def touch(sectors, ptrs, mask):
        places = np.asarray(ptrs.data)[np.broadcast_to(np.asarray(mask.data, dtype=bool), np.shape(ptrs.data))]
        sectors.update(np.unique(places // 32).tolist())
