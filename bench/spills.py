#!/usr/bin/env python3
# bench/spills.py - registers, spills and resident blocks of every instance of kernels/, now and at an earlier commit.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""bench/spills.py TESSERA [--old COMMIT] [--target sm_80] [--output FILE.json]

Compiles every `# tessera: instance` of kernels/, and of the same folder at the commit given with --old, with the same compiler, and
prints a row for each instance. No GPU is needed; ptxas is. The exit status is 1 where an instance spills more than it did."""
import argparse
import json
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FIGURES = dict(registers="registers", spill="spill_stores", shared="shared", blocks="blocks_per_sm")


def measure(program, folder, target):
    """Figures of each instance, by its name. The loads of a spill are counted by its stores."""
    rows = {}
    for path in sorted(pathlib.Path(folder).glob("*/*.py")):
        if "# tessera: instance" not in path.read_text():
            continue
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run([program, "compile", str(path), "--target", target, "--emit", "report", "-o", out], text=True,
                                  capture_output=True)
            if done.returncode:
                sys.exit(f"spills: {path}: {done.stderr}")
            for report in sorted(pathlib.Path(out).glob("*.report.json")):
                got = json.loads(report.read_text())
                rows[report.name.removesuffix(".report.json")] = {name: got[key] for name, key in FIGURES.items()}
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the tessera binary")
    parser.add_argument("--old", help="an earlier commit")
    parser.add_argument("--target", default="sm_80")
    parser.add_argument("--output", help="write the rows, what they were made with and when")
    options = parser.parse_args()
    new, old = measure(options.program, ROOT / "kernels", options.target), {}
    if options.old:
        with tempfile.TemporaryDirectory() as folder:
            files = subprocess.run(["git", "-C", str(ROOT), "archive", options.old, "kernels"], capture_output=True, check=True)
            subprocess.run(["tar", "x", "-C", folder], input=files.stdout, check=True)
            old = measure(options.program, pathlib.Path(folder) / "kernels", options.target)
    rows = {name: dict(new=new[name], old=old[name]) if name in old else dict(new=new[name]) for name in new}
    worse = [name for name, row in rows.items() if "old" in row and row["new"]["spill"] > row["old"]["spill"]]
    for name, row in rows.items():
        print(f"{name:40}", *(f"{figure} {row.get('old', {}).get(figure, '-')} -> {row['new'][figure]}  " for figure in FIGURES),
              "MORE SPILLED" if name in worse else "")
    if options.output:
        commit = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"], text=True, capture_output=True)
        about = dict(command=f"bench/spills.py TESSERA --old {options.old} --target {options.target}", commit=commit.stdout.strip(),
                     date=time.strftime("%Y-%m-%d", time.gmtime()), machine=f"{platform.machine()}, no GPU: figures are ptxas's",
                     target=options.target)
        pathlib.Path(options.output).write_text(json.dumps(dict(about, rows=rows), indent=1) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
