"""tests/scripts/prose_test.py - scripts/checks/prose.py finds phrases of its list in comments, messages and pages, and lowers its numbers.

SPDX-License-Identifier: Apache-2.0
"""
import pytest
from repository import load

prose = load("scripts/checks/prose.py")

BAD = {
    "is no": "A key that is no number.", "of who": "The address of who called.", "nobody": "Nobody reads it.", "somebody": "Somebody waits.",
    "has none": "A row has none.", "at hand": "The GPU at hand.", "made anew": "It is made anew.", "planted": "A fault is planted.",
    "lanes apart": "With lanes apart.", "by turns": "They run by turns.", "in place of": "Zeros in place of NaN.", "of today": "The Triton of today.",
    "own choice": "The kernel's own choice.", "peer": "The peer's time.", "bar": "Rows below their bar.",
    "the Python system": "As in the Python system.", "had not": "A file that the folder has not."}
GOOD = ["A kernel is no longer loaded.", "The GPU has not answered yet.", "It had not been compiled.", "Copies from peer to peer.", "Peer access of two GPUs.",
        "The progress bar ends.", "A bar chart.", "bar.sync 0 waits for all threads.", "See bench/peers/nsa.py.", "The field `peer` of a row."]


def phrases(path, text):
    return [name for _, name in prose.places(path, text, prose.HARD_PATTERNS)]


@pytest.mark.parametrize("name", prose.HARD)
def test_each_phrase(name):
    assert phrases("a.md", "Text.\n\n%s\n" % BAD[name]) == [name]
    assert phrases("a.cpp", "// %s\nint a;\n" % BAD[name]) == [name]
    assert phrases("a.py", 'raise Error("%s")\n' % BAD[name]) == [name]


@pytest.mark.parametrize("text", GOOD)
def test_other_uses(text):
    assert phrases("a.md", text + "\n") == phrases("a.cpp", "// " + text + "\n") == []


class TestBlocks:
    def lines(self, path, text):
        return [line for line, _ in prose.places(path, text, prose.HARD_PATTERNS)]

    def test_a_phrase_over_the_end_of_a_line(self):
        assert self.lines("a.h", "int a;\n/// A file that is\n/// no pack.\n") == [2]
        assert self.lines("a.cpp", 'f("first "\n  "in place "\n  "of it");\n') == [2]
        assert self.lines("a.py", '"""One line.\n\nNow nobody\nreads."""\n') == [3]
        assert self.lines("a.md", "# T\n\nThe choice at\nhand.\n") == [3]

    def test_two_comments_are_not_one_sentence(self):
        assert self.lines("a.cpp", "// what it is\nint a;\n// no number\n") == []

    def test_code_is_not_prose(self):
        assert self.lines("a.cpp", 'int nobody = peer + bar;\nf("nobody", 10\'000, \'"\');\n') == []
        assert self.lines("a.py", 'row["peer"] = nobody\n') == []
        assert self.lines("a.md", "    nobody --peer\n\n```\nnobody\n```\n[a](nobody.md) `nobody` <!-- nobody -->\n") == []

    def test_comments_of_other_files(self):
        assert self.lines("CMakeLists.txt", "add(a)\n# Nobody adds b.\n") == [2]
        assert self.lines("run", "#!/usr/bin/env bash\n# run - for somebody.\necho \"nobody is here\"\n") == [2, 3]
        assert self.lines("a.mlir", "// Nobody reads it.\n") == [1]
        assert self.lines("a.td", 'let description = [{\n  A tile that\n  nobody reads.\n}];\n') == [3]
        assert self.lines("a.md", "```\nrun   # for nobody\n```\n") == [2]
        assert self.lines("a.json", '{"a": "nobody is here"}') == []


def test_exceptions():
    allowed = prose.exceptions("# a comment\na.cpp\treads it\ta reason\n")
    assert prose.refused("a.cpp", "// Nobody reads it.\n// Nobody writes.\n", allowed["a.cpp"]) == ([(2, "nobody")], [])
    assert prose.refused("a.cpp", "// Every thread reads it.\n", allowed["a.cpp"]) == ([], ["reads it"])


def test_numbers_are_lowered_and_never_raised():
    text = "# head\na 3\nb 2\nc 1\n"
    assert prose.lowered(text, {"a": 2, "b": 5}) == "# head\na 2\nb 2\n"
    assert prose.counts_of(text) == {"a": 3, "b": 2, "c": 1}


def test_the_first_line_of_a_file():
    for good in ("# a/b.py - what it contains.\n", "#!/usr/bin/env bash\n# b [--fix] - what it does\n", '"""Checks a thing."""\n', ""):
        assert prose.purpose_problems("a/b.py", good) == []
    for bad in ("import os\n", "# a/b.py\n", "# Copyright the tessera authors.\n", '"""\nChecks."""\n', "#!/usr/bin/env bash\nset -e\n"):
        assert len(prose.purpose_problems("a/b.py", bad)) == 1, bad


class TestCheck:
    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch, capsys):
        for name in ("COUNTS", "EXCEPTIONS"):
            (tmp_path / name).write_text("")
            monkeypatch.setattr(prose, name, tmp_path / name)
        self.files = [("a/x.md", "Nobody.\n"), ("a/y.md", "Nobody.\n"), ("b/z.cpp", "// Every thread.\n"), (prose.OWN[0], "# nobody")]
        monkeypatch.setattr(prose, "tracked", lambda below: self.files)
        self.counts, self.capsys = tmp_path / "COUNTS", capsys

    def check(self, *arguments):
        status = prose.main(list(arguments))
        return status, self.capsys.readouterr().out

    def test_a_folder_above_its_number(self):
        self.counts.write_text("a 1\n")
        status, printed = self.check()
        assert status == 1
        assert "a/x.md:1: nobody" in printed and "a: 2 phrases that readers do not understand, at most 1" in printed
        assert self.check("--fix")[0] == 1
        assert self.counts.read_text() == "a 1\n"

    def test_a_folder_at_or_below_its_number(self):
        self.counts.write_text("a 3\n")
        assert self.check() == (0, "")
        assert self.check("--fix") == (0, "")
        assert self.counts.read_text() == "a 2\n"

    def test_an_exception_that_allows_nothing(self):
        self.counts.write_text("a 2\n")
        prose.EXCEPTIONS.write_text("b/z.cpp\tthread\ta reason\n")
        status, printed = self.check()
        assert status == 1
        assert "allows `thread` in b/z.cpp, where it allows nothing" in printed

    def test_lists_and_soft_counts(self):
        assert self.check("--list") == (0, "a/x.md:1: nobody\na/y.md:1: nobody\n")
        self.files = [("a/x.md", "It lies beside. One stands beside.\n")]
        printed = self.check("--soft")[1]
        assert "beside         2  a 2\n" in printed and "all            4" in printed
