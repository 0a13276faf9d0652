"""tests/triton/launcher.py - the module that launches the kernels of the tests: interpreter_launcher, or simulator_launcher.

SIMULATE names the settings of simulator_launcher.use() and selects that module: SIMULATE="compiler=tessera precision=tf32 warps=8". A
program that imported simulator_launcher before gets it as well. SPDX-License-Identifier: Apache-2.0
"""
import importlib
import os
import sys


def _launcher():
    if "SIMULATE" not in os.environ:
        return sys.modules.get("simulator_launcher") or importlib.import_module("interpreter_launcher")
    module = importlib.import_module("simulator_launcher")
    settings = dict(word.split("=") for word in os.environ["SIMULATE"].split())
    module.use(**{name: int(value) if value.isdigit() else value for name, value in settings.items()})
    return module


sys.modules[__name__] = _launcher()
