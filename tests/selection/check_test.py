# tests/selection/check_test.py - tessera check of patterns that select blocks.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import re

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


OWN = """import triton
import triton.language as tl


# tessera: select(block=64, top=16, scope=q, score=pooled(mean))
# tessera: pattern(cap=30.0, near=200)
# tessera: learned(slope=[Hq], sink=[Hq])
@triton.jit
def sees(t, pos, near: tl.constexpr):
    return t - pos < near


@triton.jit
def modify(s, t, pos, head, slope, cap: tl.constexpr):
    return cap * (2.0 * tl.sigmoid(2.0 * s / cap) - 1.0) - slope * (t - pos)
"""


@pytest.mark.parametrize("more, wrong", [
    ("", set()),
    ("\n\n@triton.jit\ndef modify_grad(s, t, pos, head, slope, cap: tl.constexpr):\n    return 1.0 - s * s / (2 * cap)\n", {"dq", "dk"}),
    ("\n\n@triton.jit\ndef modify_grad_slope(s, t, pos, head, slope, cap: tl.constexpr):\n    return (pos - t) * 0.9\n", {"dlearned"}),
], ids=["right", "modify_grad", "modify_grad_slope"])
def test_a_rule_and_a_score(tmp_path, more, wrong):
    file = tmp_path / "own_blocks.py"
    file.write_text(OWN + more)
    done = tessera("check", file, "--device", DEVICE)
    lines = [line for line in done.stdout.splitlines() if "query heads of a key head" in line]
    assert len(lines) == 5 and "near=41" in done.stdout, done.stdout
    assert done.returncode == bool(wrong) and all(line.endswith("ok") == (not wrong) for line in lines), done.stdout
    errors = [dict(re.findall(r"(\w+) (\d\.\de[-+]\d+)", line)) for line in lines]
    assert all({name for name, error in one.items() if float(error) > 2e-2} == wrong for one in errors), done.stdout


def test_wrong_calls_are_refused(tmp_path):
    done = tessera("check", ROOT / "kernels/patterns/moba.py", "-i", "small")
    assert done.returncode == 1 and "check takes the file and --device" in done.stdout
    file = tmp_path / "wrong.py"
    file.write_text("import triton\n\n\n# tessera: select(top=0, score=pooled(mean))\n@triton.jit\ndef sees(t, pos):\n    return pos <= t\n")
    done = tessera("check", file)
    assert done.returncode == 1 and "`top` is 0" in done.stdout, done.stdout
