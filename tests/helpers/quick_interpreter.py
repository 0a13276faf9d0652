# tests/helpers/quick_interpreter.py - removes repeated work from Triton's interpreter; its results stay the same.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Without this module, four costs of Triton 3.6's interpreter dominate the tests. First, it replaces the functions of triton.language
by interpreted ones at each launch, and again at each call of a function that a kernel uses (10 ms). This module replaces them once for
each launch, by functions that it makes once. Second, it reduces and scans element by element. This module combines a row of elements at
a time, in the same order, because combine functions also accept tiles. Third, it checks integers for overflow, although only its debug
mode asserts that. Fourth, each operation makes the shape of its result again, as a tuple of objects with types, and a table of all
dtypes. This module keeps both."""
import dataclasses
import inspect

import numpy as np

stock = []  # (owner, name, original function) of each function that make_quick() replaced

def make_quick():
    """Changes the interpreter of this process, once. Call it before the first launch."""
    from triton.runtime import interpreter
    if stock:
        return
    for owner, name, change in ((interpreter, "_patch_lang", _replace_once), (interpreter.ReduceOps, "generic_reduce", _reduce_rows),
                                (interpreter.ScanOps, "generic_scan", _scan_rows), (interpreter, "_get_np_dtype", _known_dtypes),
                                (interpreter, "_patch_builtin", _listed_builtins), (interpreter, "_patch_attr", _direct_builtins),
                                (interpreter.tl.block_type, "__init__", _known_block_shapes),
                                (interpreter.tl.tensor, "__init__", _known_tensor_shapes)):
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


def _listed_builtins(stock):
    """Returns a _patch_builtin() that looks for the builtins of a module or class once."""
    from triton.runtime import interpreter
    known = {}

    def patch(owner, builder, scope):
        if owner not in known:
            known[owner] = [(name, member) for name, member in inspect.getmembers(owner) if interpreter.tl.core.is_builtin(member)]
        for name, member in known[owner]:
            interpreter._patch_attr(owner, name, member, builder, scope)
    return patch


def _direct_builtins(stock):
    """Returns a _patch_attr() whose functions call a builtin's function without the check for `_semantic` that decorates it."""
    from triton.runtime import interpreter
    known = {}

    def patch(owner, name, member, builder, scope):
        if (member, builder) not in known:
            function, semantic = getattr(member, "__wrapped__", member), interpreter.TritonSemantic(builder)

            def interpreted(*arguments, **named):
                named["_semantic"] = semantic
                return function(*arguments, **named)
            known[member, builder] = interpreted
        scope.set_attr(owner, name, known[member, builder])
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


def _known_dtypes(stock):
    """Returns a _get_np_dtype() that calls `stock` once for each dtype of triton.language."""
    known = {}

    def dtype(of):
        name = of.scalar.name
        if name not in known:
            known[name] = stock(of)
        return known[name]
    return dtype


def _known_block_shapes(stock):
    """Returns an __init__() of block types that calls `stock` once for each shape. Block types of one shape share its tuple."""
    known = {}

    def init(self, element_ty, shape):
        key = tuple([getattr(size, "value", size) for size in shape])
        if key not in known or isinstance(shape, tuple) or any(type(size) is not int for size in key):
            stock(self, element_ty, shape)  # raises an error for a tuple of Python, and for 8.0, which equals 8
            known[key] = self.shape, self.numel, f"<{self.shape}, "
        self.element_ty = element_ty
        self.shape, self.numel, text = known[key]
        self.name = f"{text}{element_ty}>"
    return init


def _known_tensor_shapes(stock):
    """Returns an __init__() of tensors that calls `stock` once for each shape. Tensors of one shape share its tuple."""
    known = {}

    def init(self, handle, type):
        key = tuple(type.shape) if type.is_block() else ()
        if key not in known:
            stock(self, handle, type)
            known[key] = self.shape, self.numel
        self.handle, self.type, self.dtype = handle, type, type.scalar
        self.shape, self.numel = known[key]
    return init
