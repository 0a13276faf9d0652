# tests/package/docs_test.py - the examples of docs/python.md run, one after the other; README's example too.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from repository import ROOT


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.M | re.S)


def run_text(text):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "example.py")
        program.write_text(text)
        # Without the lines of progress that a busy machine prints after two seconds.
        done = subprocess.run([sys.executable, str(program)], env={**os.environ, "TESSERA_LOG": "warning"}, text=True,
                              capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_examples():
    examples = blocks("docs/python.md")
    assert len(examples) >= 3
    assert "BLOCK: " in run_text("\n".join(examples))


def test_readme():
    [example] = blocks("README.md")
    assert run_text(example) == "True\n"
