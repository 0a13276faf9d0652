# tests/mutants/together_test.py - which mutants together.py injects, and how it reads ctest's output.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

import pytest
from repository import load

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))  # together.py imports its neighbours
together = load("tests/mutants/together.py")


def row(draw, verdict, line=2, after="  return b;", **more):
    return dict(seed=1, component="c", draw=draw, verdict=verdict, commit="abc", file="a.cpp", line=line, before="  return a;", after=after, **more)


def test_survivors():
    rows = [row(0, "survived"), row(1, "killed"), row(2, "survived"), row(3, "invalid"), row(2, "killed", again="abc")]
    assert [e["draw"] for e in together.survivors(rows, "")] == [0], "a later line counts"
    assert [e["draw"] for e in together.survivors(rows, "c:2")] == [2]
    assert together.survivors(rows, "none") == []
    with pytest.raises(SystemExit, match="no mutant c:9; names are like c:0"):
        together.survivors(rows, "c:9")
    with pytest.raises(SystemExit, match="no mutants"):
        together.survivors([], "c:0")


def test_all_mutants_of_a_file_are_injected(tmp_path):
    text = "// a.cpp - adds.\n  return a;\n  return a;\n}\n"
    (tmp_path / "a.cpp").write_text(text)
    together.inject(tmp_path, [row(0, "survived"), row(1, "survived", line=3, after="  return c;")])
    lines = (tmp_path / "a.cpp").read_text().split("\n")
    assert lines[0].startswith("_Pragma(") and lines[1:] == ["  return b;", "  return c;", "}", ""]
    (tmp_path / "a.cpp").write_text(text)
    with pytest.raises(SystemExit, match="a.cpp:2: not the line of the mutant"):
        together.inject(tmp_path, [row(0, "survived"), row(1, "survived")])
    assert (tmp_path / "a.cpp").read_text() == text, "an error changes no file"


def test_python_keeps_its_first_line(tmp_path):
    (tmp_path / "a.py").write_text("# a.py - adds.\n  return a;\n")
    together.inject(tmp_path, [dict(row(0, "survived"), file="a.py")])
    assert (tmp_path / "a.py").read_text() == "# a.py - adds.\n  return b;\n"


def test_failed_tests():
    assert together.failed(" 2/9 Test  #7: lit ....***Failed  3 sec\n 3/9 Test #12: fuzz_ptx ...   Passed 1 sec\n"
                           " 4/9 Test #3: cases ....***Timeout 9 sec\n") == ["cases", "lit"]


@pytest.mark.parametrize("arguments", [[], ["results=a"], ["results=a", "commit=b", "only=c:1"], ["results=a", "commit=b", "no=1"], ["lit"]])
def test_wrong_arguments(arguments):
    with pytest.raises(SystemExit, match="^together.py results="):
        together.settings_of(arguments)
