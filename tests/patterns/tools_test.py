# tests/patterns/tools_test.py - the commands for kernels take a pattern: inspect, diff, run, pack, tune.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import pytest
from repository import ROOT
from run_tessera import tessera

WINDOW = ROOT / "kernels/patterns/window.py"


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
    for kernel in ("window", "window_bwd_dq", "window_bwd_dkdv"):
        assert f" {kernel} " in listed, listed


def test_a_pack_has_the_kernels_of_every_layer(run_settings, tmp_path):
    listed = fine("pack", *run_settings, "model.layers=3", "attention=window,dense,alibi", "-o", tmp_path / "run.tpack")
    for kernel in ("window", "window_bwd_dkdv", "dense_fwd", "alibi", "alibi_bwd_dq"):
        assert f" {kernel} " in listed, listed


def test_tune(run_settings, tmp_path):
    # One kernel, and a budget that a busy machine does not use up: the search ends when all candidates are timed.
    fine("tune", *run_settings, "--budget", "120s", "--kernels", "window", "--out", tmp_path / "table.yaml")
    table = (tmp_path / "table.yaml").read_text()
    assert "kernels/patterns/window.py:window\n" in table and "window: 20" in table, table
