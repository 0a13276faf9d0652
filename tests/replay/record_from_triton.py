# tests/replay/record_from_triton.py - records launches of Triton kernels as cases.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Records launches of Triton kernels in the form that `tessera replay` reads.

    python tests/replay/record_from_triton.py              every launch of recipes_*.py, into tests/replay
    python tests/replay/record_from_triton.py --out DIR layer_norm_fwd softmax

In a program of your own:

    from record_from_triton import record
    record("cases/add", add_kernel, (4,), x, y, out, x.numel(), BLOCK=256)

Set TRITON_INTERPRET=1 before triton is imported to record from the interpreter; without it the launch runs on the
GPU that the tensors are on. Under the interpreter bf16 is mended: it rounds to nearest even (the stock
interpreter cuts off), and arithmetic of bf16 takes numbers, not their bits. Floats among the arguments and the steps of
loops are tensors there too.
"""
import argparse
import ast
import glob
import importlib.util
import inspect
import json
import math
import os
import pathlib
import struct
import textwrap

import numpy as np
import torch

if __name__ == "__main__":      # the language's own functions are bound to the interpreter when they are imported
    os.environ.setdefault("TRITON_INTERPRET", "1")
import triton.language as tl

HERE = pathlib.Path(__file__).resolve().parent
# torch dtype -> (name in case.json, name in safetensors)
DTYPES = {
    torch.float64: ("fp64", "F64"), torch.float32: ("fp32", "F32"), torch.float16: ("fp16", "F16"),
    torch.bfloat16: ("bf16", "BF16"), torch.bool: ("i1", "BOOL"), torch.int8: ("i8", "I8"),
    torch.int16: ("i16", "I16"), torch.int32: ("i32", "I32"), torch.int64: ("i64", "I64"),
    torch.uint8: ("u8", "U8"), torch.uint16: ("u16", "U16"), torch.uint32: ("u32", "U32"),
    torch.uint64: ("u64", "U64"),
}


# ---------------------------------------------------------------- the interpreter's bf16

def _round_to_bf16(values):
    """fp32 array -> uint16 bits of bf16, to nearest even."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FC0), rounded)


def _widen_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def mend_interpreter():
    from triton.runtime import interpreter
    builder, handle = interpreter.InterpreterBuilder, interpreter.TensorHandle
    if getattr(builder, "mended", False):
        return
    stock_cast, stock_fp, stock_dot, stock_binary = builder.cast_impl, builder.create_fp_to_fp, builder.create_dot, builder.binary_op
    compares = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}

    def cast(self, src, dst_type):
        source, target = src.dtype.scalar, dst_type.scalar
        if target == tl.bfloat16 and source != tl.bfloat16:
            return handle(_round_to_bf16(src.data.astype(np.float32)), target)
        if source == tl.bfloat16 and target != tl.bfloat16:
            return handle(_widen_bf16(src.data).astype(interpreter._get_np_dtype(dst_type)), target)
        return stock_cast(self, src, dst_type)

    def fp_to_fp(self, src, dst_type, rounding):
        if tl.bfloat16 in (src.dtype.scalar, dst_type.scalar):
            return cast(self, src, dst_type)
        return stock_fp(self, src, dst_type, rounding)

    def dot(self, a, b, d, *rest):
        wide = [handle(_widen_bf16(x.data), tl.float32) if x.dtype.scalar == tl.bfloat16 else x for x in (a, b)]
        return stock_dot(self, wide[0], wide[1], d, *rest)

    def binary(self, lhs, rhs, op):
        if lhs.dtype.scalar != tl.bfloat16:
            return stock_binary(self, lhs, rhs, op)
        wide = stock_binary(self, *(handle(_widen_bf16(x.data), tl.float32) for x in (lhs, rhs)), op)
        return wide if op in compares else handle(_round_to_bf16(wide.data), tl.bfloat16)

    def get_bf16(self, value):
        return handle(_round_to_bf16(np.array([value], dtype=np.float32)), tl.bfloat16)

    stock_argument = interpreter._implicit_cvt

    def argument(value):
        """A float is a tensor in a kernel, as it is on a GPU; the stock interpreter hands over Python's number."""
        if isinstance(value, float):
            return tl.tensor(handle(np.array([value], dtype=np.float32), tl.float32), tl.float32)
        return stock_argument(value)

    builder.cast_impl, builder.create_fp_to_fp, builder.create_dot = cast, fp_to_fp, dot
    builder.binary_op, builder.get_bf16 = binary, get_bf16
    interpreter._implicit_cvt = argument
    builder.mended = True


def mend_libdevice():
    """Functions of libdevice, which return nothing under the stock interpreter. Before the kernels' modules are imported."""
    from triton.language.extra import libdevice
    from triton.runtime import interpreter

    def put(name, function):
        def call(x):
            return tl.tensor(interpreter.TensorHandle(function(x.handle.data).astype(x.handle.data.dtype), x.type.scalar), x.type)
        call.__name__, call.__module__ = name, "triton.language.extra.libdevice"
        setattr(libdevice, name, call)

    for name, function in {"rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh, "exp": np.exp, "log": np.log}.items():
        put(name, function)


def _steps(*bounds):
    """range() whose steps are tensors of int32, as in compiled loops."""
    from triton.runtime import interpreter
    for i in range(*(int(b.handle.data.item()) if isinstance(b, tl.tensor) else int(getattr(b, "value", b)) for b in bounds)):
        yield tl.tensor(interpreter.TensorHandle(np.array([i], dtype=np.int32), tl.int32), tl.int32)


# ---------------------------------------------------------------- the kernel's text

def innermost(kernel):
    """The jit function below autotune and heuristics."""
    while hasattr(kernel, "fn") and not inspect.isfunction(kernel.fn):
        kernel = kernel.fn
    return kernel


def _is_jit(value):
    return not inspect.ismodule(value) and inspect.isfunction(getattr(value, "fn", None))


def _literal(value):
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return f"tl.{value}" if isinstance(value, tl.dtype) else repr(value)


def expand(kernel):
    """A module that holds the kernel, the jit functions it calls and the constants it names."""
    imports, constants, functions = {"import triton", "import triton.language as tl"}, {}, {}

    def visit(jit):
        if jit.fn.__name__ in functions:
            return
        functions[jit.fn.__name__] = None   # keeps recursion from looping
        tree = ast.parse(textwrap.dedent(inspect.getsource(jit.fn)))
        node = tree.body[0]
        node.decorator_list = []
        for name in sorted({n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & set(jit.fn.__globals__)):
            value = jit.fn.__globals__[name]
            if _is_jit(value) and value.fn.__module__.startswith("triton."):
                imports.add(f"from {value.fn.__module__} import {value.fn.__name__}")
            elif _is_jit(value):
                visit(value)
            elif inspect.ismodule(value):
                parent, _, last = value.__name__.rpartition(".")
                imports.add(f"import {value.__name__}" if value.__name__ == name else
                            f"from {parent} import {last}" + ("" if last == name else f" as {name}")
                            if parent and value is not tl else f"import {value.__name__} as {name}")
            elif isinstance(value, tl.constexpr):
                constants[name] = f"{name} = tl.constexpr({_literal(value.value)})"
            elif isinstance(value, (bool, int, float, str)):
                constants[name] = f"{name} = tl.constexpr({_literal(value)})"
            elif isinstance(value, tl.dtype):
                constants[name] = f"{name} = {_literal(value)}"
            elif callable(value) and getattr(value, "__module__", "").startswith("triton."):
                imports.add(f"from {value.__module__} import {name}")
        text = textwrap.dedent(inspect.getsource(jit.fn))
        functions[jit.fn.__name__] = "@triton.jit\n" + text[text.index("def "):]

    visit(innermost(kernel))
    # Callees were finished before their callers, but entered after them.
    order = list(functions)[::-1]
    head = "\n".join(sorted(imports)) + "\n"
    if constants:
        head += "\n" + "\n".join(constants[name] for name in sorted(constants)) + "\n"
    return head + "".join("\n\n" + functions[name] for name in order)


# ---------------------------------------------------------------- tensors

def _span(tensor):
    return 0 if tensor.numel() == 0 else 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))


def _storage(tensor):
    """The elements from the tensor's first to its last in memory order, gaps included."""
    flat = torch.as_strided(tensor, (_span(tensor),), (1,), tensor.storage_offset()).detach().cpu().clone()
    return flat.reshape(tensor.shape) if tensor.is_contiguous() else flat


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        raw = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
        header[name] = {"dtype": DTYPES[tensor.dtype][1], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + data)


# ---------------------------------------------------------------- recording

def _is_constexpr(annotation):
    return annotation is tl.constexpr or "constexpr" in str(annotation)


def _scalar(name, value):
    if isinstance(value, bool):
        return {"name": name, "kind": "int", "dtype": "i1", "value": value}
    if isinstance(value, float):
        return {"name": name, "kind": "float", "dtype": "fp32", "value": value}
    dtype = "i32" if -2**31 <= value < 2**31 else "i64" if value < 2**63 else "u64"
    return {"name": name, "kind": "int", "dtype": dtype, "value": value}


def _constexpr(value):
    if isinstance(value, tl.constexpr):
        value = value.value
    return value.name if isinstance(value, tl.dtype) else value


def leaves(name, value, annotation):
    """(name, value, annotation) of a parameter, or of each value of a tuple: `q.ptr`, `p.0`."""
    if not isinstance(value, tuple) or _is_constexpr(annotation):
        return [(name, value, annotation)]
    fields = getattr(value, "_fields", range(len(value)))
    return [leaf for field, item in zip(fields, value)
            for leaf in leaves(f"{name}.{field}", item, tl.constexpr if isinstance(item, tl.constexpr) else None)]


def record(folder, kernel, grid, *args, compare=None, checks=None, **kwargs):
    """Launches kernel[grid](*args, **kwargs) and writes what was before and after into `folder`."""
    folder = pathlib.Path(folder)
    jit = innermost(kernel)
    if os.environ.get("TRITON_INTERPRET") == "1":
        mend_interpreter()
    signature = inspect.signature(jit.fn)
    options = {name: kwargs.pop(name) for name in ("num_warps", "num_stages") if name in kwargs and name not in signature.parameters}
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()

    entries, constexprs, tensors = [], {}, {}
    given = [leaf for name, parameter in signature.parameters.items()
             for leaf in leaves(name, bound.arguments[name], parameter.annotation)]
    for name, value, annotation in given:
        if _is_constexpr(annotation) or value is None:
            constexprs[name] = _constexpr(value)
        elif isinstance(value, torch.Tensor):
            tensors[name] = value
            entries.append({"name": name, "kind": "pointer", "dtype": DTYPES[value.dtype][0],
                            "shape": list(value.shape), "strides": list(value.stride()), "elements": _span(value)})
        else:
            entries.append(_scalar(name, value))
    before = {name: _storage(tensor) for name, tensor in tensors.items()}
    if os.environ.get("TRITON_INTERPRET") == "1":
        jit.fn.__globals__["range"] = _steps
    if callable(grid):
        grid = grid(dict(bound.arguments))
    jit[tuple(grid)](*args, **kwargs, **options)
    after = {name: _storage(tensor) for name, tensor in tensors.items()}

    def raw(tensor):
        return tensor.contiguous().reshape(-1).view(torch.uint8) if tensor.numel() else tensor
    written = sorted(name for name in tensors if not torch.equal(raw(before[name]), raw(after[name])))
    case = {"name": folder.name, "kernel": jit.fn.__name__, "kernel_file": "kernel.py", "grid": list(grid),
            "constexprs": constexprs, "args": entries, "written": written,
            "num_warps": options.get("num_warps", 4), "num_stages": options.get("num_stages", 2)}
    if compare:
        case["compare"] = compare
    if checks:
        case["checks"] = checks
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    (folder / "kernel.py").write_text(expand(kernel))
    write_safetensors(folder / "before.safetensors", before)
    write_safetensors(folder / "after.safetensors", {name: after[name] for name in written})
    return case


def check(label, got, want, tolerance):
    """An entry of `checks`: the recorder's own verification of a result."""
    error = (got.double() - want.double()).abs().max().item()
    assert error <= tolerance, (label, error, tolerance)
    return {"label": label, "max_abs_err": error, "tolerance": tolerance, "ok": True}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="recipes to record; default: all")
    parser.add_argument("--out", default=str(HERE), help="folder that gets the cases")
    options = parser.parse_args()
    known = {}
    for path in sorted(glob.glob(str(HERE / "recipes_*.py"))):
        spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        known.update({name[7:]: value for name, value in vars(module).items() if name.startswith("recipe_")})
    unknown = set(options.names) - set(known)
    if unknown:
        parser.error(f"no recipe {sorted(unknown)}; known: {', '.join(known)}")
    for name in options.names or known:
        torch.manual_seed(sum(map(ord, name)))
        folder = pathlib.Path(options.out) / name
        known[name](lambda *args, **kwargs: record(folder, *args, **kwargs))
        case = json.loads((folder / "case.json").read_text())
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{name}: {case['kernel']}, grid {case['grid']}, writes {', '.join(case['written'])}, {size} bytes")


if __name__ == "__main__":
    main()
