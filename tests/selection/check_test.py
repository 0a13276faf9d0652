# tests/selection/check_test.py - tessera check of patterns that select blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import pytest
from repository import ROOT, pattern_files
from run_tessera import tessera

DEVICE = os.environ.get("TESSERA_DEVICE", "cpu")
FILES = sorted(set((ROOT / "kernels/patterns").glob("*.py")) - set(pattern_files()))


def test_the_library_selects_blocks():
    assert {path.stem for path in FILES} >= {"moba", "infllm_v2", "learned_blocks", "nsa", "heavily_compressed", "compressed_sparse"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_pattern_of_the_library_is_right(path):
    done = tessera("check", path, "--device", DEVICE)
    assert done.returncode == 0 and done.stdout.count(" ok\n") == 5, done.stdout
    assert "WRONG" not in done.stdout and ("selection" in done.stdout) == (path.stem != "heavily_compressed")


def test_a_sink_and_a_window(tmp_path):
    file = tmp_path / "near_blocks.py"
    file.write_text("import triton\n\n\n# tessera: select(block=4, top=2, scope=all, window=5, score=pooled(max))\n# tessera: learned(sink=[Hq])\n"
                    "@triton.jit\ndef sees(t, pos):\n    return pos <= t\n")
    done = tessera("check", file, "--device", DEVICE)
    assert done.returncode == 0 and done.stdout.count("dsink") == 5, done.stdout


def test_wrong_calls_are_refused(tmp_path):
    done = tessera("check", ROOT / "kernels/patterns/moba.py", "-i", "small")
    assert done.returncode == 1 and "check takes the file and --device" in done.stdout
    file = tmp_path / "wrong.py"
    file.write_text("import triton\n\n\n# tessera: select(top=0, score=pooled(mean))\n@triton.jit\ndef sees(t, pos):\n    return pos <= t\n")
    done = tessera("check", file)
    assert done.returncode == 1 and "`top` is 0" in done.stdout, done.stdout
