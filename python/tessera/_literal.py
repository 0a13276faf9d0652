"""Compile-time values of Python as text of the kernel language.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import math
import numbers
from typing import Any

import torch

from tessera import language

TORCH_DTYPES = {
    torch.bool: "int1", torch.int8: "int8", torch.int16: "int16", torch.int32: "int32", torch.int64: "int64",
    torch.uint8: "uint8", torch.uint16: "uint16", torch.uint32: "uint32", torch.uint64: "uint64",
    torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32", torch.float64: "float64",
    torch.float8_e4m3fn: "float8e4nv", torch.float8_e5m2: "float8e5", torch.float8_e4m3fnuz: "float8e4b8",
    torch.float8_e5m2fnuz: "float8e5b16"}


def plain(value: Any) -> Any:
    """The bool, int or float that a constexpr or a number of another library
    is, such as a scalar of numpy; any other value unchanged."""
    if isinstance(value, language.constexpr):
        return plain(value.value)
    if isinstance(value, (torch.Tensor, str)) or type(value) in (bool, int, float):
        return value
    if getattr(value, "shape", None) == () and hasattr(value, "dtype") and hasattr(value, "item"):
        item = value.item()
        if isinstance(item, (bool, int, float)):
            return item
        return float(value) if isinstance(value, numbers.Real) else value  # longdouble
    if isinstance(value, bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, float) else value


def literal(value: Any, types: str = "triton.language", constant: bool = False) -> str | None:
    """A compile-time value in the language, whose types are members of
    `types`; None for a value that the language does not have. `constant`: also
    a dict or a set, which arguments and defaults cannot be."""
    if isinstance(value, language.constexpr):
        return literal(value.value, types, constant)
    if isinstance(value, language.dtype):
        return f"{types}.{value.name}"
    if isinstance(value, torch.dtype):
        return f"{types}.{TORCH_DTYPES[value]}" if value in TORCH_DTYPES else None
    if isinstance(value, str):
        return repr(str.__str__(value))
    value = plain(value)
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return repr(value) if -(1 << 127) < value < 1 << 127 else None
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    if isinstance(value, (tuple, list)) or constant and isinstance(value, (set, frozenset)):
        items = [literal(item, types, constant) for item in value]
        if None in items:
            return None
        if isinstance(value, (set, frozenset)):  # the order of iteration differs between processes
            items.sort(key=str)
        return "(" + "".join(f"{item}, " for item in items) + ")"
    if constant and isinstance(value, dict):
        pairs = [(literal(key, types, constant), literal(item, types, constant)) for key, item in value.items()]
        return None if any(None in pair for pair in pairs) else "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
    return None
