# bench/host_time.py - what the host does for a step of configs/m7c_125m.yaml on a GPU, with launches that do nothing.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/host_time.py build/release [steps=30] [result=FILE]

Trains on the simulated driver with SIM_CUDA=idle: launches and copies return at once, torch's operators give tensors of the
right shape without elements (tests/simtorch/Deferred.cpp; that costs the host more than a launch does). The time of a step is that
of a run of steps + 10 less that of one of 10, over the steps; launches, copies and waits are counted by the driver. Once launch by
launch, once with runtime.cuda_graph. Build sim_cuda, sim_torch and sim_torch_plugin first."""
import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

WAITS = ["cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize"]
COUNTED = ["cuLaunchKernelEx", "cuGraphLaunch", "cuMemcpyHtoD", "cuMemcpyDtoH", "cuMemAllocAsync", *WAITS]


def program_beside_plugin(build, folder):
    """A copy of tessera-train that takes the simulated driver's plug-in for torch's CUDA part."""
    folder.mkdir()
    shutil.copy(build / "bin/tessera-train", folder)
    os.symlink(build / "bin/tessera-worker", folder / "tessera-worker")
    os.symlink(build / "simtorch/libtessera_torch_cuda.so", folder / "libtessera_torch_cuda.so")
    return folder / "tessera-train"


def train(build, program, out, steps, settings):
    """(seconds of training, counts of the driver's functions)."""
    counts = out.with_suffix(".counts")
    lib = build / "lib"
    environment = dict(os.environ, LD_PRELOAD=str(lib / "libsim_torch.so"), LD_LIBRARY_PATH=str(lib), SIM_CUDA="idle", SIM_CUDA_GPU="a100",
                       TESSERA_CUDA_DRIVER=str(lib / "sim_cuda.so"), SIM_CUDA_COUNTS=str(counts), TESSERA_PTXAS="none")
    done = subprocess.run([program, "train", "--config", "configs/m7c_125m.yaml", "runtime.device=cuda", "out=%s" % out,
                           "train.steps=%d" % steps, "train.log_every=1000000000", "train.save_every=0", "train.eval_every=0",
                           "train.final_windows=1", "threads=1", *settings], env=environment, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    metrics = json.loads((out / "metrics.json").read_text())
    shutil.rmtree(out)
    called = dict(line.split() for line in counts.read_text().splitlines())
    return metrics["train_seconds"], {name: int(called.get(name, 0)) for name in COUNTED}


def measure(build, program, folder, steps, settings):
    few, few_counts = train(build, program, folder / "few", 10, settings)
    many, many_counts = train(build, program, folder / "many", steps + 10, settings)
    each = {name: (many_counts[name] - few_counts[name]) / steps for name in COUNTED}
    return {"settings": settings, "steps": steps, "ms": 1e3 * (many - few) / steps, "waits": sum(each[name] for name in WAITS), "calls": each}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    options = dict(part.split("=", 1) for part in sys.argv[2:])
    steps = int(options.get("steps", 30))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = program_beside_plugin(build, folder / "bin")
        rows = [measure(build, program, folder, steps, []), measure(build, program, folder, 30 * steps, ["runtime.cuda_graph=true"])]
    result = {"what": "milliseconds of the host for a step of configs/m7c_125m.yaml (4 micro-batches of 4 x 2,048 tokens) where launches "
                      "do nothing, and the driver's calls of a step",
              "command": "bench/host_time.py build/release steps=%d result=bench/results/host_time.json" % steps,
              "commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout.strip(),
              "date": str(datetime.date.today()), "load": os.getloadavg()[0], "rows": rows}
    text = json.dumps(result, indent=1) + "\n"
    if "result" in options:
        pathlib.Path(options["result"]).write_text(text)
    print(text, end="")


main()
