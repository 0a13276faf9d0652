"""tests/helpers/run_tessera.py - runs the program `tessera`. SPDX-License-Identifier: Apache-2.0"""
import subprocess

from repository import PROGRAM


def tessera(*arguments, cwd=None):
    """Runs `tessera` with these arguments and returns the finished process. Its stdout includes standard error."""
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd, check=False)
