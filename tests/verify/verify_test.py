# tests/verify/verify_test.py - what `make verify-ptx` gives to the verifier and how it reads the answers.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The verifier does not run here: a program of this test replaces it."""
import json
import pathlib
import struct
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parent))
import redundant  # noqa: E402
import sentryward  # noqa: E402
import steps  # noqa: E402
import verify_ptx  # noqa: E402

PTX = """.visible .entry scale(
\t.param .u64 .ptr .global .align 16 scale_param_0,
\t.param .b32 scale_param_1,
\t.param .b16 scale_param_2
)
.reqntid 64
{
\tld.global.b32 \t%r1, [%rd1];
\tst.shared.b32 \t[%r2], %r1;
\tbar.sync \t0;
\tld.shared.b32 \t%r3, [%r4];
\tst.global.b32 \t[%rd1], %r3;
\tret;
}
"""
LAUNCH = dict(ptx=PTX, kernel="scale", grid=(5,), block=(64,), shared=256, values=[4096, -1, 0x1ffff], ranges=[("X", 4000, 200, 0)],
              contents=[bytes(200)], places={9: "x = tl.load(X) | st.shared | ld.shared"})


def row(result, kernel="scale", program="lists", seconds=1, **more):
    return dict(digest=f"{kernel}{result}{more}", program=program, kernel=kernel, result=result, codes=[], seconds=seconds, **more)


def test_reads_the_types_of_parameters():
    assert sentryward.parameters(PTX, "scale") == ["u64", "b32", "b16"]


def test_describes_a_launch():
    what = sentryward.description(LAUNCH)
    assert what["launch"] == dict(block_dim=[64, 1, 1], grid_dim=[2, 1, 1], dynamic_shared_bytes=256)
    # A pointer into a range stays symbolic; numbers are cut to the width of their parameter.
    assert what["arguments"] == [dict(parameter=1, type="u32", value=0xffffffff), dict(parameter=2, type="u16", value=0xffff)]


def test_a_null_pointer_stays_symbolic():
    what = sentryward.description(dict(LAUNCH, values=[0, -1, 1]))
    assert [argument["parameter"] for argument in what["arguments"]] == [1, 2]


def test_a_smaller_grid_keeps_the_number_of_programs():
    ptx = PTX.replace("\tbar.sync", "\tmov.u32 \t%r5, %nctaid.x;\n\tmov.u32 \t%r6, %nctaid.y;\n\tbar.sync")
    text = sentryward.text(dict(LAUNCH, ptx=ptx))
    assert "%r5, 5;" in text and "%r6, 1;" in text and "nctaid" not in text


def test_comments_and_locations_do_not_change_the_text():
    ptx = PTX.replace("\tbar.sync", "\t.loc\t1 7 5\n// scale.py:7: tl.debug_barrier()\n\tbar.sync") + "\t.file\t1 \"scale.py\"\n"
    assert sentryward.text(dict(LAUNCH, ptx=ptx)) == sentryward.text(LAUNCH) == PTX


def test_floats_keep_their_type():
    ptx = PTX.replace(".param .b32 scale_param_1", ".param .f32 scale_param_1")
    what = sentryward.description(dict(LAUNCH, ptx=ptx, values=[4096, 0x3fc00000, 1]))
    assert what["arguments"][0] == dict(parameter=1, type="f32", value=1.5)


def test_integers_that_are_read_have_their_values():
    launch = dict(LAUNCH, ranges=[("CU", 4088, 24, 0)], types=["i32"], contents=[struct.pack("<6i", 7, 7, 0, 33, -1, 38)])
    assert sentryward.description(launch)["shape_arrays"] == [dict(parameter=0, element_type="u32", shapes=[[0, 33, 2**32 - 1, 38]])]
    assert "shape_arrays" not in sentryward.description(dict(launch, types=["fp32"]))
    # A kernel writes what was never written before.
    assert "shape_arrays" not in sentryward.description(dict(launch, ranges=[("CU", 4088, 24, 2)]))


@pytest.mark.parametrize("answer, wanted", [
    ('echo \'{"result": "race_free", "diagnostics": []}\'', ("race_free", [], [])),
    ('echo \'{"result": "potential_race", "diagnostics": [{"code": "a", "message": "b"}]}\'', ("potential_race", ["a"], ["b"])),
    ("echo broken; exit 3", ("tool_failure", ["exit status 3"], [""])),
])
def test_reads_answers(tmp_path, monkeypatch, answer, wanted):
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    monkeypatch.setattr(sentryward.sys, "executable", str(program))
    assert sentryward.verify(PTX, sentryward.description(LAUNCH), 5) == wanted


def test_a_row_is_verified_once_and_faults_follow_what_is_proven():
    found = {"d": ("lists", LAUNCH, sentryward.description(LAUNCH))}
    assert [one[0] for one in verify_ptx.work(found, {}, found)] == ["d"]
    assert verify_ptx.work(found, {"d": row("race_free")}, {}) == []
    assert verify_ptx.work(found, {"d": row("unsupported")}, found) == []
    [(name, _, _, fault, ptx, _)] = verify_ptx.work(found, {"d": row("race_free")}, found)
    assert fault == dict(kind="barrier dropped", line=10, what="bar.sync", place=LAUNCH["places"][9]) and "bar.sync" not in ptx
    assert verify_ptx.work(found, {"d": row("race_free"), name: row("potential_race")}, found) == []


def test_what_must_be_proven_comes_first():
    found = {"short": ("lists", LAUNCH, {}), "required": ("forward", dict(LAUNCH, kernel="dense_fwd", ptx=PTX + PTX), {})}
    assert [one[0] for one in verify_ptx.work(found, {}, {})] == ["required", "short"]


def test_faults_come_before_other_launches():
    found = {"d": ("lists", dict(LAUNCH), "a"), "e": ("lists", dict(LAUNCH, ptx=".visible"), "b")}
    names = [one[0] for one in verify_ptx.work(found, {"d": row("race_free")}, {"d": found["d"]})]
    assert len(names) == 2 and names[0].startswith("d:") and names[1] == "e"


def chosen_of(tmp_path, monkeypatch, scores, rows):
    """The launch for faults of those named by the digests, with their scores and first programs."""
    ptx = PTX.replace("\tst.shared", "\tmov.u32 \t%r7, %ctaid.x;\n\tst.shared")
    found = {digest: ("lists", dict(LAUNCH, ptx=ptx, name=digest), dict(of=digest)) for digest in scores}
    monkeypatch.setattr(steps, "busiest", lambda launch: scores[launch["name"]])
    return verify_ptx.for_faults(found, rows, tmp_path)


def test_faults_of_the_launch_whose_programs_take_the_most_steps(tmp_path, monkeypatch):
    """Not of one that was verified slowly, and from the program on that takes the steps."""
    scores = dict(d=(3, [0, 0, 0]), e=(8, [3, 0, 0]), f=(9, [0, 0, 0]))
    rows = {digest: row("race_free", seconds=seconds) for digest, seconds in dict(d=2, e=1, f=verify_ptx.MOST + 1).items()}
    [(name, (_, launch, what))] = chosen_of(tmp_path, monkeypatch, scores, rows).items()
    assert what == dict(of="e") and "%r7, %ctaid.x; add.u32 %r7, %r7, 3;" in launch["ptx"]
    assert verify_ptx.digest_of(launch, what) == name
    # These programs cannot be verified: the next launch.
    [(_, (_, _, what))] = chosen_of(tmp_path, monkeypatch, scores, {**rows, name: row("timeout")}).items()
    assert what == dict(of="d")


def test_the_programs_that_are_verified_execute_most():
    """Two on each axis, which together execute most: lines 3 and 5 are in branches of different programs."""
    counts = {(x, 0, 0): {3: 1} if x < 3 else {5: 1} for x in range(6)}
    assert steps.best_window((6,), counts) == (2, [2, 0, 0])
    assert steps.best_window((6,), {**counts, (5, 0, 0): {5: 9}}) == (steps.ENOUGH, [4, 0, 0])
    assert steps.best_window((1,), {(0, 0, 0): {3: 2}}) == (2, [0, 0, 0])


@pytest.mark.parametrize("grid, program, first", [((5,), [0, 0, 0], [0, 0, 0]), ((5, 2), [3, 1, 0], [3, 0, 0]), ((5,), [4, 0, 0], [3, 0, 0]),
                                                  ((1, 7), [0, 6, 0], [0, 5, 0])])
def test_the_verified_programs_are_in_the_grid(grid, program, first):
    assert steps.first_program(grid, program) == first


LOCATED = PTX.replace("\tst.shared", "\t.loc\t1 12 7\n\tst.shared").replace(
    "b32 \t[%r2], %r1;\n", "b32 \t[%r2], %r1;\n\t.loc\t2 0 0, function_name $L__info_string0, inlined_at 1 12 3\n")
LOCATED += '\t.file\t1 "softmax.py"\n\t.file\t2 "no_such_file.py"\n'


def test_a_place_is_a_source_line_and_the_neighbours():
    line = (redundant.ROOT / "kernels" / "tutorials" / "softmax.py").read_text().splitlines()[11].strip()
    assert redundant.places(LOCATED) == {9: f"{line} | st.shared | ld.shared"}
    # Registers and the lines of the text do not matter.
    moved = LOCATED.replace("%r1", "%r77").replace("{\n", "{\n\tadd.u32 \t%r8, %r8, 1;\n")
    assert list(redundant.places(moved).values()) == list(redundant.places(LOCATED).values())


def accepted(number, place="a | b | c", digest="d", kernel="scale"):
    fault = dict(kind="barrier dropped", line=number, what="bar.sync", place=place)
    return dict(row("race_free", kernel, fault=fault), digest=f"{digest}:{number}:barrier dropped")


def test_an_accepted_fault_needs_a_reason(tmp_path):
    path = tmp_path / "redundant.jsonl"
    path.write_text(json.dumps(dict(kernel="scale", fault="barrier dropped", place="a | b | c", reason="no other thread reads it")) + "\n")
    allowed = redundant.reasons(path)
    assert redundant.unexplained([accepted(1), accepted(1, digest="e")], allowed) == []
    for other in (accepted(1, "a | b | d"), accepted(1, kernel="rope")):
        assert redundant.unexplained([accepted(1), other], allowed) == [other]
    # Two instructions of a text have the `place` of one that was examined.
    assert len(redundant.unexplained([accepted(1), accepted(2)], allowed)) == 2
    path.write_text(json.dumps(dict(kernel="scale", fault="barrier dropped", place="a | b | c")) + "\n")
    with pytest.raises(ValueError, match="redundant.jsonl:1: no reason"):
        redundant.reasons(path)


def test_reasons_are_of_lines_that_the_kernels_have():
    """A line that has changed is examined again."""
    lines = {redundant.without_comment(line) for path in (redundant.ROOT / "kernels").rglob("*.py") for line in path.read_text().splitlines()}
    assert {place.split(" | ")[0] for _, _, place in redundant.reasons()} <= lines


def test_a_reason_makes_the_report_pass(monkeypatch, capsys):
    monkeypatch.setattr(redundant, "reasons", lambda: {("scale", "barrier dropped", "a | b | c"): 1})
    assert verify_ptx.report([accepted(1)]) == 0
    assert verify_ptx.report([accepted(1), accepted(4, "x | y | z")]) == 1
    assert "accepted: lists: scale: barrier dropped at line 4: x | y | z" in capsys.readouterr().out


@pytest.mark.parametrize("rows, bad", [
    ([row("race_free")], 0),
    ([row("unsupported")], 0),
    ([row("timeout", "softmax")], 1),
    ([row("timeout", "window_bwd_dq")], 1),
    ([row("unsupported", program="nn")], 1),
    ([row("potential_race")], 1),
    ([row("not_wellsynced")], 1),
    ([row("race_free", fault=dict(kind="barrier dropped", line=1, what="bar.sync"))], 1),
    ([row("potential_race", fault=dict(kind="barrier dropped", line=1, what="bar.sync"))], 0),
])
def test_what_counts_as_a_failure(rows, bad):
    assert verify_ptx.report(rows) == bad


def test_the_table_counts_results(tmp_path):
    broken = row("potential_race", fault=dict(kind="barrier dropped", line=1, what="bar.sync"))
    verify_ptx.table([row("race_free", seconds=2), row("race_free", seconds=3), broken], tmp_path / "table.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "table.jsonl").read_text().splitlines()]
    digests = [line.pop("digests") for line in lines]
    assert lines == [dict(program="lists", kernel="scale", fault="", result="race_free", launches=2, seconds=5),
                     dict(program="lists", kernel="scale", fault="barrier dropped", result="potential_race", launches=1, seconds=1)]
    assert digests == [[row("race_free")["digest"]] * 2, [broken["digest"]]]


def test_a_run_continues_from_a_table(tmp_path):
    found = {digest: ("lists", LAUNCH, sentryward.description(LAUNCH)) for digest in "de"}
    rows = {"d": dict(row("race_free"), digest="d"), "e": dict(row("unsupported"), digest="e", codes=["branch: data"])}
    [(name, _, _, fault, *_)] = verify_ptx.work(found, rows, {"d": found["d"]})
    rows[name] = dict(row("race_free", fault=fault), digest=name)
    verify_ptx.table(rows.values(), tmp_path / "table.jsonl")
    known = verify_ptx.known_rows(tmp_path / "table.jsonl")
    assert verify_ptx.work(found, known, {"d": found["d"]}) == [] and verify_ptx.report(list(known.values())) == 1
    assert known[name]["fault"]["line"] == fault["line"] and known[name]["fault"]["place"] == fault["place"]
    assert len(verify_ptx.work({"new": found["d"]}, known, {})) == 1
    assert verify_ptx.known_rows(tmp_path / "missing.jsonl") == {}
    # The seconds of a line are those of all its launches; each gets the mean.
    verify_ptx.table([dict(row("race_free", seconds=number), digest=str(number)) for number in (2, 4)], tmp_path / "two.jsonl")
    assert [one["seconds"] for one in verify_ptx.known_rows(tmp_path / "two.jsonl").values()] == [3, 3]


@pytest.mark.parametrize("text", ['{"digest": "d"}', "rope: race_free", "[1]"])
def test_a_file_that_is_not_a_table_is_refused(tmp_path, text):
    path = tmp_path / "table.jsonl"
    path.write_text(text + "\n")
    with pytest.raises(SystemExit, match="table.jsonl:1: not a line of a table"):
        verify_ptx.known_rows(path)


def test_rows_are_kept_when_a_run_is_interrupted(tmp_path, monkeypatch):
    answers = iter([("race_free", [], [])])

    def answer(*_):
        try:
            return next(answers)
        except StopIteration:
            raise KeyboardInterrupt from None

    monkeypatch.setattr(sentryward, "verify", answer)
    what, rows, results = sentryward.description(LAUNCH), {}, tmp_path / "rows.jsonl"
    with pytest.raises(KeyboardInterrupt):
        verify_ptx.run([("a", "lists", "scale", None, PTX, what), ("b", "lists", "scale", None, PTX, what)], rows, results, 5, 0)
    assert list(rows) == ["a"] and len(results.read_text().splitlines()) == 1


@pytest.mark.parametrize("text", ['{"program": "nn", "kernel": "rope"}\n', "rope: race_free\n", "[1]\n"], ids=["table", "text", "list"])
def test_a_file_that_is_not_of_results_is_refused(tmp_path, text):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"digest": "a:1"}\n' + text)
    with pytest.raises(SystemExit, match="rows.jsonl:2: not a row of verify_ptx.py"):
        verify_ptx.rows_of(path)
