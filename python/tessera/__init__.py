"""tessera: kernels in the Triton language on CPUs and GPUs, and the torch ops
of Native Sparse Attention made of them.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from tessera import _library

_library.load()  # first: what is missing is said here

from tessera import ops  # noqa: E402

__version__ = "0.1.0"
__all__ = ["ops"]
