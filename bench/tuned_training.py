# bench/tuned_training.py - from an empty cache: train, tune, train with the table, start again; packs and a simulated GPU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Training without and with a table of tuned configurations, from an empty cache.

Each row follows docs/tuning.md with a separate cache: `tessera tune --config ... --device cpu`, `--show`, then training without and with the
table alternately (each run a process; tokens per second are the median over its steps but the first), then one more start, which must
compile nothing. The patterns are also packed for the cpu and sm_80, and three steps of them on CUDA tensors on the simulated driver,
from the pack, are compared with the cpu's. `new_kernel` is what `tessera new kernel` writes. Needs the targets sim_cuda and sim_torch."""
import pathlib
import statistics
import tempfile
import time

from harness import rotated

SMALL = ["train.seq_len=64", "train.batch_size=1", "train.device_batch_size=1", "train.steps=3"]
GAINS_BEYOND_NOISE = 0.98
OPTIONS, QUICK, ROUNDS = {"steps": 100, "budget": "90s"}, {"steps": 3, "budget": "30s"}, 3


def rows(options):
    return {name: name for name in ("quickstart", "dilated_window", "new_kernel")}


class Part:
    """One config with a cache, a table and runs, all in `folder`."""

    def __init__(self, context, name, folder):
        self.context, self.name, self.folder, self.table = context, name, folder, folder / "table.yaml"
        self.config = self.write_new_kernel() if name == "new_kernel" else "configs/%s.yaml" % name

    def tessera(self, *arguments):
        return self.context.start([self.context.program("tessera"), *arguments], TESSERA_CACHE_DIR=str(self.folder / "cache"))

    def write_new_kernel(self):
        self.tessera("new", "kernel", "fresh", "--dir", self.folder)
        text = (self.context.root / "configs/dilated_window.yaml").read_text()
        text = text.replace("kernels/tutorials/dilated_window.py", str(self.folder / "fresh.py"))
        text = text.replace("fwd: dilated_window", "fwd: fresh").replace("bwd: dilated_window_bwd", "bwd: fresh_bwd")
        config = self.folder / "fresh.yaml"
        config.write_text(text.replace("W=32, STEP=4", "W=32"))
        return config

    def train(self, out, table, settings, **environment):
        return self.context.train(self.folder / out, "--config", self.config, "train.log_every=1", "train.final_windows=1", "train.save_every=0",
                                  *settings, TESSERA_TUNED=str(table), TESSERA_CACHE_DIR=str(self.folder / "cache"), **environment)

    def tune(self, budget):
        start = time.monotonic()
        done = self.tessera("tune", "--config", self.config, "--device", "cpu", "--budget", budget, "--out", self.table)
        said = (done.out + done.err).splitlines()
        return {"seconds": time.monotonic() - start, "said": said[-1], "show": self.tessera("tune", "--show", self.table).out.splitlines()}

    def rates(self, steps, rounds):
        rates = {"own": [], "tuned": []}
        for turn in range(rounds):
            for kind, table in rotated([("own", "none"), ("tuned", self.table)], turn):
                entries = self.train("%s%d" % (kind, turn), table, ["train.steps=%d" % steps])[1]
                rates[kind].append(statistics.median(entry["tokens_per_s"] for entry in entries if entry.get("step", 0) > 1 and "tokens_per_s" in entry))
        return rates

    def second_start(self):
        metrics = self.train("again", self.table, ["train.steps=3"])[0]
        return {key: metrics[key] for key in ("kernels_compiled", "compiler_processes", "kernels_compiled_after_step_1")}

    def simulated_gpu(self):
        """Three steps on CUDA tensors from a pack, compared with the same on the cpu."""
        pack, lib = self.folder / "run.tpack", self.context.build / "lib"
        self.tessera("pack", "--config", self.config, "--targets", "cpu,sm_80", "--table", self.table, "-o", pack, *SMALL)
        on_cpu = self.train("cpu", self.table, SMALL, TESSERA_PACK=str(pack))
        on_gpu = self.train("gpu", self.table, SMALL + ["runtime.device=cuda"], TESSERA_PACK=str(pack), LD_PRELOAD=str(lib / "libsim_torch.so"),
                            SIM_CUDA_GPU="a100", TESSERA_CUDA_DRIVER=str(lib / "sim_cuda.so"), TESSERA_PTXAS="none")
        losses = [[entry["bpb"] for entry in run[1] if "bpb" in entry] for run in (on_cpu, on_gpu)]
        return {"pack_bytes": pack.stat().st_size, "losses_cpu": losses[0], "losses_gpu": losses[1],
                "largest_difference": max(abs(a / b - 1) for a, b in zip(*losses)),
                **{key: on_gpu[0][key] for key in ("kernels_packed", "kernels_not_in_pack", "kernels_compiled", "compiler_processes")}}


def measure(name, context):
    with tempfile.TemporaryDirectory() as folder:
        part = Part(context, name, pathlib.Path(folder))
        record = {"part": name, "tune": part.tune(context.options.budget), "tokens_per_s": part.rates(context.options.steps, context.rounds),
                  "second_start": part.second_start()}
        record["gain"] = statistics.median(record["tokens_per_s"]["tuned"]) / statistics.median(record["tokens_per_s"]["own"])
        record["met"] = record["gain"] >= GAINS_BEYOND_NOISE and not any(record["second_start"].values())
        if name != "quickstart":
            gpu = record["simulated_gpu"] = part.simulated_gpu()
            record["met"] &= gpu["largest_difference"] < 1e-3 and not (gpu["kernels_not_in_pack"] or gpu["kernels_compiled"] or gpu["compiler_processes"])
        return record
