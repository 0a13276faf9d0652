#!/usr/bin/env python3
"""Random kernels of the second generator against numpy (docs/generator.md).

    python tests/generator/run.py --seeds 0:500                          # on the CPU
    TESSERA_DEVICE=sim:sm_80 python tests/generator/run.py --seeds 0:200  # as PTX, on the simulator
    python tests/generator/run.py --corpus                               # kernels that were wrong once
    python tests/generator/run.py --seeds new --minutes 20               # new seeds
    python tests/generator/run.py --seeds 0:20000 --log log.jsonl        # appends to a log and continues where the log ends

The program makes a kernel that is wrong or refused smaller and writes it to --out. To add it to the corpus, move its two files to
tests/generator/corpus. Exit status: 1 if there is one.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
import torch  # noqa: E402
import case  # noqa: E402
import grow  # noqa: E402
import seed_log  # noqa: E402
import shrink  # noqa: E402


def report(out, name, program, fault):
    out.mkdir(parents=True, exist_ok=True)
    made = case.Case.of(program)
    comment = "# %s, %s: %s\n# %d programs, scalars %s, options %s\n" % (name, os.environ.get("TESSERA_DEVICE", "cpu"), fault[1].replace("\n", " "),
                                                                  made.programs, made.scalars, made.options)
    made.save(out / name, comment)
    return out / (name + ".py")


def run_seeds(arguments, runner):
    first, end = (int(time.time()), 2**40) if arguments.seeds == "new" else map(int, arguments.seeds.split(":"))
    device = os.environ.get("TESSERA_DEVICE", "cpu")
    on_gpu, log, unlogged = device != "cpu", seed_log.SeedLog(arguments.log, device), 0
    first = log.next_seed(first, end)
    start, shown, faults, done = time.monotonic(), time.monotonic(), 0, 0
    for seed in range(first, end):
        now = time.monotonic()
        if arguments.minutes and now - start > arguments.minutes * 60:
            break
        if now - shown > 10:
            shown = now
            left = arguments.minutes * 60 - (now - start) if arguments.minutes else (now - start) / done * (end - first - done)
            print("%d kernels, %d faults, about %.0f min left" % (done, faults, left / 60), file=sys.stderr, flush=True)
        program = grow.Grower(seed).grow()
        if on_gpu:
            for buffer in program.buffers:  # docs/language/types.md: accesses through different arguments have no order there
                buffer.alias = -1
        find = lambda p: runner.fault(case.Case.of(p))
        fault = find(program)
        done += 1
        unlogged = log.add(seed, unlogged + bool(fault))
        if fault:
            faults += 1
            if not arguments.keep_size:
                program, fault = shrink.smaller(program, fault, find)
            print("seed %d: %s: %s (%s)" % (seed, *fault, report(arguments.out, "seed_%d" % seed, program, fault)), flush=True)
    if log.begin is not None:
        log.add(first + done - 1, unlogged, last=True)
    print("%d kernels (seeds %d to %d), %d faults" % (done, first, first + done - 1, faults))
    return faults


def run_corpus(folder, runner):
    files = sorted(folder.glob("*.npz"))
    faults = [(path.stem, fault) for path in files if (fault := runner.fault(case.Case.load(path)))]
    for name, fault in faults:
        print("%s: %s: %s" % (name, *fault))
    print("%d kernels of the corpus, %d faults" % (len(files), len(faults)))
    return len(faults) or not files


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", help="FIRST:END, or new: from the clock")
    parser.add_argument("--corpus", action="store_true", help="run tests/generator/corpus")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/generator"), help="folder of findings")
    parser.add_argument("--log", type=pathlib.Path, help="append the seeds that have run to this file, and leave out those that it has")
    parser.add_argument("--keep-size", action="store_true", help="do not make failing kernels smaller")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many minutes")
    arguments = parser.parse_args()
    if not arguments.seeds and not arguments.corpus:
        parser.error("give --seeds or --corpus")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        runner, faults = case.Runner(folder), 0
        if arguments.corpus:
            faults += run_corpus(HERE / "corpus", runner)
        if arguments.seeds:
            faults += run_seeds(arguments, runner)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
