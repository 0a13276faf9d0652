# tests/patterns/tools_test.py - the commands for kernels take a pattern: inspect, diff, run, pack, tune.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shlex
import subprocess
import sys

import pytest
from repository import PROGRAM, ROOT
from run_tessera import tessera

WINDOW = ROOT / "kernels/patterns/window.py"
# Patterns that select blocks, with parameters that suit sequences of 128 tokens, and kernels that each launches on a CPU.
SELECTED = {"moba": ("block=16,top=3", {"pool_keys", "pooled_select"}),
            "infllm_v2": ("block=16,top=4,local=2,l=16,d=8,dense_below=0", {"compress_fwd", "cmp_select_fwd"}),
            "learned_blocks": ("block=16,top=3,heads=2,dim=16", {"indexer_select", "block_mass"}),
            "nsa": ("block=16,top=4,l=16,d=8,window=32", {"compress_pair_fwd", "cmp_select_fwd", "window_fwd", "gate_fwd"}),
            "compressed_sparse": ("top=3,l=8,d=4,window=32,heads=2,dim=16", {"indexer_select", "super_lists", "window_fwd"})}
FAR_BLOCKS = """import triton
import triton.language as tl


# tessera: select(block=16, top=3, score=pooled(max))
# tessera: pattern(far=40, cap=9.0)
@triton.jit
def sees(t, pos, far: tl.constexpr):
    return t - pos < far


@triton.jit
def modify(s, t, pos, head, cap: tl.constexpr):
    return tl.minimum(s, cap)
"""
STREAMS = {"nsa": 3, "compressed_sparse": 2}
SIZES = ["train.seq_len=128", "train.batch_size=2", "model.n_heads=4", "model.n_kv_groups=2", "model.d_k=16", "model.d_v=16", "threads=1"]
# Forward and backward of the op with these sizes. Prints how many kernels were compiled, and with the options how they were chosen.
CALL = """
import os, sys, torch
torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
name, params, streams = sys.argv[1:]
file = f"kernels/patterns/{name}.py"
tensors = [torch.randn(256, heads, 16).requires_grad_() for heads in (4, 2 * int(streams), 2 * int(streams))]
more = {"gate_logits": torch.randn(256, 2, 3)} if name == "nsa" else {}
if name in ("learned_blocks", "compressed_sparse"):
    more = dict(index_q=torch.randn(256, 1, 2, 16), index_k=torch.randn(256, 16), index_weights=torch.randn(256, 1, 2))
if name == "compressed_sparse":
    more["learned"] = torch.zeros(1, 4)
more = {name: x.requires_grad_() for name, x in more.items()}
o, _, _, loss = torch.ops.tessera.attention(*tensors, torch.tensor([0, 128, 256]).int(), 128, file, params, **more)
((o * torch.randn_like(o)).sum() + loss.sum()).backward()
print("compiled", torch.ops.tessera.kernel_stats()[0])
"""


def selected(name):
    return [ROOT / f"kernels/patterns/{name}.py", f"attention_params={SELECTED[name][0]}", *SIZES]


def call(name, folder, **environment):
    """Output and errors of CALL in a process with an empty cache."""
    command = [sys.executable, "-c", CALL, name, SELECTED[name][0], str(STREAMS.get(name, 1))]
    done = subprocess.run(command, env=os.environ | {"TESSERA_CACHE_DIR": str(folder / "cache")} | environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def run_settings(tmp_path_factory):
    """Arguments of a small training run with the pattern."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "config.yaml").write_text("attention: kernels/patterns/window.py\nattention_params: {window: 20}\n")
    (folder / "text").write_text("\n".join(map(str, range(4000))))
    sizes = {"dim": 32, "layers": 1, "heads": 2, "kv_heads": 1, "key_dim": 16, "value_dim": 16, "mlp_dim": 64}
    return ["--config", folder / "config.yaml", f"data.path={folder / 'text'}", "threads=1", "train.seq_len=64", "train.batch_size=2",
            *(f"model.{key}={value}" for key, value in sizes.items())]


def fine(*arguments):
    done = tessera(*arguments)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_inspect(tmp_path):
    fine("inspect", WINDOW, "-i", "window_f32", "--target", "sm_80", "-o", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "def sees(t, pos, window" in page and "def key_step(" in page


def test_diff():
    assert "A: window_f32 BM=32" in fine("diff", WINDOW, "-i", "window_f32", "--a", "BM=32", "--b", "BM=64", "--summary")


def test_run():
    assert "O: fp32 [120, 6, 32]" in fine("run", WINDOW, "-i", "window_f32", "--lengths", "100,20")


def test_pack(run_settings, tmp_path):
    listed = fine("pack", *run_settings, "--targets", "cpu,sm_80", "-o", tmp_path / "run.tpack")
    for kernel in ("window", "window_bwd", "window_bwd_dq", "window_bwd_dkdv"):
        assert f" {kernel} " in listed, listed


def test_a_pack_has_the_kernels_of_every_layer(run_settings, tmp_path):
    listed = fine("pack", *run_settings, "model.layers=3", "attention=window,dense,alibi", "-o", tmp_path / "run.tpack")
    for kernel in ("window", "window_bwd", "dense_fwd", "dense_bwd", "alibi", "alibi_bwd"):
        assert f" {kernel} " in listed, listed


def test_tune(run_settings, tmp_path):
    # One kernel, and a budget that a busy machine does not use up: the search ends when all candidates are timed.
    fine("tune", *run_settings, "--budget", "120s", "--kernels", "window", "--out", tmp_path / "table.yaml")
    table = (tmp_path / "table.yaml").read_text()
    assert "kernels/patterns/window.py:window\n" in table and "window: 20" in table, table


@pytest.mark.parametrize("name", SELECTED)
def test_the_op_runs_from_the_pack_of_a_pattern_that_selects(name, tmp_path):
    # The kernels of a GPU are compiled for one of them: the op runs on the CPU.
    targets = "cpu,sm_80" if name == "nsa" else "cpu"
    listed = fine("pack", *selected(name), "--targets", targets, "-o", tmp_path / "op.tpack")
    assert all(f" {kernel} " in listed for kernel in SELECTED[name][1] | {"select_bwd_dkdv"}), listed
    assert "compiled 0\n" in call(name, tmp_path, TESSERA_PACK=str(tmp_path / "op.tpack"))
    assert "compiled 0\n" not in call(name, tmp_path)


def test_the_op_runs_from_the_pack_of_a_plain_pattern(tmp_path):
    listed = fine("pack", WINDOW, "attention_params=window=20", *SIZES, "-o", tmp_path / "op.tpack")
    assert " window_bwd " in listed and "rmsnorm" not in listed, listed


def test_a_run_that_a_pack_does_not_serve_names_the_command_that_packs_it(run_settings, tmp_path):
    """The pack of a pattern has no kernels of a model, which the command that made the pack would leave out again."""
    pack = tmp_path / "op.tpack"
    fine("pack", WINDOW, "attention_params=window=20", *SIZES, "-o", pack)

    def miss(folder):
        done = subprocess.run([PROGRAM, "train", *map(str, run_settings), "train.steps=1", "panel=false", f"out={folder / 'run'}"],
                              env=os.environ | {"TESSERA_CACHE_DIR": str(folder / "cache"), "TESSERA_PACK": str(pack)},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        assert done.returncode == 0, done.stdout
        return re.search(r"has no `.*?; pack this run: (tessera pack .*)", done.stdout)

    found = miss(tmp_path / "before")
    words = shlex.split(found[1])
    assert words[:3] == ["tessera", "pack", "--config"] and words[-2:] == ["-o", str(pack)] and "train.steps=1" in words, words
    fine(*words[1:])
    assert not miss(tmp_path / "after")


def test_the_printed_kernels_of_selected_blocks_are_packed_as_those_of_the_file(tmp_path):
    listed = []
    for folder, text in (("written", FAR_BLOCKS), ("printed", None)):
        file = tmp_path / folder / "far_blocks.py"
        file.parent.mkdir()
        file.write_text(text or fine("compile", tmp_path / "written/far_blocks.py", "--emit", "pattern"))
        listed.append(fine("pack", file, "attention_params=top=2, far=20", *SIZES, "--targets", "cpu,sm_80", "-o", tmp_path / "op.tpack"))
    for text in listed:
        assert all(f" far_blocks_{kernel} " in text for kernel in ("list", "list_bwd_dq", "list_bwd_dkdv")) and "select_" in text, text
    names = [{line.split()[1] for line in text.splitlines() if ", 2 specializations" in line} for text in listed]
    assert names[0] == names[1]


def test_launches_find_the_table_of_a_pattern_that_selects(tmp_path):
    fine("tune", *selected("moba"), "--budget", "120s", "--kernels", "pool*,inverse_fill", "--out", tmp_path / "table.yaml")
    log = call("moba", tmp_path, TESSERA_TUNED=str(tmp_path / "table.yaml"), TESSERA_PRINT_ROUTING="1")
    for kernel in ("pool_keys", "pooled_select", "inverse_fill"):
        lines = [line for line in log.splitlines() if line.startswith("routing:") and f":{kernel} " in line]
        assert len(lines) == 1 and f"table {tmp_path}" in lines[0], log


def test_inspect_writes_a_page_for_each_kernel_of_a_pattern_that_selects(tmp_path):
    sets = [word for setting in selected("moba")[1:] for word in ("--set", setting)]
    fine("inspect", selected("moba")[0], *sets, "-o", tmp_path)
    pages = {path.stem: path.read_text() for path in tmp_path.iterdir()}
    assert pages.keys() >= {"pool_keys", "pooled_select", "select_list_fwd", "select_bwd_dkdv"}
    assert all(f"def {name.removesuffix('_2')}(" in text and ".entry" in text for name, text in pages.items())
    fine("inspect", selected("moba")[0], *sets, "-i", "pooled_select", "--against", "num_warps=8", "-o", tmp_path / "one.html")


def test_diff_of_a_kernel_of_a_pattern_that_selects():
    text = fine("diff", selected("moba")[0], "-i", "pooled_select", "--target", "sm_80", "--a", "num_warps=4", "--b", "num_warps=8", "--summary")
    assert "A: pooled_select num_warps=4" in text


@pytest.mark.parametrize("arguments, message", [
    (["compile", "-i", "pooled_selct"], "did you mean `pooled_select`?"),
    (["compile", "-i", "pooled_select", "-D", "TOPP=4"], "did you mean `TOP`?"),
    (["compile", "--set", "attention_params=topp=4"], "did you mean `top`?"),
    (["compile", "-s", "X=i32"], "leave --signature away"),
    (["pack", "--with-runtime", "-o", "folder"], "is a pattern"),
    (["pack", "model.n_heads=3", "-o", "op.tpack"], "HINT"),
], ids=["kernel", "constexpr", "parameter", "signature", "runtime", "heads"])
def test_wrong_names_are_refused_with_remedy(arguments, message):
    verb, *rest = arguments
    done = tessera(verb, ROOT / "kernels/patterns/moba.py", *rest)
    assert done.returncode == 1 and message in done.stdout and "HINT" in done.stdout, done.stdout


def test_set_is_for_patterns_that_select(tmp_path):
    done = tessera("compile", WINDOW, "-i", "window_f32", "--set", "model.n_heads=8", "-o", tmp_path)
    assert done.returncode == 1 and "is not such a pattern" in done.stdout, done.stdout
