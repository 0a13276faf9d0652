#!/usr/bin/env python3
"""scripts/results in a small repository of its own: what makes a result stale, and what pages must say.

SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = '''"""A kernel file."""
# tessera: cpu(B=64)
def kernel(x):
    """Doubles x."""
    return 2 * x  # exact
'''
SOURCE = '// Adds.\n#include <cstdio>\nint add(int a, int b) { return a + b; }\nconst char *url = "a//b";\n'


class Results(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
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
        self.assertEqual(self.results("record", "bench/results/times.json")[0], 0)
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
        self.assertEqual(self.results("check"), (0, ""))
        self.assertEqual(self.results("docs"), (0, ""))

    def test_comments_layout_and_names_of_files_change_nothing(self):
        self.write("code/kernel.py", KERNEL.replace("Doubles x", "Returns twice x").replace("  # exact", "").replace("A kernel", "One kernel"))
        self.write("code/add.cpp", SOURCE.replace("// Adds.", "/* Sums\n two. */").replace("<cstdio>", "<string>").replace("{ return", "{\n  return"))
        self.git("mv", "code/add.cpp", "code/sum.cpp")
        self.assertEqual(self.results("check"), (0, ""))

    def test_code_makes_a_result_stale(self):
        for name, text, before, after in (("code/add.cpp", SOURCE, "a + b", "a - b"), ("code/add.cpp", SOURCE, "a//b", "a//c"),
                                          ("code/kernel.py", KERNEL, "2 * x", "3 * x"), ("code/kernel.py", KERNEL, "cpu(B=64)", "cpu(B=32)")):
            self.write(name, text.replace(before, after))
            code, output = self.results("check")
            self.assertEqual(code, 0)
            self.assertIn("times.json: the code of all changed", output, after)
            self.write(name, text)
        self.assertEqual(self.results("check"), (0, ""))

    def test_pages_list_the_stale_results_that_they_link(self):
        self.write("code/add.cpp", SOURCE.replace("a + b", "a - b"))
        code, output = self.results("docs")
        self.assertEqual(code, 1)
        self.assertIn("docs/page.md", output)
        self.assertNotIn("README.md", output)
        self.assertEqual(self.results("docs", "--fix")[0], 0)
        page = (self.root / "docs/page.md").read_text(encoding="utf-8")
        self.assertIn("`times.json`", page)
        self.assertEqual(self.results("docs"), (0, ""))
        self.write("code/add.cpp", SOURCE)
        self.assertEqual(self.results("docs")[0], 1)
        self.assertEqual(self.results("docs", "--fix")[0], 0)
        self.assertNotIn("times.json`", (self.root / "docs/page.md").read_text(encoding="utf-8"))

    def test_record_refuses_uncommitted_sources(self):
        self.write("code/add.cpp", SOURCE.replace("a + b", "a - b"))
        code, output = self.results("record", "bench/results/times.json")
        self.assertEqual(code, 1)
        self.assertIn("code/add.cpp has uncommitted changes", output)

    def test_every_result_is_recorded(self):
        self.write("bench/results/new.json", "{}")
        self.git("add", "-A")
        code, output = self.results("check")
        self.assertEqual(code, 1)
        self.assertIn("bench/results/new.json is not in sources.json", output)
        self.git("rm", "-q", "-f", "bench/results/new.json", "bench/results/times.json")
        self.assertIn("names times.json, which does not exist", self.results("check")[1])


if __name__ == "__main__":
    unittest.main()
