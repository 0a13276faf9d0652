"""The console scripts of an installed package: they become the programs in
bin/, which find their libraries in lib/ and in torch.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import NoReturn


def _become(name: str) -> NoReturn:
    package = Path(__file__).resolve().parent
    folders = [str(package / "lib")]
    torch = importlib.util.find_spec("torch")
    if torch and torch.origin:
        folders.append(str(Path(torch.origin).parent / "lib"))
    # For tessera-parquet, which `tessera data` starts.
    pyarrow = importlib.util.find_spec("pyarrow")
    if pyarrow and pyarrow.origin:
        folders.append(str(Path(pyarrow.origin).parent))
    if before := os.environ.get("LD_LIBRARY_PATH"):
        folders.append(before)
    os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(folders)
    program = package / "bin" / name
    if not program.is_file():
        sys.exit(f"{name}: {program} is not there\n"
                 "HINT: it comes with the wheel; in a checkout, run build/release/bin/" + name)
    os.execv(program, [name, *sys.argv[1:]])


def tessera() -> NoReturn:
    _become("tessera")


def tessera_train() -> NoReturn:
    _become("tessera-train")
