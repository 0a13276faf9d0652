# bench/tuned_training.py - from an empty cache: train, tune, train with the table, start again; packs and a simulated GPU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/tuned_training.py build/release [parts=quickstart,dilated_window,new_kernel] [steps=100] [times=3]
       [budget=2m] [result=FILE]

Each part goes the way of docs/tuning.md with a cache of its own: `tessera tune --config ... --device cpu --budget 2m`, `--show`, then
training without and with the table in turns (each run a process; tokens per second are the median over its steps but the first),
then one more start, which must compile nothing. The patterns are packed for the cpu and sm_80, too, and three steps of them on
CUDA tensors on the simulated driver, from the pack, are compared with the cpu's. `new_kernel` is what `tessera new kernel` writes.
Parts that FILE has of the same commit are not run again. Build sim_cuda and sim_torch first."""
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

PARTS = ["quickstart", "dilated_window", "new_kernel"]
SMALL = ["train.seq_len=64", "train.batch_size=1", "train.device_batch_size=1", "train.steps=3"]
GAINS_BEYOND_NOISE = 0.98


def sh(command, **environment):
    done = subprocess.run([str(part) for part in command], env=dict(os.environ, **environment), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("%s\nended with %d:\n%s" % (" ".join(map(str, command)), done.returncode, (done.stdout + done.stderr)[-3000:]))
    return done.stdout + done.stderr


class Part:
    """One config with its own cache, table and runs, all in `folder`."""

    def __init__(self, build, name, folder):
        self.tessera, self.trainer, self.lib = build / "bin/tessera", build / "bin/tessera-train", build / "lib"
        self.name, self.folder = name, folder
        self.table = folder / "table.yaml"
        self.environment = {"TESSERA_CACHE_DIR": str(folder / "cache")}
        self.config = pathlib.Path("configs/%s.yaml" % name)
        if name == "new_kernel":
            self.config = self.write_new_kernel()

    def write_new_kernel(self):
        sh([self.tessera, "new", "kernel", "fresh", "--dir", self.folder])
        text = pathlib.Path("configs/dilated_window.yaml").read_text()
        text = text.replace("kernels/tutorials/dilated_window.py", str(self.folder / "fresh.py"))
        text = text.replace("fwd: dilated_window", "fwd: fresh").replace("bwd: dilated_window_bwd", "bwd: fresh_bwd")
        config = self.folder / "fresh.yaml"
        config.write_text(text.replace("W=32, STEP=4", "W=32"))
        return config

    def train(self, out, table, settings, program=None, **environment):
        """(metrics.json, the entries of metrics.jsonl)."""
        sh([program or self.tessera, "train", "--config", self.config, "out=%s" % (self.folder / out), "panel=false", "resume=never",
            "train.log_every=1", "train.final_windows=1", "train.save_every=0", *settings],
           **dict(self.environment, TESSERA_TUNED=str(table), **environment))
        run = self.folder / out
        return json.loads((run / "metrics.json").read_text()), [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]

    def tune(self, budget):
        start = time.monotonic()
        said = sh([self.tessera, "tune", "--config", self.config, "--device", "cpu", "--budget", budget, "--out", self.table], **self.environment)
        return {"seconds": time.monotonic() - start, "said": said.splitlines()[-1], "show": sh([self.tessera, "tune", "--show", self.table]).splitlines()}

    def rates(self, steps, times):
        rates = {"own": [], "tuned": []}
        for turn in range(times):
            order = [("own", "none"), ("tuned", self.table)]
            for kind, table in order if turn % 2 == 0 else order[::-1]:
                entries = self.train("%s%d" % (kind, turn), table, ["train.steps=%d" % steps])[1]
                rates[kind].append(statistics.median(entry["tokens_per_s"] for entry in entries if entry.get("step", 0) > 1 and "tokens_per_s" in entry))
                print("%-14s %-6s %8.0f tokens/s" % (self.name, kind, rates[kind][-1]), flush=True)
        return rates

    def second_start(self):
        metrics = self.train("again", self.table, ["train.steps=3"])[0]
        return {key: metrics[key] for key in ("kernels_compiled", "compiler_processes", "kernels_compiled_after_step_1")}

    def simulated_gpu(self):
        """Three steps on CUDA tensors from a pack, beside the same on the cpu."""
        pack = self.folder / "run.tpack"
        sh([self.tessera, "pack", "--config", self.config, "--targets", "cpu,sm_80", "--table", self.table, "-o", pack, *SMALL], **self.environment)
        on_cpu = self.train("cpu", self.table, SMALL, TESSERA_PACK=str(pack))
        on_gpu = self.train("gpu", self.table, SMALL + ["runtime.device=cuda"], program=self.trainer, TESSERA_PACK=str(pack),
                            LD_PRELOAD=str(self.lib / "libsim_torch.so"), SIM_CUDA_GPU="a100",
                            TESSERA_CUDA_DRIVER=str(self.lib / "sim_cuda.so"), TESSERA_PTXAS="none")
        losses = [[entry["bpb"] for entry in run[1] if "bpb" in entry] for run in (on_cpu, on_gpu)]
        return {"pack_bytes": pack.stat().st_size, "losses_cpu": losses[0], "losses_gpu": losses[1],
                "largest_difference": max(abs(a / b - 1) for a, b in zip(*losses)),
                **{key: on_gpu[0][key] for key in ("kernels_packed", "kernels_not_in_pack", "kernels_compiled", "compiler_processes")}}


def measure(build, name, steps, times, budget):
    with tempfile.TemporaryDirectory() as folder:
        part = Part(build, name, pathlib.Path(folder))
        row = {"tune": part.tune(budget), "tokens_per_s": part.rates(steps, times), "second_start": part.second_start()}
        row["gain"] = statistics.median(row["tokens_per_s"]["tuned"]) / statistics.median(row["tokens_per_s"]["own"])
        row["met"] = row["gain"] >= GAINS_BEYOND_NOISE and not any(row["second_start"].values())
        if name != "quickstart":
            gpu = row["simulated_gpu"] = part.simulated_gpu()
            row["met"] &= gpu["largest_difference"] < 1e-3 and not (gpu["kernels_not_in_pack"] or gpu["kernels_compiled"] or gpu["compiler_processes"])
        return row


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    options = dict(part.split("=", 1) for part in sys.argv[2:])
    steps, times, budget = int(options.get("steps", 100)), int(options.get("times", 3)), options.get("budget", "2m")
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], check=True, capture_output=True, text=True).stdout.strip()
    result = {"what": __doc__.split("\n\n")[1].replace("\n", " "), "command": "bench/tuned_training.py " + " ".join(sys.argv[1:]), "commit": commit}
    path = pathlib.Path(options["result"]) if "result" in options else None
    if path and path.exists() and json.loads(path.read_text())["commit"] == commit:
        result = json.loads(path.read_text())
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    result.update({"date": str(datetime.date.today()), "machine": "%d cores of an %s" % (os.cpu_count(), model)})
    rows = result.setdefault("parts", {})
    for name in options.get("parts", ",".join(PARTS)).split(","):
        if name not in rows:
            load = os.getloadavg()[0]
            rows[name] = dict(measure(build, name, steps, times, budget), load_before=load)
        print("%-14s tuned / own %.3f, second start compiles %d: %s" % (
            name, rows[name]["gain"], rows[name]["second_start"]["kernels_compiled"], "met" if rows[name]["met"] else "MISSED"), flush=True)
        if path:
            path.write_text(json.dumps(result, indent=1) + "\n")
    return 0 if all(row["met"] for row in rows.values()) else 1


sys.exit(main())
