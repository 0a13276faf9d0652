# tests/verify/verify_test.py - what `make verify-ptx` gives to the verifier and how it reads the answers.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The verifier does not run here: a program of this test takes its place."""
import json
import pathlib
import struct
import sys

import pytest

sys.path.append(str(pathlib.Path(__file__).parent))
import sentryward  # noqa: E402
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
              contents=[bytes(200)])


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


def test_comments_and_places_do_not_change_the_text():
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
    assert [one[0] for one in verify_ptx.work(found, {}, True)] == ["d"]
    assert verify_ptx.work(found, {"d": row("race_free")}, False) == []
    assert verify_ptx.work(found, {"d": row("unsupported")}, True) == []
    [(name, _, _, fault, ptx, _)] = verify_ptx.work(found, {"d": row("race_free")}, True)
    assert fault == dict(kind="barrier dropped", line=10, what="bar.sync") and "bar.sync" not in ptx
    assert verify_ptx.work(found, {"d": row("race_free"), name: row("potential_race")}, True) == []


def test_what_must_be_proven_comes_first():
    found = {"short": ("lists", LAUNCH, {}), "required": ("forward", dict(LAUNCH, kernel="dense_fwd", ptx=PTX + PTX), {})}
    assert [one[0] for one in verify_ptx.work(found, {}, False)] == ["required", "short"]


def test_faults_come_before_other_launches():
    found = {"d": ("lists", dict(LAUNCH), "a"), "e": ("lists", dict(LAUNCH, ptx=".visible"), "b")}
    names = [one[0] for one in verify_ptx.work(found, {"d": row("race_free")}, True)]
    assert len(names) == 2 and names[0].startswith("d:") and names[1] == "e"


@pytest.mark.parametrize("seconds, chosen", [((3, 2), "d"), ((2, 3), "e"), ((21, 2), "e"), ((30, 21), "e"), ((20, 2), "d")])
def test_faults_of_the_launch_with_the_most_work(seconds, chosen):
    """Up to 20 seconds: launches that the verifier proves at once have no work, and each fault repeats the time."""
    found = {digest: ("lists", LAUNCH, sentryward.description(LAUNCH)) for digest in "de"}
    [(name, *_)] = verify_ptx.work(found, {digest: row("race_free", seconds=time) for digest, time in zip("de", seconds)}, True)
    assert name.startswith(chosen + ":")


def test_faults_stay_with_their_launch():
    """The seconds of a table are means, so a later run may find another launch the longest."""
    found = {digest: ("lists", LAUNCH, sentryward.description(LAUNCH)) for digest in "de"}
    rows = {digest: row("race_free", seconds=time) for digest, time in (("d", 9), ("e", 2))}
    assert verify_ptx.for_faults(found, rows) == {"d"}
    assert verify_ptx.for_faults(found, rows | {"e:9:barrier dropped": row("potential_race")}) == {"e"}


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
    [(name, _, _, fault, *_)] = verify_ptx.work(found, rows, True)
    rows[name] = dict(row("potential_race", fault=fault), digest=name)
    verify_ptx.table(rows.values(), tmp_path / "table.jsonl")
    known = verify_ptx.known_rows(tmp_path / "table.jsonl")
    assert verify_ptx.work(found, known, True) == [] and verify_ptx.report(list(known.values())) == 0
    assert known[name]["fault"]["line"] == fault["line"]
    assert len(verify_ptx.work({"new": found["d"]}, known, False)) == 1
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
