# tests/package/kernels_for_jit.py - helpers and constants that kernels of another file use.
# SPDX-License-Identifier: Apache-2.0
import tessera
import tessera.language as tl

SCALE = 3.0


@tessera.jit
def scaled(x):
    return x * SCALE


@tessera.jit
def cubed(x, ONE: tl.constexpr = 1.0):
    return scaled(x) * x * x / SCALE * ONE
