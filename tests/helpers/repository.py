"""tests/helpers/repository.py - paths of the checkout and of its build; loads Python files of the checkout as modules.

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
    """Returns the paths of the patterns in kernels/patterns from which kernels are derived. Leaves out patterns that select blocks;
    tests/selection tests their ops."""
    return sorted(path for path in (ROOT / "kernels/patterns").glob("*.py") if not re.search(r"# tessera: (select|streams)\(", path.read_text()))


def commit():
    """Returns the short hash of the commit that is checked out, or "unknown" outside a git checkout."""
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def load(path):
    """Executes the Python file at `path` in the repository and returns it as a module. The file needs no suffix .py. Each call executes it
    again."""
    file = ROOT / path
    name = file.stem.replace("-", "_")
    loader = importlib.machinery.SourceFileLoader(name, str(file))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module
