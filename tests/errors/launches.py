# tests/errors/launches.py - programs with one wrong launch each, and the messages.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0

# -----
# block-of-100 - a kernel that does not compile for the values of a launch
# Why: The launch compiles the kernel for BLOCK=100, and blocks are powers of two.
# Fix: Pass "BLOCK=128"; the mask takes care of the rest.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [10], "BLOCK=100")

# expect:
# | RuntimeError: add.py:10:37: error: block dimensions must be powers of two, got [100] [BlockShape]
# |       at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
# |                                       ^~~~~~~~~~~~~~~~~~~
# | HINT: use 128 and a mask for the elements past 100

# -----
# complex-scalar - a complex number as an argument
# Why: Scalars are integers or floats.
# Fix: Pass real numbers.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1j], [8], "BLOCK=128")

# expect:
# | ValueError: tessera::launch: a scalar is complex; pass real numbers

# -----
# complex-tensor - a tensor of a type that kernels do not have
# Why: Kernels compute with integers and real floats.
# Fix: Pass real and imaginary parts: `torch.view_as_real(x)`.

import torch

x = torch.ones(1000, dtype=torch.complex64)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [8], "BLOCK=128")

# expect:
# | ValueError: kernels take no tensor of type ComplexFloat
# | HINT: convert it with .to(), for example to float32 or int32

# -----
# constexpr-text - constexprs that cannot be read
# Why: The last argument is a text of NAME=value, separated by commas, as in a call.
# Fix: Write "BLOCK=128".

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [8], "BLOCK: 128")

# expect:
# | ValueError: tessera::launch: constexprs is `BLOCK: 128`: expected `)` after the arguments of the call, found `:`; write NAME=value, separated by commas: BLOCK=64, ACT="relu", TYPE=tl.float32

# -----
# file-not-found - a kernel file that is not there
# Why: The path is looked up from the current folder, then in TESSERA_KERNELS, then beside the
#   program.
# Fix: Check the name.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("addd.py", "add", [x, x, out], [1000], [8], "BLOCK=128")

# expect:
# | ValueError: no kernel file addd.py
# | HINT: did you mean add.py?

# -----
# grid-empty - a grid without numbers
# Why: A grid has one to three axes.
# Fix: Write `[8]`.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [], "BLOCK=128")

# expect:
# | ValueError: tessera::launch: grid has 0 entries and must have 1 to 3

# -----
# grid-negative - a grid with a negative number
# Why: A grid counts programs.
# Fix: Write `[8]`.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [-8], "BLOCK=128")

# expect:
# | ValueError: kernel add: grid dimension 0 is -8
# | HINT: it must lie between 0 and 2^31 - 1

# -----
# grid-rank - a grid of four numbers
# Why: A grid has one to three axes.
# Fix: Write `[8]`.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [8, 1, 1, 1], "BLOCK=128")

# expect:
# | ValueError: tessera::launch: grid has 4 entries and must have 1 to 3

# -----
# missing-constexpr - a launch without a value for a constexpr
# Why: `BLOCK` has no default, configuration or heuristic.
# Fix: Pass "BLOCK=128".

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [8], "")

# expect:
# | ValueError: kernel `add` needs a value for the constexpr `BLOCK`
# | HINT: pass it, or give the kernel a default, a configuration or a heuristic for it

# -----
# no-such-kernel - a kernel that the file does not have
# Why: The second argument is the name of a @triton.jit function of the file.
# Fix: Write "add".

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "ad", [x, x, out], [1000], [8], "BLOCK=128")

# expect:
# | ValueError: add.py: no kernel `ad`
# | HINT: did you mean `add`?

# -----
# number-for-tensor - a number where the kernel loads
# Why: The third parameter of `add` is a pointer, and the launch passes a number for it.
# Fix: Pass tensors in the order of the parameters: `[x, x, out], [1000]`.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x], [1000, 1000], [8], "BLOCK=128")

# expect:
# | RuntimeError: add.py:12:14: error: tl.store: `pointer` must be a pointer, got int32[128] [BadPointer]
# |       tl.store(out + at, tl.load(x + at, mask) + tl.load(y + at, mask), mask)
# |                ^~~~~~~~
# | HINT: pointers are the tensor arguments of the kernel, plus offsets

# -----
# outside-of-memory - an address that is not there
# Why: The mask keeps `at` below n, not `at + by` above 0. The processor stops the kernel; the program continues.
# Fix: Mask the load with `(at + by >= 0) & (at + by < n)`.

import torch

# Neighbours: the message names the argument that is nearest.
x, out = torch.ones(256).split(128)
torch.ops.tessera.launch("add.py", "shift", [x, out], [128, -(1 << 40)], [1], "BLOCK=128")

# expect:
# | RuntimeError: kernel `shift`: program (0, 0, 0) reads memory that is not there, 4398046511104 bytes before the start of `x` (add.py:26)
# | HINT: try --device sim:sm_80 (or TESSERA_DEVICE=sim:sm_80), which checks every access, also to memory that is there; what other programs wrote stays

# -----
# tensors-before-scalars - a kernel whose tensors do not come first
# Why: torch.ops.tessera.launch passes all tensors, then all scalars; `scale` has the number
#   between its tensors.
# Fix: Put the tensors first in the kernel's parameters: `scale(x, out, n, ...)`.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "scale", [x, out], [1000], [8], "BLOCK=128")

# expect:
# | RuntimeError: add.py:18:12: error: `<` is not defined for int32[128] and *fp32 [BadPointer]
# |       mask = at < n
# |              ^~~~~~
# | HINT: pointers are addresses; load the values first: tl.load(n)

# -----
# too-few-arguments - a launch with too few arguments
# Why: The kernel takes three tensors and a number, and the launch passes two tensors and a
#   number.
# Fix: Pass `out` as well.

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x], [1000], [8], "BLOCK=128")

# expect:
# | ValueError: kernel `add` takes 4 arguments, not 3
# | HINT: pass, in this order: x, y, out, n

# -----
# unknown-constexpr - a constexpr that the kernel does not have
# Why: The names are those of the tl.constexpr parameters.
# Fix: Write "BLOCK=128".

import torch

x = torch.ones(1000)
out = torch.empty(1000)
torch.ops.tessera.launch("add.py", "add", [x, x, out], [1000], [8], "BLOK=128")

# expect:
# | ValueError: kernel `add` has no constexpr `BLOK`
# | HINT: did you mean `BLOCK`?
