"""Finds the version of the package, which CMakeLists.txt of the checkout declares.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path


def version() -> str:
    """Returns the version in the checkout that contains this package, else that of the installed wheel."""
    project = Path(__file__).resolve().parents[2] / "CMakeLists.txt"
    if project.is_file():
        found = re.search(r"^project\(tessera VERSION (\S+)", project.read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found[1]
    return metadata.version("tessera-kernels")
