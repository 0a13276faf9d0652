#!/usr/bin/env python3
"""The tuner and the cost model against an exhaustive search, on the cpu, for the launches of a run.

    ninja -C build/release tessera tessera-train tune_truth
    python bench/tune_truth.py --out bench/results/tune_truth_cpu.json

A micro-batch of the run is recorded for each length; bench/tune/Truth.cpp measures. TESSERA_THREADS=1: other programs add
nothing to times but what they take of the caches. What is measured is kept in the folder of --parts after every launch, and the
same command goes on there: `--limit 200` begins no launch after 200 seconds, for a machine that is quiet for minutes at a time.
`--report FILE` prints the summary of a file that is there.

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


def measure(args, folder, out, limit):
    """Rows as far as the limit goes, and whether these are all."""
    done = subprocess.run([args.bin + "/tune_truth", out, str(args.seconds), str(limit), folder],
                          env=dict(os.environ, TESSERA_THREADS="1"), check=True, stderr=subprocess.PIPE, text=True)
    last = done.stderr.strip().splitlines()[-1]
    print(last, flush=True)
    rows = json.loads(pathlib.Path(out).read_text()) if os.path.exists(out) else []
    return rows, last.split()[0] == last.split()[2]


def judge(row):
    """Times over that of the fastest: of the own choice, of what was tuned, of what was tuned from the slowest, of the best of the
    three that the model puts first. Choices of the search are judged by the times that were taken in turns at the end."""
    times = {one["use"]: one["us"] for one in row["candidates"] if "us" in one}
    best = min(times.values())
    ranked = sorted((one for one in row["candidates"] if "us" in one), key=lambda one: one["predicted_us"])
    last = row.get("in_turns_us") or times
    least = min(last.values())
    result = {"kernel": row["kernel"].split(":")[1], "bucket": row["bucket"], "candidates": len(times),
              "best": min(last, key=last.get), "own": last[row["candidates"][0]["use"]] / least,
              "model": min(one["us"] for one in ranked[:3]) / best}
    for name in ("tuned", "tuned_from_slowest"):
        result[name] = last[row[name]] / least if row.get(name) in last else None
    return result


def summary(rows):
    judged = [judge(row) for row in rows if sum("us" in one for one in row["candidates"]) > 1]
    planted = [one["tuned_from_slowest"] for one in judged]
    best = {}  # of each kernel and its lengths
    for one in judged:
        best.setdefault(one["kernel"], {}).setdefault(one["bucket"], []).append(one["best"])
    slower = [one for one in judged if one["tuned"] and one["tuned"] > one["own"] * NEAR]
    names = sorted({one["kernel"] for one in judged})
    return {
        "rows": len(judged),
        "planted_found": sum(1 for one in planted if one and one <= NEAR) / len(planted),
        "planted_without_entry": planted.count(None),
        "tuned_slower_than_own": [one["kernel"] for one in slower],
        "tuned_found": sum(1 for one in judged if one["tuned"] and one["tuned"] <= NEAR) / len(judged),
        "model_top_3_within_10_percent": sum(1 for one in judged if one["model"] <= 1.1) / len(judged),
        "kernels_whose_best_differs_by_length": sorted(
            name for name, lengths in best.items() if len({tuple(sorted(set(uses))) for uses in lengths.values()}) > 1),
        "judged": judged, "kernels": len(names),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default="build/release/bin")
    parser.add_argument("--config", default="configs/quickstart.yaml")
    parser.add_argument("--seconds", type=int, default=12, help="budget of each launch")
    parser.add_argument("--out")
    parser.add_argument("--report")
    parser.add_argument("--parts", default="build/tune_truth", help="folder that keeps what is measured")
    parser.add_argument("--limit", type=float, default=0, help="seconds after which no launch begins; 0: none")
    parser.add_argument("--lengths", default="512,4096")
    args = parser.parse_args()
    if args.report:
        result = json.loads(pathlib.Path(args.report).read_text())
    else:
        begin, load, rows, complete = time.time(), os.getloadavg()[0], [], True
        os.makedirs(args.parts, exist_ok=True)
        for length in args.lengths.split(","):
            cases = "%s/%s" % (args.parts, length)
            if not os.path.isdir(cases):
                record(args, [] if length == "512" else ["train.seq_len=" + length, "train.batch_size=1"], cases)
            left = max(1, int(args.limit - (time.time() - begin))) if args.limit else 0
            part, whole = measure(args, cases, cases + ".json", left)
            rows += part
            complete &= whole
        if not complete:
            print("not all launches are measured yet: the same command goes on")
            return
        result = {
            "what": "tessera tune and the cost model against exhaustive search: one thread, processor time",
            "command": "python bench/tune_truth.py --seconds %d" % rows[0]["seconds_each"], "config": args.config,
            "cpu": cpu_name(), "commit": subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip(),
            "date": time.strftime("%Y-%m-%d"), "load_before": load, "load_after": os.getloadavg()[0], "rows": rows,
        }
        if args.out:
            result["summary"] = {name: value for name, value in summary(rows).items() if name != "judged"}
            pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    told = summary(result["rows"])
    for one in told.pop("judged"):
        print("%-20s %5d  %2d candidates, own %.2f, tuned %s, from the slowest %s, model %.2f, best %s" % (
            one["kernel"], one["bucket"], one["candidates"], one["own"], one["tuned"] and "%.2f" % one["tuned"],
            one["tuned_from_slowest"] and "%.2f" % one["tuned_from_slowest"], one["model"], one["best"]))
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
