"""tessera: kernels in the Triton language on CPUs and GPUs, and the torch ops
of Native Sparse Attention made of them.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from tessera import _library

_library.load()  # first: what is missing is said here

from tessera import language, ops, testing  # noqa: E402
from tessera._autotune import Autotuner, autotune  # noqa: E402
from tessera._config import Config  # noqa: E402
from tessera._descriptor import TensorDescriptor  # noqa: E402
from tessera._heuristics import Heuristics, heuristics  # noqa: E402
from tessera._classes import aggregate  # noqa: E402
from tessera._host import cdiv, constexpr_function, next_power_of_2  # noqa: E402
from tessera._jit import JITFunction, jit  # noqa: E402
from tessera._version import version as _version  # noqa: E402

__version__ = _version()
__all__ = ["Autotuner", "Config", "Heuristics", "JITFunction", "TensorDescriptor", "aggregate", "autotune", "cdiv", "constexpr_function", "heuristics",
           "jit", "language", "next_power_of_2", "ops", "testing"]
