# bench/harness/results.py - the result file of a benchmark: facts, records, and what an interrupted run needs to continue.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts" / "lib"))
import compact  # noqa: E402

SAME = ("benchmark", "commit", "cpu", "threads", "rounds", "options", "quick")  # a file with other values is not continued


def write(path, text):
    """Replaces the file, or leaves it unchanged if the program is stopped here."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name("%s.%d.part" % (path.name, os.getpid()))
    part.write_text(text, encoding="utf-8")
    part.replace(path)


class Results:
    """The records of each row of a benchmark, in the file `path`. `measured` names the rows that are complete."""

    def __init__(self, path, head, fresh=False):
        self.path, self.head, self.records = pathlib.Path(path), head, {}
        self.measured = set()
        if not fresh and self.path.exists():
            self._continue(json.loads(self.path.read_text(encoding="utf-8")))

    def _continue(self, found):
        if any(found.get(key) != self.head.get(key) for key in SAME) or "measured" not in found:
            return
        rest = iter(found["rows"])
        for name, count, complete in found["measured"]:
            self.records[name] = [next(rest) for _ in range(count)]
            if complete:
                self.measured.add(name)

    def add(self, name, record):
        self.records.setdefault(name, []).append(record)

    def start(self, name):
        """Drops what an earlier run has of a row that is measured again."""
        self.records.pop(name, None)

    def rows(self):
        return [record for records in self.records.values() for record in records]

    def save(self, order, **more):
        """Writes all records in the order of the benchmark's rows; how many belong to each row, and whether the row is complete."""
        self.records = {name: self.records[name] for name in [*order, *self.records] if name in self.records}
        counts = [[name, len(records), name in self.measured] for name, records in self.records.items()]
        complete = {"complete": set(order) <= self.measured}
        write(self.path, compact.dumps({**self.head, **complete, **more, "rows": self.rows(), "measured": counts}))
