// compiler/semantics/PreludeAtomics.cpp - atomic loads and stores, written in
// the kernel language.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Prelude.h"

namespace tessera::semantics {

// Loads and stores are read-modify-write operations here, so that they have the
// order and the checks of those: a load is `or` with 0, and a store exchanges.
// Bits keep -0.0 and the payload of a NaN.
const char *const kPreludeAtomicsText = R"py(

@triton.jit
def _bits_of(pointer):
    WIDTH: tl.constexpr = pointer.dtype.element_ty.primitive_bitwidth
    tl.static_assert(WIDTH == 32 or WIDTH == 64, "atomic loads and stores are of 32 or 64 bits")
    if WIDTH == 32:
        return pointer.to(tl.pointer_type(tl.int32), bitcast=True)
    else:
        return pointer.to(tl.pointer_type(tl.int64), bitcast=True)


@triton.jit
def atomic_load(pointer, mask=None, sem: tl.constexpr = None, scope: tl.constexpr = None):
    SEM: tl.constexpr = "acquire" if sem is None else sem
    tl.static_assert(SEM == "acquire" or SEM == "relaxed", "tl.atomic_load: sem is 'acquire' or 'relaxed'")
    bits = tl.atomic_or(_bits_of(pointer), 0, mask, SEM, scope)
    return bits.to(pointer.dtype.element_ty, bitcast=True)


@triton.jit
def atomic_store(pointer, val, mask=None, sem: tl.constexpr = None, scope: tl.constexpr = None):
    SEM: tl.constexpr = "release" if sem is None else sem
    tl.static_assert(SEM == "release" or SEM == "relaxed", "tl.atomic_store: sem is 'release' or 'relaxed'")
    bits = _bits_of(pointer)
    stored = tl.to_tensor(val).to(pointer.dtype.element_ty)
    tl.atomic_xchg(bits, stored.to(bits.dtype.element_ty, bitcast=True), mask, SEM, scope)


@triton.jit
def atomic_poll(pointer, expected_value, sem: tl.constexpr = None, scope: tl.constexpr = None, timeout_ns: tl.constexpr = None):
    tl.static_assert(timeout_ns is None, "tl.atomic_poll: kernels have no clock; leave timeout_ns out")
    tl.static_assert(pointer.dtype.element_ty.is_int(), "tl.atomic_poll waits for integers")
    seen = atomic_load(pointer, None, sem, scope) == expected_value
    if pointer.type.is_block():
        while tl.min(seen.to(tl.int32).ravel(), 0) == 0:
            seen = seen | (atomic_load(pointer, ~seen, sem, scope) == expected_value)
    else:
        while not seen:
            seen = atomic_load(pointer, None, sem, scope) == expected_value
    return seen


@triton.jit
def expect_zero(x, mask):
    tl.device_assert((x == 0) | (tl.to_tensor(mask) == 0), "expect_zero expected x == 0 where mask is true")
    return x
)py";

} // namespace tessera::semantics
