"""The console scripts of an installed package: they become the programs in
bin/, which find their libraries in lib/ and in torch.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import NoReturn

from tessera._library import TORCH

TRAINS = ("train", "generate", "evaluate", "export", "config", "bench")  # verbs of `tessera` that start tessera-train or tessera-bench


def _torch_release(folder: Path) -> str:
    """"2.15" of an installed torch, without importing it, which takes seconds; "" if its version.py has no version."""
    file = folder / "version.py"
    found = re.search(r"^__version__ = .(\d+\.\d+)", file.read_text(encoding="utf-8"), re.M) if file.is_file() else None
    return found[1] if found else ""


def _become(name: str) -> NoReturn:
    package = Path(__file__).resolve().parent
    folders = [str(package / "lib")]
    torch = importlib.util.find_spec("torch")
    release = ""
    if torch and torch.origin:
        folders.append(str(Path(torch.origin).parent / "lib"))
        release = _torch_release(Path(torch.origin).parent)
    # For tessera-parquet, which `tessera data` starts.
    pyarrow = importlib.util.find_spec("pyarrow")
    if pyarrow and pyarrow.origin:
        folders.append(str(Path(pyarrow.origin).parent))
    if before := os.environ.get("LD_LIBRARY_PATH"):
        folders.append(before)
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(folders)
    if (name == "tessera-train" or sys.argv[1:2] and sys.argv[1] in TRAINS) and release not in ("", TORCH):
        sys.exit(f"{name}: training needs torch {TORCH}, and this Python has torch {release}; the torch ops work with both\n"
                 f"HINT: pip install 'torch=={TORCH}.*'")
    program = package / "bin" / name
    if not program.is_file():
        sys.exit(f"{name}: {program} is not there\n"
                 "HINT: it comes with the wheel; in a checkout, run build/release/bin/" + name)
    os.execv(program, [name, *sys.argv[1:]])


def tessera() -> NoReturn:
    _become("tessera")


def tessera_train() -> NoReturn:
    _become("tessera-train")
