# tests/differential/unreachable_test.py - LLVM's passes make no instruction of a generated kernel unreachable.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""LIBTESSERA_TORCH names the library of the ops.

LLVM replaces code that has no defined behaviour, such as an access through a null pointer, by `unreachable`."""
import os
import pathlib
import re
import tempfile

SEEDS = range(40000, 40020)


def unreachable(text):
    return len(re.findall(r"^\s*(?:llvm\.|ub\.)?unreachable\s*$", text, re.MULTILINE))


def test_no_pass_adds_one():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TESSERA_DUMP"] = folder + "/dump"
        import torch
        from program import generate
        from run import contents
        torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
        for seed in SEEDS:
            case = generate(seed, ("pointers",))
            path = pathlib.Path(folder) / f"seed_{seed}.py"
            path.write_text(case.text)
            torch.ops.tessera.launch(str(path), "kernel", [contents(b, seed) for b in case.buffers],
                                     [case.scalars["n"], case.scalars["scale"]], list(case.grid),
                                     "M=%d, N=%d" % case.tile)
        dumps = sorted((pathlib.Path(folder) / "dump").iterdir())
        assert len(dumps) == len(SEEDS)
        for dump in dumps:
            before, after = (unreachable((dump / name).read_text()) for name in ("02-loops.mlir", "03-llvm.ll"))
            assert after <= before, (dump / "00-request.json").read_text()
