# tests/simulator/mutants_test.py - what catches a mutant of PTX, with runs that the test makes up.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pytest

import mutants

EXPECTED = [b"first", b"second"]
WORK = [dict(lane_instructions=100, global_sectors=10, barriers=4)] * 2


def finding(check):
    return mutants.Finding(dict(findings=[dict(check=check, text=check)]))


def base(monkeypatch, runs):
    """A base of two inputs whose runs end as given: outputs and counters, or an exception."""
    monkeypatch.setattr(mutants.simulator, "Module", lambda ptx, name: None)
    made = mutants.Base.__new__(mutants.Base)
    made.name, made.inputs, made.longest = "made", 2, 1000
    made.expected, made.work = EXPECTED, WORK

    def run(module, i, limit=0):
        if isinstance(runs[i], Exception):
            raise runs[i]
        outputs, counters = runs[i]
        return outputs, dict(counters={**WORK[i], **counters})
    made.run = run
    return made


@pytest.mark.parametrize("runs, caught_by", [
    ([(b"first", {}), (b"second", {})], None),
    ([(b"first", {}), (b"other", {})], "outputs"),
    ([(b"first", {}), finding("shared-race")], "shared-race"),
    ([(b"first", dict(lane_instructions=101)), (b"second", {})], "work"),
    ([(b"first", {}), (b"second", dict(global_sectors=11))], "work"),
    # Less work, or a counter that every fault of its kind changes, is not enough.
    ([(b"first", dict(lane_instructions=99, global_sectors=9)), (b"second", {})], None),
    ([(b"first", dict(barriers=5)), (b"second", {})], None),
    # A check or an output decides before the counters do.
    ([(b"first", dict(global_sectors=11)), (b"other", {})], "outputs"),
])
def test_what_catches_a_mutant(monkeypatch, runs, caught_by):
    assert base(monkeypatch, runs).verdict("ptx") == caught_by
