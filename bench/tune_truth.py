#!/usr/bin/env python3
"""The tuner against an exhaustive search, on the cpu: what both find for the launches of a run.

    ninja -C build/release tessera tessera-train tune_truth
    python bench/tune_truth.py --out bench/results/tune_truth_cpu.json

A micro-batch of the run is recorded for each length; bench/tune/Truth.cpp measures. TESSERA_THREADS=1: other programs add
nothing to times but what they take of the caches. `--report FILE` prints the summary of a file that is there; `--join A B` takes
what Truth.cpp wrote.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile
import time

NEAR = 1.05  # of the fastest, what the tuner has to come to


def cpu_name():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown"


def record(args, settings, folder):
    environment = dict(os.environ, TESSERA_RECORD=folder, TESSERA_RECORD_LIMIT="64", TESSERA_RECORD_DISTINCT="1",
                       TESSERA_TUNED="none")
    subprocess.run([args.bin + "/tessera", "train", "--micro-batch", "--config", args.config] + settings,
                   env=environment, check=True)


def measure(args, folder, out):
    subprocess.run([args.bin + "/tune_truth", out, str(args.seconds), folder],
                   env=dict(os.environ, TESSERA_THREADS="1"), check=True)
    return json.loads(pathlib.Path(out).read_text())


def judge(row):
    """Times over that of the fastest: of the own choice, of what was tuned, of what was tuned from the slowest."""
    times = {one["use"]: one["us"] for one in row["candidates"] if "us" in one}
    best = min(times.values())
    own = row["candidates"][0]
    result = {"kernel": row["kernel"].split(":")[1], "bucket": row["bucket"], "candidates": len(times),
              "best": min(times, key=times.get), "own": own["us"] / best}
    for name in ("tuned", "tuned_from_slowest"):
        result[name] = times[row[name]] / best if row[name] in times else None
    return result


def summary(rows):
    judged = [judge(row) for row in rows if sum("us" in one for one in row["candidates"]) > 1]
    planted = [one["tuned_from_slowest"] for one in judged]
    slower = [one for one in judged if one["tuned"] and one["tuned"] > one["own"] * NEAR]
    names = sorted({one["kernel"] for one in judged})
    return {
        "rows": len(judged),
        "planted_found": sum(1 for one in planted if one and one <= NEAR) / len(planted),
        "planted_without_entry": planted.count(None),
        "tuned_slower_than_own": [one["kernel"] for one in slower],
        "tuned_found": sum(1 for one in judged if one["tuned"] and one["tuned"] <= NEAR) / len(judged),
        "judged": judged, "kernels": len(names),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--config", default="configs/quickstart.yaml")
    parser.add_argument("--seconds", type=int, default=12, help="budget of each launch")
    parser.add_argument("--out")
    parser.add_argument("--report")
    parser.add_argument("--join", nargs="+")
    args = parser.parse_args()
    if args.report:
        result = json.loads(pathlib.Path(args.report).read_text())
    else:
        load, parts = os.getloadavg()[0], []
        with tempfile.TemporaryDirectory() as folder:
            if args.join:
                parts = [json.loads(pathlib.Path(name).read_text()) for name in args.join]
            for settings in [] if args.join else [[], ["train.seq_len=4096", "train.batch_size=1"]]:
                cases = "%s/%d" % (folder, len(parts))
                record(args, settings, cases)
                parts.append(measure(args, cases, cases + ".json"))
        result = {
            "what": "tessera tune against exhaustive search: one thread, processor time",
            "command": "python bench/tune_truth.py --seconds %d" % parts[0]["seconds_each"], "config": args.config,
            "cpu": cpu_name(), "commit": subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip(),
            "date": time.strftime("%Y-%m-%d"), "load_before": load, "load_after": os.getloadavg()[0],
            "rows": [dict(row, seconds_each=part["seconds_each"]) for part in parts for row in part["rows"]],
        }
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    told = summary(result["rows"])
    for one in told.pop("judged"):
        print("%-20s %5d  %2d candidates, own %.2f, tuned %s, from the slowest %s, best %s" % (
            one["kernel"], one["bucket"], one["candidates"], one["own"], one["tuned"] and "%.2f" % one["tuned"],
            one["tuned_from_slowest"] and "%.2f" % one["tuned_from_slowest"], one["best"]))
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
