# tests/patterns/wrong_test.py - patterns with mistakes: what `tessera check` finds, and the errors with location and remedy.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import re

import pytest
from run_tessera import tessera

WINDOW = '''import triton
import triton.language as tl


# tessera: pattern(window=64)
@triton.jit
def sees(t, pos, window: tl.constexpr):
    return (pos <= t) & (t - pos < window)
'''
BIAS = '''import triton
import triton.language as tl


# tessera: pattern(cap=5.0)
@triton.jit
def modify(s, t, pos, head, cap: tl.constexpr):
    return cap * (2.0 * tl.sigmoid(2.0 * s / cap) - 1.0)
'''
BLOCKS = '''import triton
import triton.language as tl


# tessera: select(block=64, top=16, score=pooled(mean))
@triton.jit
def sees(t, pos):
    return pos <= t
'''


def written(folder, text, name="mine.py"):
    path = folder / name
    path.write_text(text)
    return path


def test_a_range_that_hides_a_key_is_found(tmp_path):
    text = WINDOW + '''

@triton.jit
def key_range(t0, t1, length, window: tl.constexpr):
    return tl.maximum(t0 - window + 2, 0), tl.maximum(t1 - window + 1, 0), t0 + 1, t1 + 1
'''
    done = tessera("check", written(tmp_path, text), "-i", "mine_f32", "--no-gradients")
    assert done.returncode == 1 and "WRONG" in done.stdout, done.stdout


def test_a_tile_that_hides_a_key_is_found(tmp_path):
    text = WINDOW.replace("t - pos < window", "(t - pos < window) | (pos < 4)") + '''

@triton.jit
def sees_tile(t0, t1, pos0, pos1, window: tl.constexpr):
    return (pos0 <= t1) & (t0 - pos1 < window), False
'''
    done = tessera("check", written(tmp_path, text), "-i", "mine_f32", "--no-gradients")
    assert done.returncode == 1 and "WRONG" in done.stdout, done.stdout


def test_a_wrong_derivative_is_found(tmp_path):
    right = '''

@triton.jit
def modify_grad(s, t, pos, head, cap: tl.constexpr):
    y = tl.sigmoid(2.0 * s / cap)
    return 4.0 * y * (1.0 - y)
'''
    assert tessera("check", written(tmp_path, BIAS + right), "-i", "mine_f32").returncode == 0
    done = tessera("check", written(tmp_path, BIAS + right.replace("4.0", "3.9")), "-i", "mine_f32")
    assert done.returncode == 1 and "WRONG" in done.stdout, done.stdout


@pytest.mark.parametrize("text, name, place, message", [
    (WINDOW.replace("window=64", "windw=64"), "mine.py", "mine.py:5:", "window"),
    (WINDOW.replace("window", "base"), "mine.py", "mine.py:5:", "the kernels of a pattern use the name `base`"),
    (WINDOW.replace("pattern(", "learned(slope=[Hq])\n# tessera: pattern("), "mine.py", "mine.py:5:", "no function takes the learned parameter `slope`"),
    (WINDOW.replace("pattern(", "learned(sink=[T])\n# tessera: pattern("), "mine.py", "mine.py:5:", "write sink=[Hq]"),
    (WINDOW.replace("t - pos < window", "tl.load(t + pos) < window"), "mine.py", "mine.py:8:", "HINT"),
    (WINDOW.replace("window", "t1"), "mine.py", "mine.py:5:", "the kernels of a pattern use the name `t1`"),
    (WINDOW.replace("window", "sqt"), "mine.py", "mine.py:5:", "the kernels of a pattern use the name `sqt`"),
    (WINDOW.replace("=64", "=2**31"), "mine.py", "mine.py:5:", "HINT"),
    (WINDOW.replace("=64", "=2147483647"), "mine.py", "mine.py:5:", "outside of -2^30 to 2^30"),
    (WINDOW.replace("(pos <= t) & (t - pos < window)", "(t - pos) // window"), "mine.py", "mine.py:8:", "`sees` returns a number"),
    (WINDOW.replace("window=64", "flag=True").replace("t - pos < window", "~flag").replace("window", "flag"), "mine.py", "mine.py:8:",
     "inverts a compile-time bool"),
    (WINDOW.replace("return", "x = (t - pos) //").replace("(pos <= t) & (t - pos < window)", "window\n    return x"), "mine.py", "mine.py:8:",
     "`sees` returns a number"),
    (WINDOW.replace("(pos <= t) & (t - pos < window)", "pos <= t if window > 3 else 'none'").replace("=64", "=2"), "mine.py", "mine.py:8:",
     "`sees` returns a text"),
    (WINDOW.replace("(pos <= t) & (t - pos < window)", "None"), "mine.py", "mine.py:7:", "`sees` returns None on one of its paths"),
    (WINDOW.replace("t - pos < window", "t - pos < windw"), "mine.py", "mine.py:8:", "did you mean `window`?"),
    (WINDOW.replace("t - pos < window", "tl.max(t - pos, 1) < window"), "mine.py", "mine.py:8:", "calls `tl.max`, which the derivation does not know"),
    (WINDOW + "\n\n@triton.jit\ndef mine_mask(x):\n    return x\n", "mine.py", "mine.py:12:", "the kernels of a pattern define `mine_mask`"),
    (WINDOW + "\nRows = 6\n", "mine.py", "mine.py:10:", "the kernels of a pattern define `Rows`"),
    (BIAS.replace("pattern(cap=5.0)", "pattern()\n# tessera: learned(sink=[Hq])").replace("cap: tl.constexpr", "sink").replace("cap", "sink"),
     "mine.py", "mine.py:6:", "joins the denominator"),
    (WINDOW.replace("pattern(", "patternx("), "mine.py", "mine.py:5:", "did you mean `pattern`?"),
    (WINDOW.replace("pattern(", "learneds(sink=[Hq])\n# tessera: pattern("), "mine.py", "mine.py:5:", "did you mean `learned`?"),
    (BLOCKS.replace("select(", "selects("), "mine.py", "mine.py:5:", "did you mean `select`?"),
    (BLOCKS.replace("block=", "blok="), "mine.py", "mine.py:5:", "did you mean `block`?"),
    (WINDOW.replace("pattern(", "tiles(BM=64, BN=32, RUN=8)\n# tessera: pattern("), "mine.py", "mine.py:5:", "RUN has no effect"),
    ("\ufeff" + WINDOW, "mine.py", "mine.py:1:1", "byte order mark"),
    ("\ufeff# A file.\n" + BLOCKS, "mine.py", "mine.py:1:1", "byte order mark"),
    (WINDOW, "class.py", "class.py", "cannot be the name of a pattern"),
    (WINDOW, "Rows.py", "Rows.py", "cannot be the name of a pattern"),
    (WINDOW, "forward.py", "forward.py", "cannot be the name of a pattern"),
    (WINDOW, "two words.py", "two words.py", "cannot be the name of a pattern"),
], ids=["misspelt", "taken", "unused", "shape", "load", "position", "stride", "power", "large", "number", "inverted", "number_of_a_name", "text", "none",
        "undefined", "reduction", "derived", "core", "sink", "directive", "second_directive", "select", "name_of_select", "runs", "mark",
        "mark_before_a_comment", "keyword", "class", "module", "name"])
def test_mistakes_are_refused_with_location_and_remedy(tmp_path, text, name, place, message):
    for verb in ("check", "compile"):
        done = tessera(verb, written(tmp_path, text, name), *(["--list"] if verb == "compile" else []))
        assert done.returncode == 1, done.stdout
        assert place in done.stdout and message in done.stdout and "HINT" in done.stdout, done.stdout


@pytest.mark.parametrize("tiles, message", [
    ("tiles(BM=64)", "takes the rows BM and the keys BN"), ("tiles()", "takes the rows BM"), ("tiles(BM=48, BN=32)", "powers of two"),
    ("tiles(BM=64, BN=256)", "from 16 to 128"), ('tiles(BM="64", BN=32)', "powers of two"), ("tiles(64, 32)", "takes names and values"),
    ("tiles(BM=64, BK=32)", "has no `BK`"), ("tiles(BM=64, BN=32, RUN=5)", "RUN, a power of two"), ("tiles(BM=64, BM=32, BN=32)", "`BM` is given twice"),
    ("tiles(BM=64, BN=32, RUN=1180591620717411303424)", "RUN, a power of two"), ("tiles(BM=64, BN=", "malformed directive"),
    ("tiles BM=64, BN=32", "written differently"), ("tiles(none)", "takes names and values"),
])
def test_malformed_tiles_show_the_form(tmp_path, tiles, message):
    done = tessera("compile", written(tmp_path, WINDOW.replace("pattern(", f"{tiles}\n# tessera: pattern(")), "--list")
    hint = done.stdout.partition("HINT: ")[2]
    assert done.returncode == 1 and message in done.stdout and "mine.py:5:" in done.stdout, done.stdout
    assert hint.startswith("write # tessera: tiles(BM=64, BN=32), or with runs tiles(BM=64, BN=32, RUN=16)"), done.stdout


@pytest.mark.parametrize("directive", ["per_sequence(prefix)", "learned(slope)", "select(64)", "per_sequence(prefix=", "learned(slope=[Hq]", "select(block="])
def test_a_malformed_directive_shows_its_own_form(tmp_path, directive):
    done = tessera("compile", written(tmp_path, WINDOW.replace("pattern(window=64)", directive)), "--list")
    assert done.returncode == 1 and f"HINT: write # tessera: {directive.partition('(')[0]}(" in done.stdout, done.stdout


def test_a_location_in_the_derived_text_is_named_as_such(tmp_path):
    """The pattern's file has 10 lines, and the error is in a kernel below them. The printed text is a file of the user."""
    text = WINDOW + "\n\n@triton.jit\ndef key_range(t0, t1, length, window: tl.constexpr):\n    return t0, t1\n"
    path = written(tmp_path, text)
    done = tessera("check", path, "-i", "mine_f32", "--no-gradients")
    assert done.returncode == 1 and "error:" in done.stdout, done.stdout
    derived = f"{path} (derived by tessera, see: tessera compile --emit pattern {path}):"
    places = re.findall(rf"^{re.escape(str(path))}(.*?):(\d+):\d+: ", done.stdout, re.MULTILINE)
    assert places and all((int(line) > len(text.splitlines())) == bool(note) for note, line in places), done.stdout
    assert derived in done.stdout, done.stdout
    printed = written(tmp_path, tessera("compile", path, "--emit", "pattern").stdout, "printed.py")
    done = tessera("check", printed, "--kernel", "mine", "-i", "mine_f32", "--no-gradients")
    assert done.returncode == 1 and f"{printed}:" in done.stdout and "derived by tessera" not in done.stdout, done.stdout


def test_a_directive_in_a_text_is_not_a_pattern(tmp_path):
    path = written(tmp_path, '"""Notes.\n\n# tessera: pattern(window=512)\n"""\nimport triton\n\n\n@triton.jit\ndef mine(X):\n    pass\n')
    assert tessera("compile", path, "--list").stdout.splitlines() == ["mine(X)"]


def test_a_file_of_kernels_is_not_a_pattern(tmp_path):
    path = written(tmp_path, "import triton\n\n\n@triton.jit\ndef sees(x):\n    return x\n")
    done = tessera("compile", path, "--emit", "pattern")
    assert done.returncode == 1 and "is not a pattern" in done.stdout
    assert "docs/patterns.md" in done.stdout


def test_a_wrong_backward_pass_in_one_pass_is_found(tmp_path):
    text = tessera("compile", written(tmp_path, WINDOW), "--emit", "pattern").stdout
    assert text.count("CU, T, shares, scale, Pattern") == 1
    path = written(tmp_path, text.replace("CU, T, shares, scale, Pattern", "CU, T, shares, 1.01 * scale, Pattern"), "other.py")
    done = tessera("check", path, "--kernel", "mine", "-i", "mine_f32")
    two, one = done.stdout.split("mine_bwd against mine_bwd_dq, mine_bwd_dkdv")
    assert done.returncode == 1 and "WRONG" in one and "WRONG" not in two, done.stdout


def test_new_writes_a_pattern_that_passes_its_check(tmp_path):
    made = tessera("new", "pattern", "near", cwd=tmp_path)
    assert made.returncode == 0, made.stdout
    text = (tmp_path / "near.py").read_text()
    assert len(text.splitlines()) <= 12
    assert tessera("check", "near.py", "-i", "near_f32", "--no-gradients", cwd=tmp_path).returncode == 0
    again = tessera("new", "pattern", "near", cwd=tmp_path)
    assert again.returncode == 1 and "nothing was written" in again.stdout
    assert (tmp_path / "near.py").read_text() == text
    assert tessera("new", "pattern", "forward", cwd=tmp_path).returncode == 1
