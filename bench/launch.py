#!/usr/bin/env python3
"""What a launch costs on the host, beside a bare call of the same code: runs launch_bench and launch_torch_bench
in turns and writes medians and spreads.

usage: launch.py BUILD [--out bench/results/launch.json] [--rounds 9]
Exits with 1 when a row misses its bar.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys

# name: (row, what is taken off it, bar in microseconds, or a function of the peer's time)
ROWS = {
    "cpu": ("cpu_prepared", "cpu_bare", lambda peer: 0.3),
    "cpu_kernel_launch": ("cpu_kernel", "cpu_bare", None),
    "cuda_stand_in": ("cuda_prepared", "cuda_bare", lambda peer: 0.5),
}
# A torch op end to end: three typed dispatches of 67 ns, as torch's own take on the machine that the bar was set on,
# and a cached launch.
TORCH_ROWS = {
    "torch_op_16_arguments": ("torch_launch", "torch_empty", lambda peer: 3 * 0.067 + 0.3),
    "torch_op_16_arguments_autograd": ("torch_launch_autograd", "torch_empty", None),
}


def run(program, min_time):
    done = subprocess.run([program, "--benchmark_format=json", "--benchmark_min_time=%g" % min_time],
                          check=True, stdout=subprocess.PIPE, text=True)
    times = {}
    for row in json.loads(done.stdout)["benchmarks"]:
        assert row["time_unit"] == "ns", row
        times[row["name"]] = row["cpu_time"] / 1000
    return times


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        return next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), "unknown")


def commit():
    def git(*words):
        return subprocess.run(["git", *words], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return git("rev-parse", "--short", "HEAD") + ("+changes" if git("status", "--porcelain", "-uno") else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--out")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--min-time", type=float, default=0.05)
    options = parser.parse_args()
    load = os.getloadavg()[0]
    programs = [os.path.join(options.build, "bin", name) for name in ("launch_bench", "launch_torch_bench")]
    rounds = []
    for _ in range(options.rounds):
        times = {}
        for program in programs:
            times.update(run(program, options.min_time))
        rounds.append(times)
    rows, missed = [], []
    for name, (own, peer, bar) in {**ROWS, **TORCH_ROWS}.items():
        # Host time alone: CPU time, so that a busy neighbour counts little.
        total = [times[own] for times in rounds]
        beside = [times[peer] for times in rounds]
        added = [a - b for a, b in zip(total, beside)]
        value = total if name in TORCH_ROWS else added
        row = {"name": "launch_host_us/" + name, "unit": "us", "what": "end to end" if name in TORCH_ROWS else
               "above the bare call", "ours": round(statistics.median(value), 4),
               "spread": [round(min(value), 4), round(max(value), 4)],
               "peer": round(statistics.median(beside), 4), "peer_name": peer}
        if bar:
            row["bar"] = round(bar(row["peer"]), 4)
            if row["ours"] > row["bar"]:
                missed.append(row["name"])
        rows.append(row)
        print("%-48s %7.3f us  (%.3f .. %.3f)  beside %s %.3f%s" % (
            row["name"], row["ours"], *row["spread"], peer, row["peer"],
            "  bar %.3f" % row["bar"] if bar else ""))
    if options.out:
        result = {"what": "host time of one cached launch of a kernel of 16 arguments, one program",
                  "command": "python3 bench/launch.py build/release --out bench/results/launch.json",
                  "cpu": cpu_name(), "cores": os.cpu_count(), "commit": commit(),
                  "date": datetime.date.today().isoformat(), "rounds": options.rounds, "load_before": round(load, 2),
                  "missed": missed, "rows": rows}
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    if missed:
        print("missed: " + ", ".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
