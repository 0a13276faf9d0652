# bench/loader.py - tokens that the trainer's loader gives a run in a CPU second.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Micro-batches of 8 x 2,048 tokens from files of 64 MiB: tokens (bytes of text) in a CPU second of all threads of the loader.

bench/train/Loader.cpp takes the batches with the reading thread, as a run does; the fastest of several rounds. CPU seconds of all threads
give about the same numbers on a machine with other work. Needs the target loader_bench."""
import json

OPTIONS, QUICK, ROUNDS = {"batches": 1000}, {"batches": 2}, 5


def rows(options):
    return {"all orders": None}


def measure(row, context):
    yield from json.loads(context.start([context.program("loader_bench"), context.options.batches, context.rounds]).out)
