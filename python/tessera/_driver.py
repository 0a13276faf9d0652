"""triton.runtime.driver of modules written for Triton: where kernels run.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tessera import testing
from tessera._backends import GPUTarget

# What a CPU has no number for. Any occupancy that a program computes of these and
# of a CompiledKernel is at least one program a thread.
CPU_REGISTER_FILE = 65536
CPU_SHARED_MEMORY = (1 << 31) - 1


class Utils:
    """Properties of a device by the names that Triton's driver gives them."""

    def get_device_properties(self, device: Any = None) -> dict[str, int]:
        if not torch.cuda.is_available():
            return {"multiprocessor_count": torch.get_num_threads(), "max_num_regs": CPU_REGISTER_FILE,
                    "max_shared_mem": CPU_SHARED_MEMORY, "warpSize": 1, "max_threads_per_sm": 1, "sm_clock_rate": 0,
                    "mem_clock_rate": 0, "mem_bus_width": 0}
        found = torch.cuda.get_device_properties(device)
        return {"multiprocessor_count": found.multi_processor_count, "max_num_regs": found.regs_per_multiprocessor,
                "max_shared_mem": found.shared_memory_per_block_optin, "warpSize": found.warp_size,
                "max_threads_per_sm": found.max_threads_per_multi_processor,
                "sm_clock_rate": getattr(found, "clock_rate", 0),
                "mem_clock_rate": getattr(found, "memory_clock_rate", 0),
                "mem_bus_width": getattr(found, "memory_bus_width", 0)}


class Driver:
    """triton.runtime.driver.active: the GPU of torch if there is one, else the CPU."""

    def __init__(self) -> None:
        self.utils = Utils()

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")

    def get_current_device(self) -> int:
        return torch.cuda.current_device() if torch.cuda.is_available() else 0

    def set_current_device(self, device: int) -> None:
        if torch.cuda.is_available():
            torch.cuda.set_device(device)

    def get_current_stream(self, device: Any = None) -> int:
        return int(torch.cuda.current_stream(device).cuda_stream) if torch.cuda.is_available() else 0

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        return torch.cuda.get_device_capability(device) if torch.cuda.is_available() else (0, 0)

    def get_device_interface(self) -> ModuleType:
        return torch.cuda if torch.cuda.is_available() else torch.cpu

    def get_current_target(self) -> GPUTarget:
        if not torch.cuda.is_available():
            return GPUTarget(backend="cpu", arch="cpu", warp_size=1)
        major, minor = torch.cuda.get_device_capability()
        return GPUTarget(backend="cuda", arch=10 * major + minor, warp_size=32)

    def get_benchmarker(self) -> Any:
        return testing.do_bench

    def get_empty_cache_for_benchmark(self) -> torch.Tensor:
        """Memory as large as the caches that clear_cache() is to empty."""
        return torch.empty(64 << 20, dtype=torch.int32, device=self.get_active_torch_device())

    def clear_cache(self, cache: torch.Tensor) -> None:
        cache.zero_()
