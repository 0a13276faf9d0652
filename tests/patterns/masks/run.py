#!/usr/bin/env python3
"""Random patterns through the op against a reference in fp64 (docs/patterns.md).

    python tests/patterns/masks/run.py --seeds 0:100
    python tests/patterns/masks/run.py --seeds 0:1000 --log log.jsonl     # appends to a log and continues where the log ends

The environment is that of ctest: PYTHONPATH=python, LIBTESSERA_TORCH. Exit status: 1 if a pattern is wrong or refused.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "helpers"), str(HERE.parents[1] / "generator")]
sys.dont_write_bytecode = True
import torch  # noqa: E402
import mask_case  # noqa: E402
import seed_log  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", required=True, help="FIRST:END")
    parser.add_argument("--log", type=pathlib.Path, help="append the seeds that have run to this file, and leave out those that it has")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many minutes")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    log = seed_log.SeedLog(arguments.log, os.environ.get("TESSERA_DEVICE", "cpu"))
    first, end = map(int, arguments.seeds.split(":"))
    first = log.next_seed(first, end)
    start, faults, unlogged, seed = time.monotonic(), 0, 0, first - 1
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TESSERA_CACHE_DIR"] = folder  # the kernels of one run are of no use to another
        for seed in range(first, end):
            if arguments.minutes and time.monotonic() - start > arguments.minutes * 60:
                seed -= 1
                break
            case = mask_case.grow(seed)
            wrong = mask_case.run(case, folder)
            if wrong:
                faults += 1
                print(f"seed {seed}: {wrong}\n{case.describe()}", flush=True)
            unlogged = log.add(seed, unlogged + bool(wrong))
            print(f"{seed - first + 1} patterns, {faults} faults, {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    if log.begin is not None:
        log.add(seed, unlogged, last=True)
    print(f"{seed - first + 1} patterns (seeds {first} to {seed}), {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
