"""scripts/results in a small repository: what makes a result stale, what pages must say, how results are made.

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


class Repository(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("bench/results", "code", "docs"):
            (self.root / name).mkdir(parents=True)
        shutil.copytree(ROOT / "scripts" / "lib", self.root / "scripts" / "lib", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "scripts" / "results", self.root / "scripts" / "results")
        self.write(".gitignore", "/build/\n")
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

    def entries(self, changes):
        path = "bench/results/sources.json"
        record = json.loads((self.root / path).read_text(encoding="utf-8"))
        for name, fields in changes.items():
            record["results"].setdefault(name, {}).update(fields)
        self.write(path, json.dumps(record))

    def results(self, *arguments):
        done = subprocess.run([sys.executable, self.root / "scripts" / "results", *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


class Results(Repository):
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

    def test_readme_has_no_list_and_links_what_the_page_of_results_links(self):
        self.write("code/add.cpp", SOURCE.replace("a + b", "a - b"))
        self.write("README.md", "# Project\n\nTimes are [here](bench/results/times.json).\n")
        code, output = self.results("docs", "--fix")
        self.assertEqual(code, 1)
        self.assertIn("README.md links times.json, which docs/results.md does not link", output)
        self.write("docs/results.md", "# Results\n\nTimes are [here](../bench/results/times.json).\n")
        self.git("add", "-A")
        self.assertEqual(self.results("docs", "--fix"), (0, ""))
        self.assertNotIn("make results-check", (self.root / "README.md").read_text(encoding="utf-8"))
        self.assertIn("`times.json`", (self.root / "docs/results.md").read_text(encoding="utf-8"))

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

    def test_every_result_is_cited(self):
        self.write("docs/page.md", "# Page\n\nNothing.\n")
        code, output = self.results("check")
        self.assertEqual(code, 1)
        self.assertIn("bench/results/times.json is cited by no page", output)

    def test_results_are_compact(self):
        rows = [{"kernel": "a", "ms": [1.5, 2.0], "unread": 3}, {"kernel": "b", "ms": [1e-05, 7], "unread": {"x": 4}}]
        self.write("bench/results/times.json", json.dumps({"commit": "c", "rows": rows}, indent=1))
        self.entries({"times.json": {"omit": ["rows.unread"]}})
        code, output = self.results("check")
        self.assertEqual(code, 1)
        self.assertIn("bench/results/times.json is not compact: run scripts/results compact", output)
        self.assertEqual(self.results("compact")[0], 0)
        self.assertEqual((self.root / "bench/results/times.json").read_text(encoding="utf-8"), """{
 "commit": "c",
 "rows": [
  {"kernel": "a", "ms": [1.5, 2.0]},
  {"kernel": "b", "ms": [1e-05, 7]}
 ]
}
""")
        self.assertEqual(self.results("compact"), (0, ""))
        self.assertEqual(self.results("check"), (0, ""))


class Make(Repository):
    """scripts/results make with commands that only write numbers."""

    def setUp(self):
        super().setUp()
        self.write("docs/page.md", "# Page\n\nbench/results/times.json bench/results/sums.json bench/results/hand.json\n")
        for name in ("sums.json", "hand.json"):
            self.write("bench/results/" + name, "{}\n")
        entry = {"sources": ["all"], "commit": None, "code": None}
        # sums.json is made of times.json: its name is first in the alphabet, and it runs last.
        self.entries({"times.json": {"command": "echo run >> ran; echo '{\"ms\": 2}' > {out}", "code": None, "minutes": 90},
                      "sums.json": dict(entry, command="echo sum >> ran; cp {times.json} {stem}.json", after=["times.json"]),
                      "hand.json": dict(entry, command="measure", by_hand="a person adds the numbers")})
        self.write(".gitignore", "/build/\n/ran\n")
        self.commit()

    def ran(self):
        path = self.root / "ran"
        return path.read_text(encoding="utf-8").split() if path.exists() else []

    def result(self, name):
        return json.loads((self.root / "bench/results" / name).read_text(encoding="utf-8"))

    def test_the_list_runs_nothing(self):
        code, output = self.results("make", "--list")
        self.assertEqual((code, self.ran()), (0, []))
        self.assertIn("times.json: stale (about 90 min)\n    echo run", output)
        self.assertIn("hand.json: by hand: a person adds the numbers (time unknown)", output)
        self.assertIn("about 90 min left and 1 of unknown time", output)
        self.assertLess(output.index("times.json: "), output.index("sums.json: "))

    def test_stale_results_are_made_in_order_and_recorded(self):
        code, output = self.results("make")
        self.assertEqual((code, self.ran()), (0, ["run", "sum"]), output)
        self.assertIn("[1/2, about 90 min left and 1 of unknown time] times.json (about 90 min): echo run", output)
        self.assertIn("hand.json is stale; by hand: a person adds the numbers", output)
        self.assertEqual((self.result("times.json"), self.result("sums.json"), self.result("hand.json")), ({"ms": 2}, {"ms": 2}, {}))
        entry = self.result("sources.json")["results"]["times.json"]
        self.assertEqual(len(entry["code"]), 16)
        self.assertLess(entry["minutes"], 1)
        self.commit()
        self.assertEqual(self.results("make")[0], 0)
        self.assertEqual(self.ran(), ["run", "sum"])

    def test_one_result(self):
        self.assertEqual(self.results("make", "bench/results/times.json")[0], 0)
        self.assertEqual(self.ran(), ["run"])
        self.assertIn("has no other.json", self.results("make", "other.json")[1])

    def test_a_later_call_continues(self):
        self.entries({"sums.json": {"command": "test -f ready && cp {times.json} {out}"}})
        self.write(".gitignore", "/build/\n/ran\n/ready\n")
        self.commit()
        code, output = self.results("make", "sums.json", "times.json")
        self.assertEqual(code, 1)
        self.assertIn("sums.json: its command ended with 1: see build/results/", output)
        self.commit()
        self.write("ready", "")
        self.assertEqual(self.results("make")[0], 0)
        self.assertEqual(self.ran(), ["run"])
        self.assertEqual(self.result("sums.json"), {"ms": 2})

    def test_a_status_may_mean_a_missed_target(self):
        self.entries({"times.json": {"command": "echo '{}' > {out}; exit 1"}})
        self.commit()
        code, output = self.results("make")
        self.assertEqual(code, 1)
        self.assertIn("sums.json: it reads times.json", output)
        self.entries({"times.json": {"statuses": [1]}})
        self.commit()
        self.assertEqual(self.results("make", "times.json")[0], 0)

    def test_an_uncommitted_change_is_refused(self):
        self.write("docs/page.md", "# Page\n")
        code, output = self.results("make")
        self.assertEqual((code, self.ran()), (1, []))
        self.assertIn("the tree has uncommitted changes (docs/page.md): commit them first", output)


if __name__ == "__main__":
    unittest.main()
