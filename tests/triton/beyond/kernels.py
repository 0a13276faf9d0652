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


@triton.jit
def k_call1(X, O, N: tl.constexpr, NAME: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, getattr(libdevice, NAME)(tl.load(X + i)))


@triton.jit
def k_call2(X, Y, O, N: tl.constexpr, NAME: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, getattr(libdevice, NAME)(tl.load(X + i), tl.load(Y + i)))


@triton.jit
def k_call3(X, Y, Z, O, N: tl.constexpr, NAME: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, getattr(libdevice, NAME)(tl.load(X + i), tl.load(Y + i), tl.load(Z + i)))


@triton.jit
def k_call4(X, Y, Z, W, O, N: tl.constexpr, NAME: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, getattr(libdevice, NAME)(tl.load(X + i), tl.load(Y + i), tl.load(Z + i), tl.load(W + i)))


@triton.jit
def k_modulo(X, Y, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, tl.load(X + i) % tl.load(Y + i))


@triton.jit
def k_convert(X, O, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(O + i, tl.load(X + i).to(O.dtype.element_ty))


@triton.jit
def k_convert_rtz(X, O, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(O + i, tl.load(X + i).to(O.dtype.element_ty, fp_downcast_rounding="rtz"))


@triton.jit
def k_fp8_moves(X, O, N: tl.constexpr):
    # Blocks of 8-bit floats through masks, shapes and constants.
    i = tl.arange(0, N)
    x = tl.load(X + i, mask=i < N - 8, other=1.5)
    x = tl.where(i % 4 == 3, -2.0, x)
    x = tl.trans(tl.reshape(x, [N // 4, 4])).reshape([N])
    filled = tl.full([N], 0.75, X.dtype.element_ty)
    tl.store(O + i, tl.where(i % 8 == 0, filled, x))
    tl.store(O + N + i, tl.zeros([N], X.dtype.element_ty))


@triton.jit
def k_fp8_dot(A, B, O, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    a = tl.load(A + m[:, None] * K + k[None, :])
    b = tl.load(B + k[:, None] * N + n[None, :])
    tl.store(O + m[:, None] * N + n[None, :], tl.dot(a, b))


@triton.jit
def _leaky(x, slope):
    if x > 0:
        return x
    else:
        return slope * x


@triton.jit
def _collatz(n):
    # Steps to 1, and the largest number on the way.
    steps = 0
    largest = n
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        largest = max(largest, n)
    return steps, largest


@triton.jit
def _power(x, n):
    result = 1.0
    for _i in range(n):
        result *= x
    return result


@triton.jit
def _order(a0, a1, b0, b1):
    low = a0 if a0 < a1 else a1
    return low, a0 + a1, b0 - b1, b1


@triton.jit
def _grade(x):
    if x < -1.0:
        grade = 0
        return grade
    elif x < 0.0:
        grade = 1
    elif x < 1.0 and x > 0.5:
        grade = 2
    else:
        return 7
    return grade * 10


@triton.jit
def k_map_branch(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, tl.map_elementwise(_leaky, tl.load(X + i), 0.125))


@triton.jit
def k_map_grade(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, tl.map_elementwise(_grade, tl.load(X + i)))


@triton.jit
def k_map_while(I, O, N: tl.constexpr):
    i = tl.arange(0, N)
    steps, largest = tl.map_elementwise(_collatz, tl.load(I + i))
    tl.store(O + i, steps)
    tl.store(O + N + i, largest)


@triton.jit
def k_map_for(X, I, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, tl.map_elementwise(_power, tl.load(X + i), tl.load(I + i)))


@triton.jit
def k_map_pack(X, Y, O, N: tl.constexpr):
    i = tl.arange(0, N)
    first, second = tl.map_elementwise(_order, tl.load(X + i), tl.load(Y + i), pack=2)
    tl.store(O + i, first)
    tl.store(O + N + i, second)


@triton.jit
def k_inner_names(X, O, N: tl.constexpr):
    # What libraries call of Triton's own modules.
    i = tl.arange(0, N)
    x = tl.core.load(X + i)
    high = tl.reduce(x, 0, tl.standard._elementwise_max)
    low = tl.reduce(x, 0, tl.standard._elementwise_min)
    if tl.standard._is_power_of_two(N) and not tl.standard._is_power_of_two(N + 1):
        tl.store(O + i, high - low + tl.standard._log2(N))


@triton.jit
def k_target(O):
    tl.store(O, tl.target_info.is_cuda())
    tl.store(O + 1, tl.target_info.cuda_capability_geq(8))
    tl.store(O + 2, tl.target_info.cuda_capability_geq(8, 1))
    tl.store(O + 3, tl.target_info.is_hip())


@triton.jit
def k_condition(O, n):
    i = n
    while tl.condition(i * i < 1000):
        i += 3
    tl.store(O, i)


@triton.jit
def k_squeeze(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.unsqueeze(tl.load(X + i), 0)
    y = tl.unsqueeze(tl.squeeze(x, -2), 1)
    tl.store(O + i, tl.squeeze(y, 1) + tl.squeeze(tl.sum(x, 1), 0))


@triton.jit
def k_clamp(X, LOW, O, high, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, tl.clamp(tl.load(X + i), tl.load(LOW + i), high))


@triton.jit
def k_topk(X, O, K: tl.constexpr, DOWN: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + tl.arange(0, K), tl.topk(tl.load(X + i), K, descending=DOWN))


@triton.jit
def k_abs_fp8(X, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, tl.abs(tl.load(X + i)))


@triton.jit
def k_addresses(X, Y, O, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(O + i, tl.where(i < 64, X + i, Y + i))


@triton.jit
def k_dot_parts(X, Y, Z, O, N: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(O + at, tl.dot(tl.load(X + at), tl.load(Y + at), acc=tl.load(Z + at), input_precision=PRECISION))
