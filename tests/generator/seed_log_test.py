# tests/generator/seed_log_test.py - a run continues where its log ends.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
from seed_log import SeedLog  # noqa: E402


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_continues_after_the_last_run(tmp_path):
    path = tmp_path / "log.jsonl"
    log = SeedLog(path, "cpu")
    assert log.next_seed(5, 100) == 5
    for seed in range(5, 20):
        assert log.add(seed, 0) == 0
    log.add(20, 2, last=True)
    assert [(row["first"], row["last"], row["faults"], row["device"]) for row in rows(path)] == [(5, 20, 2, "cpu")]
    # Ranges in any order, with a gap: the first seed of the gap comes next.
    for first, last in ((40, 60), (21, 30)):
        other = SeedLog(path, "cpu")
        other.add(first, 0)
        other.add(last, 0, last=True)
    assert SeedLog(path, "cpu").next_seed(5, 100) == 31
    assert SeedLog(path, "cpu").next_seed(40, 100) == 61
    assert SeedLog(path, "cpu").next_seed(40, 50) == 50
    assert SeedLog(path, "sim:sm_80").next_seed(5, 100) == 5


def test_a_minute_is_a_line(tmp_path):
    path = tmp_path / "log.jsonl"
    log = SeedLog(path, "cpu")
    log.add(0, 1)
    assert not path.exists()
    log.since -= 61
    assert log.add(1, 1) == 0
    log.add(2, 0, last=True)
    assert [(row["first"], row["last"], row["faults"]) for row in rows(path)] == [(0, 1, 1), (2, 2, 0)]


def test_without_a_file_nothing_is_written():
    log = SeedLog(None, "cpu")
    assert log.next_seed(3, 9) == 3 and log.add(3, 1) == 1
