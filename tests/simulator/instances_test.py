# tests/simulator/instances_test.py - the attention kernels on the simulator, with the constants of the `# tessera: instance` comments.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""SIMULATE has the settings, which tests/triton/launcher.py describes."""
import backward_test
import cases
import forward_test
import pytest

each_instance = pytest.mark.parametrize("name", cases.INSTANCES)


@each_instance
def test_forward(name):
    forward_test.forward(cases.INSTANCES[name])


@each_instance
def test_backward(name):
    backward_test.backward(cases.INSTANCES[name])
