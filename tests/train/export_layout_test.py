# tests/train/export_layout_test.py - the tensors of `tessera export` and the tables of docs/training/use.md.
# SPDX-License-Identifier: Apache-2.0
"""Each tensor of an export is in a table with its shape, and each tensor of the tables is in an export."""
import os
import re
import subprocess

import pytest
import torch
from repository import ROOT

TRAIN = os.environ["TRAIN_PROGRAM"]
SIZES = {"V": 256, "dim": 40, "H": 4, "G": 2, "d_k": 16, "d_v": 8, "mlp_dim": 56, "max": max}
MODELS = {"dense": (1, None, ("attention=dense",)),
          "swiglu": (1, None, ("attention=dense", "model.mlp=swiglu", "model.tied_head=true")),
          "x": (3, "x", ("attention=nsa",)),
          "q_mean": (3, "q_mean", ("attention=nsa", "nsa.gate_input=q_mean", "nsa.gate=softmax"))}


def rows():
    """(names, {gate input, or None for all: formula}) of the tables."""
    found = []
    for line in (ROOT / "docs/training/use.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        names = re.findall(r"`((?:blocks\.0\.|embedding|head|norm)[\w.]*)`", cells[0])
        if line.startswith("| `") and names:
            found.append((names, {None: cells[1]} if len(cells) == 2 else dict(zip(("x", "q_mean"), cells[1:]))))
    return found


def shapes(branches, gates):
    """{name: shape} of a model with one layer, by the tables; tensors of gates only with `gates`."""
    values = {**SIZES, "B": branches}
    return {name: [eval(part, {"__builtins__": {}}, values) for part in re.split(r", (?![^(]*\))", formulas.get(None) or formulas[gates])]
            for names, formulas in rows() for name in names if None in formulas or gates}


@pytest.fixture(scope="module")
def exports(tmp_path_factory):
    """{model: {name: tensor}} of exports of one step."""
    folder = tmp_path_factory.mktemp("layout")
    (folder / "text").write_bytes(bytes(range(256)) * 40)
    made = {}
    for name, (_, _, more) in MODELS.items():
        common = ("kernels=torch", "panel=false", "threads=1", "data.path=text", "model.layers=1", "model.dim=40", "model.heads=4", "model.kv_heads=2",
                  "model.key_dim=16", "model.value_dim=8", "model.mlp_dim=56", "nsa.l=8", "nsa.d=4", "nsa.l_sel=8", "nsa.n_sel=4", "nsa.w=8",
                  "train.seq_len=32", "train.batch_size=1", "train.steps=1", "train.final_windows=1", "out=" + name)
        for arguments in (("train", *common, *more), ("export", "--run", name, name + ".pt")):
            done = subprocess.run([TRAIN, *arguments], cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        made[name] = torch.load(folder / (name + ".pt"), weights_only=True)
    return made


@pytest.mark.parametrize("model", MODELS)
def test_names_and_shapes(exports, model):
    branches, gates, _ = MODELS[model]
    table = shapes(branches, gates)
    optional = {name for name in ("head", "blocks.0.mlp.gated") if name not in exports[model]}
    assert {name: list(tensor.shape) for name, tensor in exports[model].items()} == {n: s for n, s in table.items() if n not in optional}


def test_each_tensor_of_the_tables_is_exported(exports):
    assert {name for names, _ in rows() for name in names} == {name for tensors in exports.values() for name in tensors}
