# tests/generator/seed_log.py - which seeds of the second generator have run.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import subprocess
import time

import torch

HERE = pathlib.Path(__file__).resolve().parent


class SeedLog:
    """The ranges of seeds that have run on a device: a JSON line for every minute, with how many kernels had a fault."""

    def __init__(self, path, device):
        self.path, self.device, self.begin, self.since = path, device, None, time.monotonic()

    def next_seed(self, first, end):
        """The first seed from `first` on that has not run."""
        lines = self.path.read_text().splitlines() if self.path and self.path.exists() else []
        ranges = sorted((row["first"], row["last"]) for row in map(json.loads, lines) if row["device"] == self.device)
        for low, high in ranges:
            if low <= first <= high:
                first = high + 1
        return min(first, end)

    def add(self, seed, faults, last=False):
        """`faults` of the kernels since the line before; `seed` has run."""
        if not self.path:
            return faults
        if self.begin is None:
            self.begin = seed
        seconds = time.monotonic() - self.since
        if seconds < 60 and not last:
            return faults
        row = dict(device=self.device, first=self.begin, last=seed, faults=faults, seconds=round(seconds, 1), torch=torch.__version__,
                   commit=commit(), date=time.strftime("%Y-%m-%d", time.gmtime()))
        with self.path.open("a") as out:
            out.write(json.dumps(row) + "\n")
        self.begin, self.since = None, time.monotonic()
        return 0


def commit():
    done = subprocess.run(["git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"
