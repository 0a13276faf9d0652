"""tests/scripts/help_test.py - every program of scripts/ answers --help with what it does, and does nothing.

SPDX-License-Identifier: Apache-2.0
"""
import os
import subprocess

import pytest
from repository import ROOT

PROGRAMS = sorted(path for path in (ROOT / "scripts").iterdir() if path.is_file() and os.access(path, os.X_OK))


def fault(program):
    """What is wrong with the program's answer to --help, or None."""
    # Without PATH beyond the basic tools: a script that starts to work instead of answering finds no compiler.
    told = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          env={"PATH": "/usr/bin:/bin", "TESSERA_DEPS": "/nonexistent", "HOME": "/nonexistent"})
    if told.returncode:
        return f"ends with {told.returncode}: {(told.stderr or told.stdout).strip()[-300:]}"
    if f"scripts/{program.name}" not in told.stdout:
        return f"does not show how it is called: {told.stdout[:200]!r}"
    if "SPDX" in told.stdout:
        return "prints its licence line"
    return told.stderr and f"writes to stderr: {told.stderr[:200]}"


def test_programs_are_found():
    assert len(PROGRAMS) >= 12, PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_help(program):
    assert not fault(program)
