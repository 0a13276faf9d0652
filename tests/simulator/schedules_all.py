# tests/simulator/schedules_all.py - the PTX of all kernels under random schedules and with independent lanes; outputs must be equal bit for bit.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""schedules_all.py [seeds=50] [minutes=0] [only=TEXT] [folder=build/schedules] [results=FILE] [fresh] [report]

First the programs of programs.py run once for a commit and every launch is written to the folder: PTX and arguments. Then each
launch runs in the order of the grid, and once for each seed with lanes in lockstep and once with independent thread scheduling; odd seeds have copies
that read at issue. No check may fire, and every byte must be as in the first run; sums by float atomics, whose order is left open,
may differ by rounding. Each launch adds a line to the results. What they already have, with as many seeds and the same PTX and
arguments, does not run again, so that a run may be interrupted, or take `minutes` (0: no limit), and go on later. `only`: programs
whose name contains the text. `fresh`: what folder and results have is forgotten. `report` prints what the results have.
Exit status 1 when a line has a difference or a finding."""
import ctypes
import hashlib
import json
import os
import pathlib
import pickle
import platform
import re
import shutil
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "helpers")]

from programs import FULL, record  # noqa: E402
from repository import ROOT, commit  # noqa: E402

ROUNDING = 1e-4  # of sums of a few hundred numbers in fp32, relative to the largest
FLOAT_SUM = re.compile(r"\b(atom|red)\.[\w.:]*add[\w.:]*\.f32\b")


class Replay:
    """A recorded launch on memory of its own."""

    def __init__(self, launch):
        import simulator
        self.simulator, self.launch = simulator, launch
        self.module = simulator.Module(launch["ptx"], launch["kernel"] + ".ptx")
        self.buffers, self.ranges, moved = [], [], []
        for (name, address, size, flags), content in zip(launch["ranges"], launch["contents"]):
            buffer = ctypes.create_string_buffer(size + 256)
            place = ctypes.addressof(buffer)
            place += (address - place) % 128  # aligned as it was
            self.buffers.append((buffer, place, content))
            self.ranges.append((name, place, size, flags))
            moved.append((address, address + size, place))
        self.values = [next((place + value - first for first, end, place in moved if first <= value < end), value)
                       for value in launch["values"]]

    def reset(self):
        """Memory is as it was recorded."""
        for _, place, content in self.buffers:
            ctypes.memmove(place, content, len(content))

    def run(self, seed, flags):
        """The bytes of all ranges; raises Finding."""
        self.reset()
        launch = self.launch
        self.module.launch(launch["kernel"], launch["grid"], launch["block"], launch["shared"], self.values, self.ranges, flags, seed=seed)
        return [ctypes.string_at(place, len(content)) for _, place, content in self.buffers]

    def differences(self, want, got):
        """Of names of ranges; sums of float atomics may differ by rounding."""
        import torch
        names = []
        for (name, _, size, _), a, b in zip(self.ranges, want, got):
            if a == b:
                continue
            if FLOAT_SUM.search(self.launch["ptx"]) and size % 4 == 0:
                x, y = (torch.frombuffer(bytearray(data), dtype=torch.float32).double() for data in (a, b))
                if ((x - y).abs().max() <= ROUNDING * x.abs().max()).item():
                    continue
            names.append(name)
        return names


def replay(launch, seeds):
    """What the runs of one launch show."""
    import simulator
    this = Replay(launch)
    start = time.time()
    want = this.run(0, 0)
    row = dict(seeds=seeds, lockstep=0, apart=0, rounding=0, findings=[], differences=[])
    for seed in range(1, seeds + 1):
        for mode in ("lockstep", "apart"):
            flags = (simulator.APART if mode == "apart" else 0) | (simulator.AT_ISSUE if seed % 2 else 0)
            try:
                got = this.run(seed, flags)
            except simulator.Finding as finding:
                row["findings"].append(dict(mode=mode, seed=seed, text=str(finding)))
                continue
            row[mode] += 1
            if names := this.differences(want, got):
                row["differences"].append(dict(mode=mode, seed=seed, ranges=names))
            row["rounding"] += got != want and not names
    return dict(row, seconds=round(time.time() - start, 2))


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    return f"{cpu}, {os.cpu_count()} cores"


def lines(results):
    """The latest row of each launch."""
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    return {(row["program"], row["digest"]): row for row in rows}


def report(rows, launches):
    """Prints sums by program; the number of launches with a finding or a difference."""
    programs = {}
    for row in rows:
        programs.setdefault(row["program"], []).append(row)
    for name, mine in programs.items():
        print(f"{name}: {len(mine)} launches of {len({row['kernel'] for row in mine})} kernels, {sum(row['lockstep'] for row in mine)} runs in "
              f"lockstep, {sum(row['apart'] for row in mine)} with independent thread scheduling, {sum(row['rounding'] for row in mine)} of them other sums of "
              f"atomics; {sum(len(row['findings']) for row in mine)} findings, {sum(len(row['differences']) for row in mine)} differences")
    bad = [row for row in rows if row["findings"] or row["differences"]]
    for row in bad:
        first = (row["findings"] + row["differences"])[0]
        print(f"{row['program']}: {row['kernel']}: {len(row['findings'])} findings, {len(row['differences'])} differences, first {first}")
    print(f"{len(rows)} of {launches} launches done; {len(bad)} with findings or differences")
    return len(bad)


def main(arguments):
    settings = dict(a.split("=", 1) for a in arguments if "=" in a)
    seeds, minutes = int(settings.get("seeds", 50)), float(settings.get("minutes", 0))
    folder = pathlib.Path(settings.get("folder", ROOT / "build" / "schedules"))
    results = pathlib.Path(settings.get("results", folder / "schedules.jsonl"))
    if "report" in arguments:
        rows = lines(results).values()
        return 1 if report(list(rows), len(rows)) else 0
    if "fresh" in arguments:
        shutil.rmtree(folder, ignore_errors=True)
        results.unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    start, done, work = time.time(), lines(results), {}
    programs = [program for program in FULL if settings.get("only", "") in program.name]
    for program, files in record(programs, folder):
        for file in files:
            launch = pickle.loads(file.read_bytes())
            # Data depends on the program alone; addresses are other ones in every process.
            digest = hashlib.sha256(repr((file.name, launch["ptx"], launch["kernel"], launch["grid"], launch["block"])).encode()).hexdigest()[:16]
            work[program.name, digest] = file
    left = [key for key in work if key not in done or done[key]["seeds"] < seeds]
    # Small files first, so that an interrupted run has covered many kernels.
    for key in sorted(left, key=lambda key: work[key].stat().st_size):
        if minutes and time.time() - start > 60 * minutes:
            break
        launch = pickle.loads(work[key].read_bytes())
        row = dict(program=key[0], kernel=launch["kernel"], grid=launch["grid"], threads=launch["block"][0], digest=key[1], **replay(launch, seeds),
                   commit=commit(), date=time.strftime("%Y-%m-%d", time.gmtime()), machine=machine())
        done[key] = row
        with results.open("a") as out:
            out.write(json.dumps(row) + "\n")
    rows = [done[key] for key in work if key in done and done[key]["seeds"] >= seeds]
    return 1 if report(rows, len(work)) or (len(rows) < len(work) and not minutes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
