#!/usr/bin/env python3
# bench/cpu/run.py - every row of `make bench`: ours and the peer in one run, the table, its JSON and plot.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/cpu/run.py BUILD-DIR [--only matmul,nsa_fwd] [--rounds 9] [--threads 2] [--out build/bench/cpu.json] [--fresh]

Measures the rows of bench/cpu/rows.py on this CPU, about 20 minutes on two cores with nothing else running. A row that was measured is
saved at once: the same command goes on where it was stopped, --fresh begins anew. Writes OUT (JSON) and a plot of the ratios beside
it (.svg). Exit status 1 where a bar is missed or a row is missing.

  --only A,B    rows whose names begin so"""
import argparse
import datetime
import importlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
import types

import torch

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import rows  # noqa: E402
import timing  # noqa: E402


def cpu_flags():
    """(model name, flags) of /proc/cpuinfo."""
    fields = dict(line.split(":", 1) for line in pathlib.Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in fields.items()}
    return fields.get("model name", platform.machine()), fields.get("flags", "").split()


def peak(build, threads):
    """Multiply-adds in fp32 that the machine can do, in FLOP/s, as `tessera bench` measures it."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(build / "bin/tessera"), "bench", "fwd", "--lengths", "64", "--rounds", "1", "threads=%d" % threads, "--out",
                        folder + "/fwd"], check=True, capture_output=True)
        return json.loads(pathlib.Path(folder, "fwd.json").read_text())["peak"]["flop_per_s"]


def make_context(arguments):
    build = arguments.build.resolve()
    return types.SimpleNamespace(root=ROOT, build=build, library=build / "lib/libtessera_torch.so", threads=arguments.threads,
                                 rounds=arguments.rounds, flop_per_second=peak(build, arguments.threads),
                                 bytes_per_second=timing.bytes_per_second())


def measure(row, context):
    """What the row's module finds, or why it found nothing: one row that fails must not cost the others."""
    try:
        return importlib.import_module(row.group).measure(row.name, context)
    except (RuntimeError, OSError, subprocess.SubprocessError, ImportError, StopIteration, ArithmeticError) as problem:
        return {"failed": "%s: %s" % (type(problem).__name__, str(problem).strip().splitlines()[0] if str(problem).strip() else "")}


def save(path, head, entries):
    """The whole file or none of it."""
    text = json.dumps({**head, "complete": not rows.missing(entries), "rows": entries}, indent=1) + "\n"
    for target, content in ((path, text), (path.with_suffix(".svg"), rows.plot(entries))):
        part = target.with_name(target.name + ".part")
        part.write_text(content, encoding="utf-8")
        part.replace(target)


def earlier(path, head):
    """Rows of a file of the same commit and machine, to go on from."""
    if not path.exists():
        return []
    found = json.loads(path.read_text(encoding="utf-8"))
    return found["rows"] if all(found.get(key) == head[key] for key in ("commit", "cpu", "threads", "rounds")) else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/bench/cpu.json")
    parser.add_argument("--fresh", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.ops.load_library(str(arguments.build.resolve() / "lib/libtessera_torch.so"))
    model, flags = cpu_flags()
    git = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False, cwd=ROOT)
    head = {"what": "tessera next to its peers on a CPU, in turns in one run", "command": "bench/cpu/run.py " + " ".join(sys.argv[1:]),
            "cpu": model, "threads": arguments.threads, "rounds": arguments.rounds, "torch": torch.__version__,
            "avx512": "avx512f" in flags,
            "commit": git.stdout.strip(), "date": datetime.date.today().isoformat(), "load_before": os.getloadavg()[0]}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    entries = [] if arguments.fresh else earlier(arguments.out, head)
    names = tuple(name for name in arguments.only.split(",") if name)
    wanted = [row for row in rows.ROWS if not names or row.name.startswith(names)]
    left = [row for row in wanted if row.name not in {entry["name"] for entry in entries if "failed" not in entry}]
    context, begin = make_context(arguments) if left else None, time.monotonic()
    if context:
        head.update(flop_per_second=context.flop_per_second, bytes_per_second=context.bytes_per_second)
    for done, row in enumerate(left):
        eta = "" if not done else ", about %.0f min left" % ((time.monotonic() - begin) / done * (len(left) - done) / 60)
        print("%d of %d: %s%s" % (done + 1, len(left), row.name, eta), file=sys.stderr, flush=True)
        entry = rows.entry(row, measure(row, context), arguments.threads, "avx512f" in flags)
        entries = [e for e in entries if e["name"] != row.name] + [entry]
        save(arguments.out, head, entries)
        print(rows.line(entry), flush=True)
    missed = [entry["name"] for entry in entries if not entry["met"]]
    lacking = [name for name in rows.missing(entries) if not names or name.startswith(names)]
    print("%d rows, %d met; missed: %s%s" % (len(entries), len(entries) - len(missed), ", ".join(missed) or "none",
                                             "; missing: " + ", ".join(lacking) if lacking else ""))
    print("figures: %s, plot: %s" % (arguments.out, arguments.out.with_suffix(".svg")))
    sys.exit(1 if missed or lacking else 0)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped; what was measured is saved, and the same command goes on")
