# scripts/lib/test_summary.py - writes how long each entry of a run of ctest took, as a result file.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import resource
import sys
import time
import xml.etree.ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from harness.facts import facts  # noqa: E402


class Summary:
    """Measures from its construction to write()."""

    def __init__(self, arguments):
        self.facts = facts() | {"arguments": arguments}
        self.cases, self.start = [], time.monotonic()

    def read(self, report):
        """report: ctest's JUnit file."""
        if os.path.exists(report):
            self.cases = list(xml.etree.ElementTree.parse(report).getroot().iter("testcase"))

    def write(self, path, left_out):
        """left_out: lines about what did not run. The CPU seconds are those of all processes, compile workers too."""
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = {case.get("name"): round(float(case.get("time") or 0), 2) for case in self.cases}
        result = {**self.facts, "load_after": os.getloadavg()[0], "wall_s": round(time.monotonic() - self.start),
                  "cpu_s": round(used.ru_utime + used.ru_stime), "entries": len(seconds), "entries_s": round(sum(seconds.values())),
                  "failed": [case.get("name") for case in self.cases if case.get("status") == "fail"], "left_out": left_out,
                  "seconds": dict(sorted(seconds.items(), key=lambda entry: -entry[1]))}
        temporary = pathlib.Path(f"{path}.new")
        temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        temporary.replace(path)
