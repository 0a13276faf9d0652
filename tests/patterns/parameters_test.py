# tests/patterns/parameters_test.py - parameters of patterns with mistakes: the op, the dry run of a training run and the file refuse them.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os

import pytest
import torch
from run_tessera import tessera

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
RULE = '''import triton
import triton.language as tl


# tessera: pattern(kind="near", window=8, flag=True, bits=2)
@triton.jit
def sees(t, pos, kind: tl.constexpr, window: tl.constexpr, flag: tl.constexpr, bits: tl.constexpr):
    if kind == "near":
        return (pos <= t) & (pos // window == t // window) & flag
    if kind == "bits":
        return (pos <= t) & (pos >> bits == t >> bits)
    if kind == "left":
        return (pos <= t) & (pos << bits <= t << 1)
    if kind == "rest":
        return (pos <= t) & (pos % (window - 3) <= t)
    return pos <= t
'''
# What is written after the name of the pattern, and the beginning of the message.
WRONG = {
    "window=3, window=4": "`window` twice",
    "window=1073741825": "`window` is outside of -2^30 to 2^30",
    "window=99999999999999999999": "window",
    "window='8'": "without quotation marks",
    'kind="near"': "without quotation marks",
    "window=3.5": "its default is 8",
    "flag=1": "its default is True",
    "windw=3": "did you mean `window`?",
    "window": "NAME=",
    "window=0": "rule.py:9:30: `sees` divides by 0",
    "kind=rest, window=3": "rule.py:15:30: `sees` divides by 0",
    "kind=bits, bits=-1": "rule.py:11:30: `sees` shifts by -1",
    "kind=left, bits=32": "rule.py:13:30: `sees` shifts by 32",
}


def written(folder, text=RULE, name="rule.py"):
    path = folder / name
    path.write_text(text)
    return path


def attend(pattern, parameters="", **more):
    generator = torch.Generator().manual_seed(1)
    tensors = [torch.randn(40, heads, 16, generator=generator) for heads in (2, 1, 1)]
    return torch.ops.tessera.attention(*tensors, torch.tensor([0, 40]).int(), 40, str(pattern), parameters, **more)[0]


@pytest.mark.parametrize("parameters", WRONG)
def test_the_op_refuses_with_the_words_of_patterns(tmp_path, parameters):
    with pytest.raises(ValueError) as raised:
        attend(written(tmp_path), parameters)
    message = str(raised.value)
    assert WRONG[parameters] in message and "HINT" in message and "rule.py" in message and "constexpr" not in message.split("\n")[0], message


@pytest.mark.parametrize("parameters", ["", "kind=bits", "kind=bits, bits=0", "kind=all, window=0", "window=-3", "kind=rest, window=2",
                                        "kind=left, bits=31, window=0"])
def test_the_op_takes_what_has_a_result(tmp_path, parameters):
    assert attend(written(tmp_path), parameters).isfinite().all()


@pytest.mark.parametrize("parameters", WRONG)
def test_the_dry_run_refuses(tmp_path, parameters):
    done = dry_run(tmp_path, f"attention={written(tmp_path)}", f"attention_params={parameters}")
    message = done.stdout[-1500:]
    assert done.returncode == 1 and "HINT" in message, message
    assert WRONG[parameters] in message and ("rule.py" in message or "attention_params" in message), message


def dry_run(folder, *settings):
    (folder / "text").write_text("\n".join(map(str, range(4000))))
    return tessera("train", f"data.path={folder / 'text'}", f"out={folder / 'run'}", "train.seq_len=64", "train.steps=1", "panel=false",
                   *settings, "--dry-run")


@pytest.mark.parametrize("setting", ["W=3, W=4", "W='3'", "W"])
def test_the_dry_run_refuses_malformed_values_of_kernels(tmp_path, setting):
    done = dry_run(tmp_path, "attention.kernel=kernels/dense/dense_fwd.py", "attention.fwd=dense_fwd", f"attention.constexprs={setting}")
    assert done.returncode == 1 and "attention.constexprs" in done.stdout and "HINT" in done.stdout, done.stdout[-1500:]


def test_values_of_kernels_are_given_once():
    tensors = [torch.randn(40, heads, 16) for heads in (2, 1, 1)]
    with pytest.raises(ValueError, match="constexprs sets `W` twice"):
        torch.ops.tessera.custom_attention(*tensors, torch.tensor([0, 40]).int(), 40, "kernels/patterns/window.py", "window", "", "W=3, W=4")


@pytest.mark.parametrize("default, message", [("window=0", "rule.py:9:30: error: `sees` divides by 0"),
                                              ('kind="bits", bits=-2', "rule.py:11:30: error: `sees` shifts by -2")])
@pytest.mark.parametrize("verb", ["compile", "check"])
def test_a_default_without_a_result_is_refused(tmp_path, verb, default, message):
    text = RULE.replace("window=8", default) if "window" in default else RULE.replace('kind="near"', 'kind="bits"').replace("bits=2", "bits=-2")
    done = tessera(verb, written(tmp_path, text), *(["--list"] if verb == "compile" else []))
    assert done.returncode == 1 and message in done.stdout and "HINT" in done.stdout, done.stdout


def test_modify_is_checked_too(tmp_path):
    text = ("import triton\n\n\n# tessera: pattern(block=4)\n@triton.jit\ndef modify(s, t, pos, head, block: tl.constexpr):\n"
            "    return s - 0.5 * ((t - pos) // block)\n").replace("import triton\n", "import triton\nimport triton.language as tl\n", 1)
    path = written(tmp_path, text)
    assert attend(path).isfinite().all()
    with pytest.raises(ValueError, match=r"rule.py:8:23: `modify` divides by 0"):
        attend(path, "block=0")


@pytest.mark.parametrize("name, hint", [
    ("window", "kernels/patterns/window.py"), ("windw", "kernels/patterns/window.py"), ("window.py", "kernels/patterns/window.py"),
    ("patterns/sink_window", "kernels/patterns/sink_window.py"), ("kernels/patterns/windw.py", "kernels/patterns/window.py"),
    ("near_and_far", "my/near_and_far.py"),
])
def test_a_name_that_is_not_a_file_gets_the_path(name, hint):
    with pytest.raises(ValueError) as raised:
        attend(name)
    message = str(raised.value)
    assert f"`{name}`" in message and "HINT" in message and hint in message.split("HINT")[1], message


@pytest.mark.parametrize("type", ["i64", "fp32"])
def test_values_of_a_sequence_are_int32(tmp_path, type):
    text = f"import triton\n\n\n# tessera: per_sequence(prefix={type})\n@triton.jit\ndef sees(t, pos, prefix):\n    return (pos <= t) | (pos < prefix)\n"
    done = tessera("compile", written(tmp_path, text), "--list")
    assert done.returncode == 1 and "rule.py:4:" in done.stdout and "write per_sequence(prefix=i32)" in done.stdout, done.stdout
    for given in (torch.int64, torch.float32):
        with pytest.raises(ValueError, match="pass int32, for example"):
            attend("kernels/patterns/prefix_lm.py", per_sequence=torch.tensor([[7]], dtype=given))
