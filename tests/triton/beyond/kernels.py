# tests/triton/beyond/kernels.py - a kernel for each function that Triton's interpreter lacks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def k_atan(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.atan(tl.load(X + i)))


@triton.jit
def k_asin(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.asin(tl.load(X + i)))


@triton.jit
def k_acos(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.acos(tl.load(X + i)))


@triton.jit
def k_log1p(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.log1p(tl.load(X + i)))


@triton.jit
def k_expm1(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.expm1(tl.load(X + i)))


@triton.jit
def k_log10(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.log10(tl.load(X + i)))


@triton.jit
def k_exp10(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.exp10(tl.load(X + i)))


@triton.jit
def k_tan(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.tan(tl.load(X + i)))


@triton.jit
def k_finitef(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.finitef(tl.load(X + i)))


@triton.jit
def k_pow(X, Y, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.pow(tl.load(X + i), tl.load(Y + i)))


@triton.jit
def k_atan2(X, Y, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.atan2(tl.load(X + i), tl.load(Y + i)))


@triton.jit
def k_fmod(X, Y, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.fmod(tl.load(X + i), tl.load(Y + i)))


@triton.jit
def k_copysign(X, Y, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.copysign(tl.load(X + i), tl.load(Y + i)))


@triton.jit
def k_div_rz(X, Y, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, libdevice.div_rz(tl.load(X + i), tl.load(Y + i)))


@triton.jit
def k_descriptor_atomics(A, V, rows, columns, KIND: tl.constexpr):
    array = tl.make_tensor_descriptor(A, [rows, columns], [columns, 1], [2, 16])
    value = tl.load(V + tl.arange(0, 2)[:, None] * 16 + tl.arange(0, 16)[None, :])
    if KIND == 0:
        array.atomic_add([3, -4], value)
    elif KIND == 1:
        array.atomic_max([3, -4], value)
    elif KIND == 2:
        array.atomic_min([3, -4], value)
    elif KIND == 3:
        array.atomic_and([3, -4], value)
    elif KIND == 4:
        array.atomic_or([3, -4], value)
    else:
        array.atomic_xor([3, -4], value)


@triton.jit
def k_unsigned(X, O, N: tl.constexpr):
    x = tl.load(X + tl.arange(0, N))
    high, at_high = tl.max(x, axis=0, return_indices=True)
    low, at_low = tl.min(x, axis=0, return_indices=True)
    tl.store(O, tl.argmax(x, axis=0))
    tl.store(O + 1, tl.argmin(x, axis=0))
    if (at_high == tl.argmax(x, axis=0)) & (at_low == tl.argmin(x, axis=0)):
        tl.store(O + 2, high.to(tl.int64, bitcast=True))
        tl.store(O + 3, low.to(tl.int64, bitcast=True))
