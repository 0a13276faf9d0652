# tests/verify/record_launches.py - launches of our own PTX of kernels/, recorded on the simulator.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""record() runs programs of tests/simulator with SIM_RECORD, which write each launch to a file (simulator.record)."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ["forward compiler=tessera precision=tf32 1", "backward compiler=tessera precision=tf32 1", "nn compiler=tessera",
            "lists compiler=tessera", "chunks compiler=tessera precision=ieee", "parts compiler=tessera precision=ieee",
            "decode compiler=tessera precision=ieee", "one_sweep compiler=tessera precision=ieee",
            "gated compiler=tessera precision=ieee 2 6", "inverse compiler=tessera precision=ieee"]


def build():
    """What the launches depend on: the commit and the compiler's program."""
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True)
    return f"{done.stdout.strip()} {os.stat(os.environ['PROGRAM']).st_mtime}"


def record(folder, only):
    """[(program, files)]. A program that ran at this commit with this build does not run again."""
    recorded, now = [], build()
    for program in PROGRAMS:
        name = program.split()[0]
        if only not in name:
            continue
        target = folder / re.sub(r"[^\w]+", "_", program)
        complete = target / "complete"
        if not complete.exists() or complete.read_text() != now:
            target.mkdir(parents=True, exist_ok=True)
            for old in target.glob("*.pickle"):
                old.unlink()
            print(f"recording the launches of {name}", flush=True)
            done = subprocess.run([sys.executable, ROOT / "tests" / "simulator" / "kernels_test.py", *program.split()], capture_output=True,
                                  text=True, env=dict(os.environ, SIM_RECORD=str(target)))
            if done.returncode:
                sys.exit(f"{program} fails with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
            complete.write_text(now)
        recorded.append((name, sorted(target.glob("*.pickle"))))
    return recorded
