"""tests/triton/launcher.py - the module that launches the kernels of the test programs: simulator_launcher if a program imported it
before, otherwise interpreter_launcher.

SPDX-License-Identifier: Apache-2.0
"""
import importlib
import sys

sys.modules[__name__] = sys.modules.get("simulator_launcher") or importlib.import_module("interpreter_launcher")
