# bench/step_lengths.py - an optimizer step with Native Sparse Attention next to the same model with dense attention, by length.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/step_lengths.py build/release [lengths=8192] [rounds=2] [result=FILE]

A model of 6 layers, 384 wide, 6 heads in 2 groups, the paper's blocks, fp32, two threads, one sequence: `tessera bench step` of each
attention in turns. Times are those of its report."""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MODEL = ["model.dim=384", "model.n_layers=6", "model.n_heads=6", "model.n_kv_groups=2", "model.d_k=64", "model.d_v=64",
         "model.mlp_dim=1600", "nsa.l=32", "nsa.d=16", "nsa.l_sel=64", "nsa.n_sel=16", "nsa.w=512", "train.batch_size=1",
         "train.accumulate_grad_batches=1", "threads=2"]


def step(build, length, attention, rounds):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "step"
        subprocess.run([build / "bin/tessera", "bench", "step", "--lengths", str(length), "--rounds", str(rounds), "--out", str(out),
                        "attention=" + attention, *MODEL], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(out.with_suffix(".json").read_text())["rows"][0]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    options = dict(part.split("=", 1) for part in sys.argv[2:])
    rounds, rows = int(options.get("rounds", 2)), []
    for length in map(int, options.get("lengths", "8192").split(",")):
        found = {attention: step(build, length, attention, rounds) for attention in ("nsa", "dense")}
        row = {"tokens": length, **{attention + "_ms": figures["us"] / 1e3 for attention, figures in found.items()}}
        row["dense_over_nsa"] = row["dense_ms"] / row["nsa_ms"]
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    result = {"what": "milliseconds of an optimizer step by the tokens of its one sequence, NSA and dense attention by our kernels",
              "command": "bench/step_lengths.py build/release rounds=%d result=bench/results/step_lengths_cpu.json" % rounds,
              "settings": MODEL, "date": str(datetime.date.today()), "load": os.getloadavg()[0], "rows": rows,
              "commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()}
    if "result" in options:
        pathlib.Path(options["result"]).write_text(json.dumps(result, indent=1) + "\n")


main()
