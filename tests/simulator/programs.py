# tests/simulator/programs.py - the tests whose launches run again under other schedules.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import time

from repository import PROGRAM, ROOT, commit


class Program:
    """Tests that run in one process; `simulate`: the settings of simulator_launcher.use(). Rows of results have the name."""

    def __init__(self, name, tests, simulate=None):
        self.name, self.tests, self.simulate = name, tests, simulate

    def run(self, **environment):
        """Its process, which has ended."""
        settings = {} if self.simulate is None else dict(SIMULATE=self.simulate)
        return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *self.tests], cwd=ROOT, capture_output=True,
                              text=True, env=dict(os.environ, **settings, **environment))


def _kernels(test, simulate="", *shapes):
    """A file of tests/triton; of forward, backward and gated the shapes of these numbers."""
    file = f"tests/triton/{test}_test.py"
    return Program(" ".join(filter(None, ("kernels", test, simulate, *shapes))),
                   [f"{file}::test_{test}[{shape}]" for shape in shapes] or [file], simulate)


def _ours(test, precision="", *shapes):
    return _kernels(test, f"compiler=tessera {precision}".strip(), *shapes)


_tutorials = [f"tests/simulator/tutorials_test.py::test_{name}" for name in ("tf32", "bf16", "softmax", "layer_norm")]
# Our compiler's PTX of kernels/, and what of it the schedules run.
OURS = [_ours("forward", "precision=tf32", "1"), _ours("backward", "precision=tf32", "1"), _ours("nn"), _ours("lists"),
        *(_ours(test, "precision=ieee") for test in ("chunks", "parts", "decode", "one_sweep")), _ours("gated", "precision=ieee", "2", "6"),
        _ours("inverse", "precision=ieee"), _ours("backward", "precision=tf32", "13"),
        Program("kernels tutorials compiler=tessera", _tutorials, "compiler=tessera")]
QUICK = [*OURS[:2], _kernels("forward", "precision=tf32", "1")]
FULL = [*QUICK, _kernels("backward", "precision=tf32", "1"), _kernels("nn"), Program("tutorials", _tutorials),
        Program("cuda 1", ["tests/simulator/cuda_test.py::test_stages[1]"]),
        *(program for program in OURS[2:] if program.tests[0] not in ("tests/triton/parts_test.py", "tests/triton/one_sweep_test.py"))]


def run(program, **environment):
    """Runs the program; raises AssertionError with its output if a test fails."""
    start, done = time.time(), program.run(**environment)
    assert done.returncode == 0, f"{program.name} exits with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    print(f"{program.name}: {time.time() - start:.0f} s", flush=True)


def record(programs, folder):
    """[(program, files of its launches)], which the simulator writes (simulator.RECORD). A program that ran at this commit with this
    build does not run again."""
    recorded, now = [], f"{commit()} {os.stat(PROGRAM).st_mtime}"
    for program in programs:
        target = folder / re.sub(r"[^\w]+", "_", program.name)
        complete = target / "complete"
        if not complete.exists() or complete.read_text() != now:
            target.mkdir(parents=True, exist_ok=True)
            for old in target.glob("*.pickle"):
                old.unlink()
            run(program, SIM_RECORD=str(target))
            complete.write_text(now)
        recorded.append((program, sorted(target.glob("*.pickle"))))
    return recorded
