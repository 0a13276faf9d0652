# scripts/lib/test_summary.py - writes how long each entry of a run of ctest took, as a result file.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import resource
import sys
import time
import xml.etree.ElementTree

import compact

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from harness.facts import facts  # noqa: E402


class Summary:
    """Measures from its construction to write()."""

    def __init__(self, arguments):
        # The Python of this script is the system's: it knows no version of torch.
        self.facts = {name: value for name, value in facts().items() if value is not None} | {"arguments": arguments}
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
        temporary.write_text(compact.dumps(result), encoding="utf-8")
        temporary.replace(path)
