# tests/triton/slow_shapes_test.py - shapes that take Triton's interpreter long: the other shapes are in the files of their kernels.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
from backward_test import backward
from cases import SHAPES, SLOW, numbered
from forward_test import forward
from gated_test import gated


@numbered(SHAPES, SLOW)
def test_forward(shape):
    forward(shape)


@numbered(SHAPES, SLOW)
def test_backward(shape):
    backward(shape)


@numbered(SHAPES, range(1, len(SHAPES), 2))
def test_gated(shape):
    gated(shape)
