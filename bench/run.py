#!/usr/bin/env python3
# bench/run.py - starts the benchmarks of this folder: bench/run.py padding --quick; --help has the options.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import runner  # noqa: E402

if __name__ == "__main__":
    sys.exit(runner.main())
