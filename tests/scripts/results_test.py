"""tests/scripts/results_test.py - scripts/results in a small repository of its own: what makes a result stale, and what pages must say.

SPDX-License-Identifier: Apache-2.0
"""
import json
import shutil
import subprocess
import sys

import pytest
from repository import ROOT

KERNEL = '''"""A kernel file."""
# tessera: cpu(B=64)
def kernel(x):
    """Doubles x."""
    return 2 * x  # exact
'''
SOURCE = '// Adds.\n#include <cstdio>\nint add(int a, int b) { return a + b; }\nconst char *url = "a//b";\n'


class TestResults:
    @pytest.fixture(autouse=True)
    def repository(self, tmp_path):
        self.root = tmp_path
        for name in ("scripts", "bench/results", "code", "docs"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(ROOT / "scripts" / "results", self.root / "scripts" / "results")
        self.write("code/kernel.py", KERNEL)
        self.write("code/add.cpp", SOURCE)
        self.write("bench/results/times.json", "{}\n")
        self.write("docs/page.md", "# Page\n\nTimes are [here](../bench/results/times.json).\n")
        self.write("README.md", "# Project\n\nText.\n")
        entry = {"command": "measure", "sources": ["all"], "commit": None, "code": None}
        self.write("bench/results/sources.json", json.dumps({"sets": {"all": ["code"]}, "results": {"times.json": entry}}))
        self.git("init", "-q")
        self.commit()
        assert self.results("record", "bench/results/times.json")[0] == 0
        self.commit()

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")

    def git(self, *arguments):
        subprocess.run(["git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t", *arguments], check=True, capture_output=True)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change")

    def results(self, *arguments):
        done = subprocess.run([sys.executable, self.root / "scripts" / "results", *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_a_recorded_result_is_current(self):
        assert self.results("check") == (0, "")
        assert self.results("docs") == (0, "")

    def test_comments_layout_and_names_of_files_change_nothing(self):
        self.write("code/kernel.py", KERNEL.replace("Doubles x", "Returns twice x").replace("  # exact", "").replace("A kernel", "One kernel"))
        self.write("code/add.cpp", SOURCE.replace("// Adds.", "/* Sums\n two. */").replace("<cstdio>", "<string>").replace("{ return", "{\n  return"))
        self.git("mv", "code/add.cpp", "code/sum.cpp")
        assert self.results("check") == (0, "")

    def test_code_makes_a_result_stale(self):
        for name, text, before, after in (("code/add.cpp", SOURCE, "a + b", "a - b"), ("code/add.cpp", SOURCE, "a//b", "a//c"),
                                          ("code/kernel.py", KERNEL, "2 * x", "3 * x"), ("code/kernel.py", KERNEL, "cpu(B=64)", "cpu(B=32)")):
            self.write(name, text.replace(before, after))
            code, output = self.results("check")
            assert code == 0
            assert "times.json: the code of all changed" in output, after
            self.write(name, text)
        assert self.results("check") == (0, "")

    def test_pages_list_the_stale_results_that_they_link(self):
        self.write("code/add.cpp", SOURCE.replace("a + b", "a - b"))
        code, output = self.results("docs")
        assert code == 1
        assert "docs/page.md" in output
        assert "README.md" not in output
        assert self.results("docs", "--fix")[0] == 0
        page = (self.root / "docs/page.md").read_text(encoding="utf-8")
        assert "`times.json`" in page
        assert self.results("docs") == (0, "")
        self.write("code/add.cpp", SOURCE)
        assert self.results("docs")[0] == 1
        assert self.results("docs", "--fix")[0] == 0
        assert "times.json`" not in (self.root / "docs/page.md").read_text(encoding="utf-8")

    def test_record_refuses_uncommitted_sources(self):
        self.write("code/add.cpp", SOURCE.replace("a + b", "a - b"))
        code, output = self.results("record", "bench/results/times.json")
        assert code == 1
        assert "code/add.cpp has uncommitted changes" in output

    def test_every_result_is_recorded(self):
        self.write("bench/results/new.json", "{}")
        self.git("add", "-A")
        code, output = self.results("check")
        assert code == 1
        assert "bench/results/new.json is not in sources.json" in output
        self.git("rm", "-q", "-f", "bench/results/new.json", "bench/results/times.json")
        assert "names times.json, which does not exist" in self.results("check")[1]
