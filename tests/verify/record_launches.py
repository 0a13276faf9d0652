# tests/verify/record_launches.py - launches of our own PTX of kernels/, recorded on the simulator.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""record() runs the programs of tests/simulator/programs.py with SIM_RECORD, which write each launch to a file (simulator.record)."""
import os
import pathlib
import re
import subprocess
import sys

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / folder) for folder in ("helpers", "simulator")]

from programs import OURS, run  # noqa: E402
from repository import PROGRAM, ROOT  # noqa: E402


def build():
    """What the launches depend on: the commit and the compiler's program."""
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True)
    return f"{done.stdout.strip()} {os.stat(PROGRAM).st_mtime}"


def record(folder, only):
    """[(kernels of the program, files)]. A program that ran at this commit with this build does not run again."""
    recorded, now = [], build()
    for program in OURS:
        name = program.name.split()[1]
        if only not in name:
            continue
        target = folder / re.sub(r"[^\w]+", "_", program.name)
        complete = target / "complete"
        if not complete.exists() or complete.read_text() != now:
            target.mkdir(parents=True, exist_ok=True)
            for old in target.glob("*.pickle"):
                old.unlink()
            print(f"recording the launches of {name}", flush=True)
            run(program, SIM_RECORD=str(target))
            complete.write_text(now)
        recorded.append((name, sorted(target.glob("*.pickle"))))
    return recorded
