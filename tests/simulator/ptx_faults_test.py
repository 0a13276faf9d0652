# tests/simulator/ptx_faults_test.py - which faults are injected into PTX, and which are left out because they have no effect.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import random

from ptx_faults import faults, joins_next

COMMIT = "\tcp.async.commit_group;"


def wait(left):
    return f"\tcp.async.wait_group {left};"


def joins(text, number):
    """Of the commit with this number from 0 in lines of `text`."""
    lines = text.split("\n")
    commits = [i for i, line in enumerate(lines) if line == COMMIT]
    return joins_next(lines, commits[number])


class TestJoinsNext:
    """A dropped commit puts its copies into the next group: without effect where every wait is for both."""

    def test_every_wait_is_for_all(self):
        assert joins("\n".join([COMMIT, COMMIT, wait(0)]), 0)

    def test_no_commit_follows(self):
        assert not joins("\n".join([COMMIT, COMMIT, wait(0)]), 1)

    def test_a_wait_in_between(self):
        assert not joins("\n".join([COMMIT, wait(0), COMMIT, wait(0)]), 0)

    def test_a_label_or_a_branch_in_between(self):
        assert not joins("\n".join([COMMIT, "$L__BB0_1:", COMMIT, wait(0)]), 0)
        assert not joins("\n".join([COMMIT, "\t@%p1 bra \t$L__BB0_1;", COMMIT, wait(0)]), 0)

    def test_the_wait_leaves_one_group(self):
        # Of commits 0, 1 and 2 a wait that leaves one is for 0 and 1: those may be one group, 1 and 2 may not.
        start = [COMMIT, COMMIT, COMMIT, wait(1)]
        assert joins("\n".join(start), 0)
        assert not joins("\n".join(start), 1)

    def test_the_wait_leaves_all_but_one(self):
        assert not joins("\n".join([COMMIT, COMMIT, wait(1)]), 0)

    def test_a_later_wait_leaves_more(self):
        assert not joins("\n".join([COMMIT, COMMIT, COMMIT, wait(1), wait(2)]), 0)

    def test_in_a_loop_with_groups_left(self):
        # Not on the straight line at the start: what the wait leaves there differs from iteration to iteration.
        text = "\n".join([COMMIT, COMMIT, COMMIT, "$L__BB0_1:", wait(1), COMMIT, COMMIT, "\t@%p1 bra \t$L__BB0_1;"])
        assert not joins(text, 3)


def kernel(*lines):
    return "\n".join(["{", *lines, "}"])


def injected(kind, *lines):
    return [m.line for m in faults(kernel(*lines), random.Random(1))[kind]]


STORE, LOAD, BARRIER = "\tst.shared.b32 \t[%r1], %r2;", "\tld.shared.b32 \t%r3, [%r4];", "\tbar.sync \t0;"


class TestFaults:
    def test_a_barrier_between_store_and_load_is_dropped(self):
        assert injected("barrier dropped", STORE, BARRIER, LOAD) == [2]

    def test_a_barrier_with_shared_memory_on_one_side_is_left(self):
        assert injected("barrier dropped", STORE, BARRIER, "\tret;") == []

    def test_a_barrier_after_stores_alone_is_left_where_another_follows(self):
        assert injected("barrier dropped", STORE, BARRIER, BARRIER, LOAD) == [3]

    def test_a_barrier_in_a_loop_is_dropped(self):
        assert injected("barrier dropped", "$L__BB0_1:", STORE, BARRIER, "\t@%p1 bra \t$L__BB0_1;") == [3]

    def test_a_commit_that_joins_the_next_is_left(self):
        mma = "\tmma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};"
        assert injected("commit dropped", COMMIT, COMMIT, wait(0), mma) == [2]

    def test_a_wait_that_leaves_one_more(self):
        mma = "\tmma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%r1, %r2}, {%r3}, {%r4}, {%r1, %r2};"
        found = faults(kernel(COMMIT, wait(0), mma), random.Random(1))["wait too weak"]
        assert [m.text for m in found] == ["\tcp.async.wait_group 1;"]

    def test_a_mask_is_dropped_and_inverted(self):
        lines = "\tsetp.eq.b32 \t%p1, %r1, 0;", "\t@%p1 st.global.b32 [ %rd1 + 0 ], { %r2 };"
        assert injected("mask dropped", *lines) == [2] and injected("mask inverted", *lines) == [2]

    def test_a_mask_that_is_always_true_is_inverted_only(self):
        lines = "\tmov.pred \t%p1, -1;", "\t@%p1 st.global.b32 [ %rd1 + 0 ], { %r2 };"
        assert injected("mask dropped", *lines) == [] and injected("mask inverted", *lines) == [2]

    def test_a_mask_with_a_second_write_is_dropped(self):
        lines = "\tmov.pred \t%p1, -1;", "\tsetp.eq.b32 \t%p1, %r1, 0;", "\t@%p1 st.global.b32 [ %rd1 + 0 ], { %r2 };"
        assert injected("mask dropped", *lines) == [3]

    def test_a_fault_changes_its_line_alone(self):
        text = kernel(STORE, BARRIER, LOAD)
        [mutant] = faults(text, random.Random(1))["barrier dropped"]
        assert mutant.apply(text) == kernel(STORE, "\t// dropped", LOAD)
