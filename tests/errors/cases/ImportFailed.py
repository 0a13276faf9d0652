# tests/errors/cases/ImportFailed.py - kernel files that cause ImportFailed, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# import-circle - two files that import from each other
# Why: The name leads from one file to the other and back without ever being defined.
# Fix: Define the function in one of the files.

import triton
import triton.language as tl

from .circle import swish


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, swish(a))

# expect:
# | circle.py:4:21: error: `swish` is imported in a circle and defined nowhere [ImportFailed]
# |   from .kernel import swish
# |                       ^~~~~
# | HINT: circle.py imports it from kernel.py, kernel.py from circle.py: define it in one of the files
# | kernel.py:4:21: error: `swish` is imported in a circle and defined nowhere [ImportFailed]
# |   from .circle import swish
# |                       ^~~~~
# | HINT: kernel.py imports it from circle.py, circle.py from kernel.py: define it in one of the files

# -----
# import-module - importing a kernel file as a module
# Why: From a kernel file, functions and constants are imported one by one.
# Fix: Write `from .activations import relu`.

import triton
import triton.language as tl

from . import activations


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, activations.relu(a))

# expect:
# | kernel.py:4:15: error: a kernel file can only be imported from by name [ImportFailed]
# |   from . import activations
# |                 ^~~~~~~~~~~
# | HINT: write from .activations import NAME

# -----
# import-no-such-name - importing a name that the file does not define
# Why: The other kernel file has no function or constant of this name.
# Fix: Import `relu`.

import triton
import triton.language as tl

from .activations import rellu


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, rellu(a))

# expect:
# | kernel.py:4:26: error: `activations.py` has no `rellu` [ImportFailed]
# |   from .activations import rellu
# |                            ^~~~~
# | HINT: did you mean `relu`?

# -----
# import-not-found - importing from a file that does not exist
# Why: Kernel files are looked up in the folder of the file that imports them.
# Fix: Check the name of the file.

import triton
import triton.language as tl

from .activation import relu


# tessera: instance rows(x="*fp32:16", out="*fp32:16", n="i32", BLOCK=128)
@triton.jit
def rows(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at)
    tl.store(out + at, relu(a))

# expect:
# | kernel.py:4:25: error: no kernel file for `.activation` [ImportFailed]
# |   from .activation import relu
# |                           ^~~~
# | HINT: imports are looked up in the folder of the file that imports: no regular file `activation.py` there
