#!/usr/bin/env python3
"""What the quick start's step takes alone and beside two processes that only compute, in turns: `tessera train`, whose waiting
threads sleep after a short while, and tessera-train as torch's OpenMP library has them, spinning.

usage: neighbour.py BUILD [--out bench/results/neighbour.json] [--rounds 3] [--steps 60]
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BAR = 0.4  # of the speed alone
QUIET = 0.5  # load of a machine on which "alone" means something; on a busier one the bar is not judged
BUSY = [sys.executable, "-c", "while True: pass"]


def step_ms(program, steps, limit, folder):
    """Median milliseconds of a step behind the first five; None where there are none in the time."""
    environment = {k: v for k, v in os.environ.items() if k not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    command = [program, "train", "--config", str(ROOT / "configs" / "quickstart.yaml"), "train.steps=%d" % steps, "train.log_every=1",
               "train.final_windows=1", "train.save_every=0", "panel=false", "resume=never", "out=" + folder]
    try:
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit)
    except subprocess.TimeoutExpired:
        pass
    metrics = pathlib.Path(folder, "metrics.jsonl")
    lines = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()] if metrics.exists() else []
    times = [line["step_ms"] for line in lines if "step_ms" in line][5:]
    return statistics.median(times) if times else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--limit", type=float, default=120, help="seconds of a run, of which what it has done counts")
    options = parser.parse_args()
    programs = {"yields": os.path.join(options.build, "bin", "tessera"), "spins": os.path.join(options.build, "bin", "tessera-train")}
    times, load = {}, os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(options.rounds):
            for name, program in programs.items():
                for neighbours in (0, 2):
                    busy = [subprocess.Popen(BUSY) for _ in range(neighbours)]
                    try:
                        took = step_ms(program, options.steps, options.limit, os.path.join(scratch, "%s%d%d" % (name, neighbours, number)))
                    finally:
                        for process in busy:
                            process.kill()
                            process.wait()
                    times.setdefault("%s, %d neighbours" % (name, neighbours), []).append(took)
                    print("round %d  %-22s %s" % (number + 1, "%s, %d neighbours" % (name, neighbours),
                                                  "%.0f ms" % took if took else "fewer than 6 steps in %g s" % options.limit), flush=True)
    rows = []
    for name, values in times.items():
        known = sorted(value for value in values if value)
        rows.append({"name": name, "step_ms": statistics.median(known) if known else None, "all_ms": values})
    median = {row["name"]: row["step_ms"] for row in rows}
    share = {name: median["%s, 0 neighbours" % name] / median["%s, 2 neighbours" % name] for name in programs
             if median["%s, 2 neighbours" % name] and median["%s, 0 neighbours" % name]}
    judged = load < QUIET
    if not judged:
        share = {}
        print("the load was %.1f before: no run was alone, and the bar is not judged" % load)
    for name, value in share.items():
        print("%-22s %.0f%% of its speed alone beside two neighbours, bar %.0f%%" % (name, 100 * value, 100 * BAR))
    if options.out:
        def git(*words):
            return subprocess.run(["git", *words], stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT).stdout.strip()
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            cpu = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), "unknown")
        result = {"what": "median step of the quick start, alone and beside two processes that only compute; in turns",
                  "command": "python3 bench/neighbour.py build/release --out bench/results/neighbour.json --rounds %d --steps %d --limit %g" % (
                      options.rounds, options.steps, options.limit),
                  "cpu": cpu, "cores": os.cpu_count(), "threads": 2, "date": datetime.date.today().isoformat(),
                  "commit": git("rev-parse", "--short", "HEAD") + ("+changes" if git("status", "--porcelain", "-uno") else ""),
                  "load_before": round(load, 2), "load_after": round(os.getloadavg()[0], 2), "bar": BAR, "judged": judged, "share_of_speed_alone": share,
                  "rows": rows}
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    return 0 if not judged or share.get("yields", 0) >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
