# tests/helpers/quick_interpreter.py - removes repeated work from Triton's interpreter; its results stay the same.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Without this module, three costs of Triton 3.6's interpreter dominate the tests. First, it replaces the functions of triton.language by
interpreted ones at each launch, and again at each call of a function that a kernel uses (10 ms). This module replaces them once for each
launch. Second, it reduces and scans element by element. This module combines a row of elements at a time, in the same order, because
combine functions also accept tiles. Third, it checks integers for overflow, although only its debug mode asserts that."""
import dataclasses

import numpy as np

stock = []  # (owner, name, original function) of each function that make_quick() replaced

def make_quick():
    """Changes the interpreter of this process, once. Call it before the first launch."""
    from triton.runtime import interpreter
    if stock:
        return
    for owner, name, change in ((interpreter, "_patch_lang", _replace_once), (interpreter.ReduceOps, "generic_reduce", _reduce_rows),
                                (interpreter.ScanOps, "generic_scan", _scan_rows)):
        stock.append((owner, name, getattr(owner, name)))
        setattr(owner, name, change(getattr(owner, name)))
    builder = interpreter.interpreter_builder
    if not builder.options.debug:
        builder.options = dataclasses.replace(builder.options, sanitize_overflow=False)


def _replace_once(stock):
    """Returns a _patch_lang() that does nothing for modules whose functions the running launch has replaced already."""
    from triton.runtime import interpreter
    language = (interpreter.tl, interpreter.tl.core)
    used = {}  # function: names of the modules of triton.language among its globals
    replaced = set()

    def patch(function):
        modules = used.get(function)
        if modules is None:
            seen = function.__globals__.values()
            modules = used[function] = {module.__name__ for module in language if any(value is module for value in seen)}
        if modules and modules <= replaced:
            return interpreter._LangPatchScope()
        scope = stock(function)
        if not replaced:  # this call belongs to the launch, which restores the functions at its end
            restore = scope.restore

            def end():
                replaced.clear()
                restore()
            scope.restore = end
        replaced.update(modules)
        return scope
    return patch


def _folded(ops, inputs, axis):
    """Yields, for each index along the axis, the tensors that combine all elements up to this index."""
    rows = [np.moveaxis(x.handle.data, axis, 0) for x in inputs]
    sums = None
    for row in zip(*rows):
        tensors = tuple(ops.to_tensor(data, x.dtype) for data, x in zip(row, inputs))
        if sums is None:
            sums = tensors
        else:
            combined = ops.combine_fn.fn(*sums, *tensors)
            combined = combined if isinstance(combined, tuple) else (combined,)
            data = [getattr(x, "handle", None) for x in combined]
            sums = tuple(ops.to_tensor(np.broadcast_to(x if handle is None else handle.data, row[0].shape), like.dtype)
                         for x, handle, like in zip(combined, data, inputs))
        yield sums


def _reduce_rows(stock):
    """Returns a generic_reduce() that combines rows; calls `stock` for vectors and for reductions over all axes."""
    def reduce(self, inputs):
        if self.axis is None or inputs[0].handle.data.ndim < 2:
            return stock(self, inputs)
        *_, sums = _folded(self, inputs, self.axis)
        results = [x.handle.data for x in sums]
        if self.keep_dims:
            results = [np.expand_dims(x, self.axis) for x in results]
        return [self.to_tensor(x, like.dtype) for x, like in zip(results, inputs)]
    return reduce


def _scan_rows(stock):
    """Returns a generic_scan() that combines rows; calls `stock` for vectors."""
    def scan(self, inputs):
        if inputs[0].handle.data.ndim < 2:
            return stock(self, inputs)
        steps = list(_folded(self, inputs, self.axis))
        return [self.to_tensor(np.stack([step[i].handle.data for step in steps], self.axis), like.dtype) for i, like in enumerate(inputs)]
    return scan
