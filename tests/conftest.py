"""tests/conftest.py - where all Python tests find the build, and which files pytest does not collect.

The variables below name the build. ctest sets them; a test that is run by hand gets those of build/release, or of the build
folder that BUILD names. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import importlib.util
import os
import pathlib
import re
import sys

import pytest
from repository import BUILD, ROOT


def pytest_ignore_collect(collection_path):
    """Leaves out programs that end in _test.py and define no test function. ctest starts them with arguments."""
    if collection_path.suffix == ".py" and "def test_" not in collection_path.read_text():
        return True
    return None


def pytest_terminal_summary(terminalreporter):
    """What tests with simulator_launcher ran; scripts/sim-test prints the line."""
    if "simulator" in sys.modules:
        terminalreporter.write_line("simulated: " + sys.modules["simulator"].summary())


def _defaults():
    """Name -> value of the variables that ctest sets."""
    values = {"BUILD": BUILD, "PROGRAM": BUILD / "bin/tessera", "TRAIN_PROGRAM": BUILD / "bin/tessera-train",
              "LIBTESSERA_TORCH": BUILD / "lib/libtessera_torch.so", "SIM_ABI": BUILD / "lib/libtessera_sim_abi.so",
              "TESSERA_CACHE_DIR": BUILD / "test-cache", "PYTHONPATH": ROOT / "python",
              "VERSION": re.search(r"VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text().split("project(")[1])[1]}
    torch = importlib.util.find_spec("torch")
    if torch and (BUILD / "lib/libtessera_torch.so").exists():
        values["TORCH"] = pathlib.Path(torch.origin).parent
    return values


for name, value in _defaults().items():
    os.environ.setdefault(name, str(value))
# Tests that compare with one release of Triton must not get another. Importing it here would be too early: tests set TRITON_INTERPRET first.
if "TRITON_VERSION" in os.environ:
    text = pathlib.Path(importlib.util.find_spec("triton").origin).read_text()
    version = re.search(r"""^__version__ = ['"]([^'"]*)""", text, re.M)[1]
    if not version.startswith(os.environ["TRITON_VERSION"] + "."):
        raise pytest.UsageError(f"Triton {version} instead of {os.environ['TRITON_VERSION']}; run scripts/setup full")
# Tests write nothing into the checkout.
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
sys.dont_write_bytecode = True


@pytest.fixture
def cleanups():
    """A stack of calls that follow the test, the last one first: cleanups.callback(function, *arguments)."""
    with contextlib.ExitStack() as stack:
        yield stack
