"""tests/scripts/help_test.py - every program of scripts/ answers --help with what it does, and does nothing.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def fault(program):
    """What is wrong with the program's answer to --help, or None."""
    # Without PATH beyond the basic tools: a script that starts to work in place of an answer finds no compiler.
    told = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/bin:/bin", "TESSERA_DEPS": "/nonexistent", "HOME": "/nonexistent"})
    if told.returncode:
        return f"ends with {told.returncode}: {(told.stderr or told.stdout).strip()[-300:]}"
    if f"scripts/{program.name}" not in told.stdout:
        return f"does not show how it is called: {told.stdout[:200]!r}"
    if "SPDX" in told.stdout:
        return "prints its licence line"
    return told.stderr and f"writes to stderr: {told.stderr[:200]}"


def main():
    programs = sorted(path for path in SCRIPTS.iterdir() if path.is_file() and os.access(path, os.X_OK))
    assert len(programs) >= 12, programs
    faults = [(program.name, found) for program in programs if (found := fault(program))]
    for name, found in faults:
        print(f"scripts/{name} --help {found}")
    print(f"{len(programs) - len(faults)} of {len(programs)} explain themselves")
    sys.exit(bool(faults))


main()
