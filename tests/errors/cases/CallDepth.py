# tests/errors/cases/CallDepth.py - kernel files that cause CallDepth, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# call-depth - functions that call each other too deeply
# Why: Helpers are compiled into their callers, 64 levels deep at most.
# Fix: Use a loop.

import triton
import triton.language as tl


@triton.jit
def step0(x):
    return step1(x) + 1.0


@triton.jit
def step1(x):
    return step2(x) + 1.0


@triton.jit
def step2(x):
    return step3(x) + 1.0


@triton.jit
def step3(x):
    return step4(x) + 1.0


@triton.jit
def step4(x):
    return step5(x) + 1.0


@triton.jit
def step5(x):
    return step6(x) + 1.0


@triton.jit
def step6(x):
    return step7(x) + 1.0


@triton.jit
def step7(x):
    return step8(x) + 1.0


@triton.jit
def step8(x):
    return step9(x) + 1.0


@triton.jit
def step9(x):
    return step10(x) + 1.0


@triton.jit
def step10(x):
    return step11(x) + 1.0


@triton.jit
def step11(x):
    return step12(x) + 1.0


@triton.jit
def step12(x):
    return step13(x) + 1.0


@triton.jit
def step13(x):
    return step14(x) + 1.0


@triton.jit
def step14(x):
    return step15(x) + 1.0


@triton.jit
def step15(x):
    return step16(x) + 1.0


@triton.jit
def step16(x):
    return step17(x) + 1.0


@triton.jit
def step17(x):
    return step18(x) + 1.0


@triton.jit
def step18(x):
    return step19(x) + 1.0


@triton.jit
def step19(x):
    return step20(x) + 1.0


@triton.jit
def step20(x):
    return step21(x) + 1.0


@triton.jit
def step21(x):
    return step22(x) + 1.0


@triton.jit
def step22(x):
    return step23(x) + 1.0


@triton.jit
def step23(x):
    return step24(x) + 1.0


@triton.jit
def step24(x):
    return step25(x) + 1.0


@triton.jit
def step25(x):
    return step26(x) + 1.0


@triton.jit
def step26(x):
    return step27(x) + 1.0


@triton.jit
def step27(x):
    return step28(x) + 1.0


@triton.jit
def step28(x):
    return step29(x) + 1.0


@triton.jit
def step29(x):
    return step30(x) + 1.0


@triton.jit
def step30(x):
    return step31(x) + 1.0


@triton.jit
def step31(x):
    return step32(x) + 1.0


@triton.jit
def step32(x):
    return step33(x) + 1.0


@triton.jit
def step33(x):
    return step34(x) + 1.0


@triton.jit
def step34(x):
    return step35(x) + 1.0


@triton.jit
def step35(x):
    return step36(x) + 1.0


@triton.jit
def step36(x):
    return step37(x) + 1.0


@triton.jit
def step37(x):
    return step38(x) + 1.0


@triton.jit
def step38(x):
    return step39(x) + 1.0


@triton.jit
def step39(x):
    return step40(x) + 1.0


@triton.jit
def step40(x):
    return step41(x) + 1.0


@triton.jit
def step41(x):
    return step42(x) + 1.0


@triton.jit
def step42(x):
    return step43(x) + 1.0


@triton.jit
def step43(x):
    return step44(x) + 1.0


@triton.jit
def step44(x):
    return step45(x) + 1.0


@triton.jit
def step45(x):
    return step46(x) + 1.0


@triton.jit
def step46(x):
    return step47(x) + 1.0


@triton.jit
def step47(x):
    return step48(x) + 1.0


@triton.jit
def step48(x):
    return step49(x) + 1.0


@triton.jit
def step49(x):
    return step50(x) + 1.0


@triton.jit
def step50(x):
    return step51(x) + 1.0


@triton.jit
def step51(x):
    return step52(x) + 1.0


@triton.jit
def step52(x):
    return step53(x) + 1.0


@triton.jit
def step53(x):
    return step54(x) + 1.0


@triton.jit
def step54(x):
    return step55(x) + 1.0


@triton.jit
def step55(x):
    return step56(x) + 1.0


@triton.jit
def step56(x):
    return step57(x) + 1.0


@triton.jit
def step57(x):
    return step58(x) + 1.0


@triton.jit
def step58(x):
    return step59(x) + 1.0


@triton.jit
def step59(x):
    return step60(x) + 1.0


@triton.jit
def step60(x):
    return step61(x) + 1.0


@triton.jit
def step61(x):
    return step62(x) + 1.0


@triton.jit
def step62(x):
    return step63(x) + 1.0


@triton.jit
def step63(x):
    return step64(x) + 1.0


@triton.jit
def step64(x):
    return step65(x) + 1.0


@triton.jit
def step65(x):
    return step66(x) + 1.0


@triton.jit
def step66(x):
    return x


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, step0(a))

# expect:
# | kernel.py:322:12: error: more than 64 calls inside each other [CallDepth]
# |       return step64(x) + 1.0
# |              ^~~~~~~~~
# | kernel.py:317:12: note: called from `step62`
# |       return step63(x) + 1.0
# |              ^~~~~~~~~
# | kernel.py:312:12: note: called from `step61`
# |       return step62(x) + 1.0
# |              ^~~~~~~~~
# | kernel.py:307:12: note: called from `step60`
# |       return step61(x) + 1.0
# |              ^~~~~~~~~
# | kernel.py:302:12: note: called from `step59`
# |       return step60(x) + 1.0
# |              ^~~~~~~~~
# | ... 56 more calls
# | kernel.py:17:12: note: called from `step2`
# |       return step3(x) + 1.0
# |              ^~~~~~~~
# | kernel.py:12:12: note: called from `step1`
# |       return step2(x) + 1.0
# |              ^~~~~~~~
# | kernel.py:7:12: note: called from `step0`
# |       return step1(x) + 1.0
# |              ^~~~~~~~
# | kernel.py:345:24: note: called from `rows`
# |       tl.store(out + at, step0(a))
# |                          ^~~~~~~~
# | HINT: helpers are inlined; use a loop
