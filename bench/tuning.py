#!/usr/bin/env python3
"""Tokens per second of a training run with and without a table of tuned configurations, in turns.

    python bench/tuning.py --config configs/quickstart.yaml --table table.yaml --out bench/results/tuning_cpu.json

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time


def tokens_per_second(program, config, steps, table, folder, settings):
    """The median over the logged steps but the first, which loads the kernels."""
    out = pathlib.Path(folder)
    command = [program, "train", "--config", config, "train.steps=%d" % steps, "train.log_every=1",
               "train.final_windows=1", "train.save_every=0", "panel=false", "resume=never", "out=%s" % out] + settings
    run = subprocess.run(command, env=dict(os.environ, TESSERA_TUNED=table), capture_output=True, text=True)
    if run.returncode:
        raise SystemExit("%s\nended with %d:\n%s" % (" ".join(command), run.returncode, run.stderr[-2000:]))
    rates = []
    for line in (out / "metrics.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if "tokens_per_s" in entry and entry.get("step", 0) > 1:
            rates.append(entry["tokens_per_s"])
    return statistics.median(rates)


def cpu_name():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="build/release/bin/tessera")
    parser.add_argument("--config", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--out", required=True)
    parser.add_argument("settings", nargs="*")
    args = parser.parse_args()
    result = {
        "what": "training, tokens per second with and without tuned configurations, in turns",
        "cpu": cpu_name(), "threads": os.cpu_count(), "config": args.config, "settings": args.settings,
        "steps": args.steps,
        "commit": subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip(),
        "date": time.strftime("%Y-%m-%d"), "load_before": os.getloadavg()[0],
        "tokens_per_s": {"own": [], "tuned": []},
    }
    for _ in range(args.times):
        for name, table in (("own", "none"), ("tuned", os.path.abspath(args.table))):
            with tempfile.TemporaryDirectory() as folder:
                rate = tokens_per_second(args.program, args.config, args.steps, table, folder, args.settings)
            result["tokens_per_s"][name].append(rate)
            print("%-6s %8.0f tokens/s" % (name, rate), flush=True)
    result["load_after"] = os.getloadavg()[0]
    medians = {name: statistics.median(rates) for name, rates in result["tokens_per_s"].items()}
    result["gain"] = medians["tuned"] / medians["own"]
    pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    print("tuned / own: %.3f" % result["gain"])


if __name__ == "__main__":
    main()
