# tests/triton/compiled.py - loads the ops for tests that launch kernels by torch.ops.tessera.launch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""LIBTESSERA_TORCH names the library of the ops. Products of fp32 operands use all of their bits, and the assertions of kernels are on."""
import os

os.environ.setdefault("TESSERA_F32_DEFAULT", "ieee")
os.environ.setdefault("TESSERA_DEBUG", "1")
import torch  # noqa: E402

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])


def check(name, problem):
    """problem: text of what is wrong, or None."""
    assert not problem, f"{name}: {problem}"
