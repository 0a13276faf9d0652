# tests/gpucheck/record_test.py - tools/gpucheck/record.py finds a launch for every kernel: its smallest instances.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

with tempfile.TemporaryDirectory() as folder:
    done = subprocess.run([sys.executable, ROOT / "tools/gpucheck/record.py", "--smallest", "--out", folder], capture_output=True, text=True)
    if done.returncode == 77:
        print(done.stdout, done.stderr)
        sys.exit(77)
    assert done.returncode == 0, done.stdout + done.stderr
    cases = {path.parent.name: json.loads(path.read_text()) for path in pathlib.Path(folder).glob("*/case.json")}
    # Of every file of kernels/nsa with an instance named quick there is a case.
    for path in sorted((ROOT / "kernels/nsa").glob("*.py")):
        for line in path.read_text().splitlines():
            if line.startswith("# tessera: instance ") and "quick" in line:
                name = line.split()[3].split("(")[0]
                assert name in cases, name
print("record_test: %d cases" % len(cases))
