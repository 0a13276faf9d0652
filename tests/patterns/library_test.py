# tests/patterns/library_test.py - every pattern of kernels/patterns against its reference, forward and gradients.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""TESSERA_DEVICE names the device of the kernels; the reference runs on the CPU, in fp64 where gradients are compared. The instances have 1, 2, 6
and 16 query heads for each key/value head, in fp32 and bf16, and batches with empty sequences. Differences of the reference take most of the
time, so the CPU and the simulator compare the gradients of one instance each, and `make test-full` compares the others."""
import os

import pytest
from repository import ROOT, pattern_files
from run_tessera import tessera

DEVICE = os.environ.get("TESSERA_DEVICE", "cpu")
FILES = pattern_files()


def test_the_library_is_there():
    assert len(FILES) >= 9


def check(path, *more):
    done = tessera("check", path, "--device", DEVICE, *more)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_kernels_match_the_reference(path):
    output = check(path, "--no-gradients")
    for instance in ("f32", "narrow_f32", "wide_bf16", "bf16"):
        assert f"  {path.stem}_{instance} " in output, output


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_gradients_match_differences_of_the_reference(path):
    gradients(path, "f32" if DEVICE == "cpu" else "narrow_f32")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_gradients_of_the_other_instances(path):
    for instance in ("narrow_f32" if DEVICE == "cpu" else "f32", "bf16", "wide_bf16"):
        gradients(path, instance)


def gradients(path, instance):
    output = check(path, "-i", f"{path.stem}_{instance}")
    assert f"{path.stem}_bwd_dq, {path.stem}_bwd_dkdv against finite differences" in output


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_is_short(path):
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert len(lines) <= 30


def test_the_tiles_of_a_pattern_are_the_first_configuration():
    printed = tessera("compile", ROOT / "kernels/patterns/fixed.py", "--emit", "pattern").stdout
    following = "\n# tessera: cpu(BM=64, BN=32"
    assert printed.count("# tessera: cpu(SPLIT=1, BM=64, BN=64, RUN=16)" + following) == 3
    # Its tiles of keys are adjacent: it visits tiles of queries.
    assert printed.count("# tessera: cpu(SPLIT=0, BM=64, BN=16)" + following) == 1


def test_the_printed_kernels_are_a_file_of_their_own(tmp_path):
    path = ROOT / "kernels/patterns/window.py"
    printed = tessera("compile", path, "--emit", "pattern").stdout
    assert printed.startswith(path.read_text())
    copy = tmp_path / "window.py"
    copy.write_text(printed)
    assert tessera("compile", copy, "--emit", "pattern").stdout == printed
    assert tessera("compile", copy, "--list").stdout == tessera("compile", path, "--list").stdout
