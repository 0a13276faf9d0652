# tests/gpucheck/record_test.py - tools/gpucheck/record.py finds a launch for every kernel: its smallest instances.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys

from repository import ROOT


def test_smallest_instances(tmp_path):
    done = subprocess.run([sys.executable, ROOT / "tools/gpucheck/record.py", "--smallest", "--out", tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = {path.parent.name: json.loads(path.read_text()) for path in tmp_path.glob("*/case.json")}
    # Of every file of kernels/nsa with an instance named quick there is a case.
    for path in sorted((ROOT / "kernels/nsa").glob("*.py")):
        for line in path.read_text().splitlines():
            if line.startswith("# tessera: instance ") and "quick" in line:
                assert line.split()[3].split("(")[0] in cases
