# bench/host_time.py - host time of a training step on a GPU, with launches that do nothing.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Milliseconds of the host for a step of configs/m7c_125m.yaml (4 micro-batches of 4 x 2,048 tokens) where launches do nothing.

Trains on the simulated driver with SIM_CUDA=idle: launches and copies return at once, torch's operators give tensors of the right shape
without elements (tests/simtorch/Deferred.cpp; this costs the host more than a launch does). The time of a step is that of a run of
steps + 10 less that of one of 10, over the steps; the driver counts launches, copies and waits. Needs the targets sim_cuda, sim_torch and
sim_torch_plugin."""
import os
import pathlib
import shutil
import tempfile

OPTIONS, QUICK = {"steps": 30}, {"steps": 1}
WAITS = ["cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"]
COUNTED = ["cuLaunchKernelEx", "cuGraphLaunch", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemAllocAsync", *WAITS]


def rows(options):
    return {"launch by launch": ([], 1), "runtime.cuda_graph": (["runtime.cuda_graph=true"], 30)}


def program_with_plugin(context, folder):
    """A copy of tessera-train that loads the simulated driver's plug-in for torch's CUDA part."""
    folder.mkdir()
    shutil.copy(context.program("tessera-train"), folder)
    os.symlink(context.program("tessera-worker"), folder / "tessera-worker")
    os.symlink(context.build / "simtorch/libtessera_torch_cuda.so", folder / "libtessera_torch_cuda.so")
    return folder / "tessera-train"


def train(context, program, out, steps, settings):
    """(seconds of training, counts of the driver's functions)."""
    counts, lib = out.with_suffix(".counts"), context.build / "lib"
    metrics, _ = context.train(
        out, "--config", "configs/m7c_125m.yaml", "runtime.device=cuda", "train.steps=%d" % steps, "train.log_every=1000000000",
        "train.save_every=0", "train.eval_every=0", "train.final_windows=1", "threads=1", *settings, program=program,
        LD_PRELOAD=str(lib / "libsim_torch.so"), LD_LIBRARY_PATH=str(lib), SIM_CUDA="idle", SIM_CUDA_GPU="a100",
        TESSERA_CUDA_DRIVER=str(lib / "sim_cuda.so"), SIM_CUDA_COUNTS=str(counts), TESSERA_PTXAS="none")
    called = dict(line.split() for line in counts.read_text().splitlines())
    return metrics["train_seconds"], {name: int(called.get(name, 0)) for name in COUNTED}


def measure(row, context):
    settings, factor = row
    steps = factor * context.options.steps
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = program_with_plugin(context, folder / "bin")
        few, few_counts = train(context, program, folder / "few", 10, settings)
        many, many_counts = train(context, program, folder / "many", steps + 10, settings)
    each = {name: (many_counts[name] - few_counts[name]) / steps for name in COUNTED}
    return {"settings": settings, "steps": steps, "ms": 1e3 * (many - few) / steps, "waits": sum(each[name] for name in WAITS), "calls": each}
