# bench/harness/context.py - what a benchmark gets from the command line, and how it starts programs of the build.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types

from harness.facts import ROOT
from harness.timing import alternate


def failure(problem):
    """One line on an exception: its first line, and its last one, which is a program's error."""
    lines = str(problem).strip().splitlines() or [""]
    return "%s: %s" % (type(problem).__name__, " ... ".join(dict.fromkeys([lines[0], lines[-1]])))


class Context:
    """build, threads and rounds of the command line; `options` has those of the benchmark as attributes; `records` the records so far,
    an interrupted run's included."""

    def __init__(self, build, threads=2, rounds=9, quick=False, options=None):
        self.root, self.build = ROOT, pathlib.Path(build).resolve()
        self.threads, self.rounds, self.quick = threads, rounds, quick
        self.options, self.records, self.emit = types.SimpleNamespace(**(options or {})), [], print
        self.library = self.build / "lib/libtessera_torch.so"
        os.environ.setdefault("PROGRAM", str(self.program("tessera")))
        os.environ.setdefault("SIM_ABI", str(self.build / "lib/libtessera_sim_abi.so"))
        os.environ.setdefault("LIBTESSERA_TORCH", str(self.library))

    @functools.cached_property
    def flop_per_second(self):
        """The machine's peak in fp32, as `tessera bench` measures it."""
        return self.bench("fwd", "--lengths", "64", "--rounds", "1", "threads=%d" % self.threads)["peak"]["flop_per_s"]

    @functools.cached_property
    def bytes_per_second(self):
        """Bytes that a copy reads and writes in a second; no cache holds them."""
        source = self.torch.ones(1 << 26)
        target = self.torch.empty_like(source)
        return 2 * source.nbytes / (min(alternate({"copy": lambda: target.copy_(source)}, 5)["copy"]) / 1e3)

    def program(self, name):
        return self.build / "bin" / name

    @functools.cached_property
    def torch(self):
        """torch with tessera's ops and as many threads as the command line says."""
        import torch
        torch.set_num_threads(self.threads)
        torch.ops.load_library(str(self.library))
        return torch

    def start(self, command, check=True, **environment):
        """Runs a program in the root of the checkout; its standard output and error. Raises RuntimeError with the last lines if it fails."""
        command = [str(part) for part in command]
        done = subprocess.run(command, env={**os.environ, **environment}, cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False)
        if check and done.returncode:
            raise RuntimeError("%s ended with %d: %s" % (" ".join(command), done.returncode, (done.stderr or done.stdout).strip()[-2000:]))
        return types.SimpleNamespace(out=done.stdout, err=done.stderr, status=done.returncode)

    def train(self, out, *settings, program=None, **environment):
        """(metrics.json, the records of metrics.jsonl) of a training run in the folder `out`."""
        self.start([program or self.program("tessera-train"), "train", "out=%s" % out, "panel=false", "resume=never", *settings], **environment)
        out = pathlib.Path(out)
        lines = (out / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return json.loads((out / "metrics.json").read_text(encoding="utf-8")), [json.loads(line) for line in lines]

    def bench(self, verb, *arguments):
        """The result of `tessera bench VERB`. Its exit status does not count: it tells whether a target is met."""
        with tempfile.TemporaryDirectory() as folder:
            self.start([self.program("tessera"), "bench", verb, "--out", folder + "/out", *arguments], check=False)
            return json.loads(pathlib.Path(folder, "out.json").read_text(encoding="utf-8"))

    def kernels_of(self, commit, folder):
        """Puts the folder kernels/ of a commit into `folder`."""
        archive = subprocess.run(["git", "-C", str(self.root), "archive", commit, "kernels"], capture_output=True, check=True)
        subprocess.run(["tar", "x", "-C", str(folder)], input=archive.stdout, check=True)
        return pathlib.Path(folder) / "kernels"


def simulator_path():
    """Makes the modules of tests/simulator and tests/triton importable: they start kernels on the simulator."""
    for folder in ("tests/simulator", "tests/triton", "tests/helpers"):
        if str(ROOT / folder) not in sys.path:
            sys.path.append(str(ROOT / folder))
