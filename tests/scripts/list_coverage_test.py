# tests/scripts/list_coverage_test.py - scripts/list-coverage: what it counts as a kernel, found and missed files.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A program that replaces tessera lists the kernels that a table has for each file."""
import json
import subprocess
import sys

from repository import ROOT

SCRIPT = ROOT / "scripts/list-coverage"
FILES = {
    "spelled.py": "import triton as t\nfrom triton import jit as j\n@t.jit\ndef a(): pass\n@other\n@j(debug=True)\ndef b(): pass\n",
    "foreign.py": "import numba\nfrom triton.experimental import gluon\n@numba.jit\ndef a(): pass\n@gluon.jit\ndef b(): pass\n",
    "nested.py": "from .compat import triton\ndef f():\n    @triton.jit\n    def c(): pass\n",
    "missed.py": "import triton\n@triton.jit\ndef d(): pass\n@triton.jit\ndef e(): pass\n",
    "extra.py": "import triton\n@triton.jit\ndef g(): pass\n",
    "refused.py": "import triton\n@triton.jit\ndef h(): pass\n",
    "broken.py": "import triton\n@triton.jit\ndef i(:\n",
}
LISTED = {
    "spelled.py": "a()\n  --instance one\nb(x, y: constexpr)\n",
    "nested.py": "c()\n  unsupported: nested.py:4: `c` is defined inside a function or class\n",
    "missed.py": "d()\n", "extra.py": "g()\nz()\n", "refused.py": None,
}


def test_counts_and_reasons(tmp_path):
    (tmp_path / "project").mkdir()
    for file, text in FILES.items():
        (tmp_path / "project" / file).write_text(text)
    program = tmp_path / "tessera"
    program.write_text(f"#!{sys.executable}\nimport os, sys\nassert sys.argv[1] == 'compile' and sys.argv[3] == '--list'\n"
                       f"text = {LISTED!r}[os.path.basename(sys.argv[2])]\n"
                       "if text is None:\n    sys.exit(sys.argv[2] + ':7: error: no reason')\nprint(text, end='')\n")
    program.chmod(0o755)
    out = tmp_path / "out.json"

    def run(*more):
        return subprocess.run([str(SCRIPT), "--tessera", str(program), "--json", str(out), *more, f"mine={tmp_path / 'project'}"],
                              capture_output=True, text=True)

    result = run()
    assert result.returncode == 1, result
    assert "mine: 2 of 5 files (40.0%), 5 of 7 kernels, 1 unsupported, 0 with an error" in result.stdout, result.stdout
    project = json.loads(out.read_text())["projects"][0]
    assert project["not_python"] == 1
    assert {m["file"]: m["reason"] for m in project["missed"]} == {
        "missed.py": "missing ['e'], too much []", "extra.py": "missing [], too much ['z']",
        "refused.py": "refused.py:7: error: no reason"}, project
    assert run("--least", "40").returncode == 0
    assert subprocess.run([str(SCRIPT), "--tessera", str(program), str(tmp_path / "nowhere")], capture_output=True).returncode == 1
