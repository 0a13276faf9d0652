# tests/simulator/schedules_test.py - real PTX under random schedules and with the sums of measured tensor cores.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""schedules_test.py [seeds=3] [first=1]

Runs the other tests of this folder, whose results must stay within their limits and in which no check may fire: once for each seed
with that order of blocks, warps and branches (odd ones with copies that read at issue, even ones with lanes apart), then with the
tensor cores of an A100 and of an H100. A small set of our PTX and Triton's; schedules_all_test.py has all of it."""
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
QUICK = [["kernels", "forward", "compiler=tessera", "precision=tf32", "1"], ["kernels", "backward", "compiler=tessera", "precision=tf32", "1"],
         ["kernels", "forward", "precision=tf32", "1"]]


def run(name, programs, environment):
    """Failures of the programs, which are said at once."""
    failures, start = 0, time.time()
    for program in programs:
        done = subprocess.run([sys.executable, HERE / f"{program[0]}_test.py", *program[1:]], capture_output=True, text=True,
                              env=dict(os.environ, **environment))
        if done.returncode:
            failures += 1
            print(f"{name}: {' '.join(program)} exits with {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}", flush=True)
    print(f"{name}: {len(programs) - failures} of {len(programs)} good, {time.time() - start:.0f} s", flush=True)
    return failures


def main(arguments):
    settings = dict(a.split("=") for a in arguments if "=" in a)
    failures, first = 0, int(settings.get("first", 1))
    for seed in range(first, first + int(settings.get("seeds", 3))):
        failures += run(f"seed {seed}", QUICK, dict(SIM_SEED=str(seed), SIM_FLAGS="at_issue" if seed % 2 else "apart"))
    for cores in ("a100", "h100"):
        failures += run(cores, QUICK, dict(SIM_FLAGS=cores))
    print("failures:", failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
