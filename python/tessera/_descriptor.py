"""TensorDescriptor: a strided array that kernels read and write in blocks, as an argument of a launch.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import torch

from tessera._literal import TORCH_DTYPES, plain

LARGEST_RANK = 5
LARGEST_BLOCK = 1 << 20  # elements
LEAST_ROW = 16           # bytes of the block's last dimension
SIZES = 1 << 31          # no size of the array reaches it
SEQUENCES = ("shape", "strides", "block_shape")


def is_integer(value: Any) -> bool:
    return type(value) is int or type(plain(value)) is int


@dataclasses.dataclass
class TensorDescriptor:
    """A tensor's memory as an array of this shape and these strides, both in elements, and the shape of the blocks.
    Elements outside of the array read as 0, or as NaN with padding="nan". With round_f32_to_tf32, loads round to tf32."""

    base: torch.Tensor
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        self.check("TensorDescriptor")

    @staticmethod
    def from_tensor(tensor: torch.Tensor, block_shape: Sequence[int], padding: str = "zero",
                    round_f32_to_tf32: bool = False) -> TensorDescriptor:
        """A descriptor of all elements of the tensor."""
        return TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), block_shape, padding, round_f32_to_tf32)

    def kind(self) -> tuple[Any, ...]:
        """What of the fields a plan for launches depends on, and whether check_launch() accepts the others."""
        if not all(isinstance(getattr(self, name), Sequence) for name in SEQUENCES):
            return TensorDescriptor,
        return (TensorDescriptor, type(self.base), getattr(self.base, "dtype", None), getattr(self.base, "layout", None),
                tuple(self.block_shape), self.padding,
                self.round_f32_to_tf32, tuple(self.strides[-1:]), all(0 <= size < SIZES for size in self.shape if is_integer(size)),
                self.is_inside(), *map(type, self.block_shape), *map(type, self.shape), len(self.strides), *map(type, self.strides))

    def is_inside(self) -> bool:
        """Whether all elements of the array are in the memory of the tensor's storage. True where that is not known: for fields that
        check() refuses and for tensors without memory."""
        fields = (*self.shape, *self.strides)
        if not isinstance(self.base, torch.Tensor) or len(self.shape) != len(self.strides) or not all(map(is_integer, fields)):
            return True
        try:
            held = self.base.untyped_storage().nbytes() // self.base.element_size()
        except (NotImplementedError, RuntimeError):
            return True
        if min(self.shape, default=0) <= 0:
            return True
        ends = [(size - 1) * stride for size, stride in zip(self.shape, self.strides)]
        first = self.base.storage_offset()
        return first + sum(end for end in ends if end < 0) >= 0 and first + sum(end for end in ends if end > 0) < held

    def tuning_key(self) -> tuple[Any, ...]:
        """What a choice between configurations depends on; they set the shape of the blocks."""
        return (*self.shape, *self.strides, self.padding)

    def check(self, where: str) -> None:
        """Raises ValueError or TypeError if the fields do not make a descriptor; `where` begins the message."""
        if not isinstance(self.base, torch.Tensor):
            raise TypeError(f"{where}: base is a {type(self.base).__name__}\nHINT: pass a tensor")
        if self.base.dtype not in TORCH_DTYPES:
            raise TypeError(f"{where}: base has the type {self.base.dtype}, which kernels do not have\n"
                            "HINT: pass a tensor of real numbers, such as view_as_real() of a complex one")
        if self.base.layout != torch.strided:
            raise TypeError(f"{where}: base has the layout {self.base.layout}\nHINT: pass base.to_dense()")
        for name in SEQUENCES:
            if not isinstance(getattr(self, name), Sequence):
                raise TypeError(f"{where}: {name} is {getattr(self, name)!r}\nHINT: pass a list of integers, one for each dimension")
        rank = len(self.block_shape)
        if not 1 <= rank <= LARGEST_RANK or len(self.shape) != rank or len(self.strides) != rank:
            raise ValueError(f"{where}: shape has {len(self.shape)} dimensions, strides {len(self.strides)} and "
                             f"block_shape {rank}\nHINT: give all three the same number of dimensions, 1 to {LARGEST_RANK}")
        self._check_numbers(where)
        if self.strides[-1] != 1:
            raise ValueError(f"{where}: the last stride is {self.strides[-1]}, and rows of a descriptor are contiguous\n"
                             "HINT: pass tensor.contiguous(), or describe the transposed tensor and use .T in the kernel")
        if self.padding not in ("zero", "nan"):
            raise ValueError(f"{where}: padding is {self.padding!r}\nHINT: pass \"zero\" or \"nan\"")
        if self.padding == "nan" and not self.base.dtype.is_floating_point:
            raise ValueError(f"{where}: padding is \"nan\", and {self.base.dtype} has no NaN\nHINT: pass padding=\"zero\"")
        if self.round_f32_to_tf32 and self.base.dtype != torch.float32:
            raise ValueError(f"{where}: round_f32_to_tf32 is set, and the elements are {self.base.dtype}\n"
                             "HINT: leave it out; only float32 is rounded")

    def _check_numbers(self, where: str) -> None:
        for name in SEQUENCES:
            numbers = getattr(self, name)
            if bad := [number for number in numbers if not is_integer(number)]:
                raise TypeError(f"{where}: {name} contains {bad[0]!r}\nHINT: pass integers")
        if bad := [size for size in self.shape if not 0 <= size < SIZES]:
            raise ValueError(f"{where}: shape contains {bad[0]}\nHINT: sizes are from 0 to 2^31 - 1")
        if bad := [size for size in self.block_shape if size < 1 or size & (size - 1)]:
            raise ValueError(f"{where}: block_shape contains {bad[0]}, which is not a power of two\n"
                             "HINT: pass triton.next_power_of_2(size); elements past the array read as padding")
        if math.prod(self.block_shape) > LARGEST_BLOCK:
            raise ValueError(f"{where}: the block has {math.prod(self.block_shape)} elements\n"
                             f"HINT: make block_shape smaller; {LARGEST_BLOCK} are possible")

    def check_launch(self, where: str) -> None:
        """check() and what only a launch needs: a first block_shape may be a dummy that a pre_hook replaces."""
        self.check(where)
        if not self.is_inside():
            raise ValueError(f"{where}: shape {[*self.shape]} and strides {[*self.strides]} reach past the memory of base, a tensor of shape "
                             f"{[*self.base.shape]}\nHINT: strides count elements; TensorDescriptor.from_tensor(tensor, block_shape) takes them "
                             "from the tensor")
        size = self.base.element_size()
        if self.block_shape[-1] * size < LEAST_ROW:
            raise ValueError(f"{where}: the last dimension of block_shape is {self.block_shape[-1]}, and has "
                             f"{self.block_shape[-1] * size} bytes\nHINT: set desc.block_shape before the launch; the last "
                             f"dimension needs at least {LEAST_ROW // size} elements, {LEAST_ROW} bytes")


def tensor_of(value: Any) -> Any:
    """The tensor of a descriptor; any other value unchanged."""
    return value.base if isinstance(value, TensorDescriptor) else value
