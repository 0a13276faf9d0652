# bench/spills.py - registers, spills and resident blocks of every instance of kernels/, compared with an earlier commit.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Registers, spills and resident blocks of every instance of kernels/, as ptxas reports them, now and at an earlier commit.

The same compiler compiles every `# tessera: instance` of kernels/, and of the same folder at the commit `old`. No GPU is needed; ptxas is. An
instance that spills more than it did misses its target. The loads of a spill are counted by its stores."""
import json
import pathlib
import tempfile

from harness import ROOT

NUMBERS = dict(registers="registers", spill="spill_stores", shared="shared", blocks="blocks_per_sm")
OPTIONS = {"old": "", "target": "sm_80"}


def rows(options):
    return {str(path.relative_to(ROOT / "kernels")): path.relative_to(ROOT / "kernels") for path in sorted((ROOT / "kernels").glob("*/*.py"))
            if "# tessera: instance" in path.read_text()}


def instances(context, path):
    """The numbers of each instance of a file, by its name."""
    with tempfile.TemporaryDirectory() as out:
        context.start([context.program("tessera"), "compile", path, "--target", context.options.target, "--emit", "report", "-o", out])
        reports = {report.name.removesuffix(".report.json"): json.loads(report.read_text()) for report in pathlib.Path(out).glob("*.report.json")}
    return {name: {number: report[key] for number, key in NUMBERS.items()} for name, report in sorted(reports.items())}


def measure(file, context):
    earlier = {}
    if context.options.old:
        with tempfile.TemporaryDirectory() as folder:
            path = context.kernels_of(context.options.old, folder) / file
            earlier = instances(context, path) if path.exists() else {}
    for name, new in instances(context, ROOT / "kernels" / file).items():
        record = {"instance": name, "new": new}
        if name in earlier:
            record.update(old=earlier[name], met=new["spill"] <= earlier[name]["spill"])
        yield record


def line(record):
    if "failed" in record:
        return "%(name)s: %(failed)s" % record
    return "%-40s " % record["instance"] + "  ".join("%s %s -> %s" % (number, record.get("old", {}).get(number, "-"), value)
                                                     for number, value in record["new"].items())
