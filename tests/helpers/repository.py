"""tests/helpers/repository.py - the folders of the checkout and of its build, and modules that are loaded from a file's path.

tests/conftest.py sets the variables that name the build. SPDX-License-Identifier: Apache-2.0
"""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD") or ROOT / "build/release").resolve()
PROGRAM = os.environ.get("PROGRAM") or str(BUILD / "bin/tessera")


def pattern_files():
    """The patterns of kernels/patterns from which kernels are derived. Those that select blocks have ops (tests/selection)."""
    return sorted(path for path in (ROOT / "kernels/patterns").glob("*.py") if not re.search(r"# tessera: (select|streams)\(", path.read_text()))


def commit():
    """The short hash of the commit that is checked out, or "unknown"."""
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def load(path):
    """The module of a Python file, given by its path in the repository. The file needs no suffix; each call executes it again."""
    file = ROOT / path
    name = file.stem.replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, str(file))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
