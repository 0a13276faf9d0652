# tests/train/tables_test.py - value and bigram embeddings after training: held-out loss, text and exported weights.
# SPDX-License-Identifier: Apache-2.0
"""The weights of a run, in a plain PyTorch program, have the loss that the run recorded and draw its text."""
import json
import subprocess

import pytest
import torch
import torch_losses as plain
from dense_model import TRAIN

TABLES = ("model.value_embeddings=1", "model.bigram_embeddings=509", "kernels=torch")
PROMPT, DRAWN = "the tile of stone ", 60


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs `dense` and `nsa`; value embeddings are in the last of two layers. Both have the weights of a trained run with larger tables,
    so that a loss depends on each of them."""
    made = tmp_path_factory.mktemp("tables")
    (made / "text").write_bytes(plain.text(40000))
    for attention in ("dense", "nsa"):
        plain.run(made, "trained_" + attention, attention, "fp32", 60, "train.lr=0.003", *TABLES)
        w = weights(made, "trained_" + attention)
        assert w["value_embeddings.1.scale"].item() != 1 and w["bigram_embedding"].abs().max() > 0.01
        w["value_embeddings.1.scale"] *= 2.5
        w["value_embeddings.1.table"] *= 4
        w["bigram_embedding"] *= 30
        torch.save(w, made / (attention + ".pt"))
        # A step without a rate keeps them.
        plain.run(made, attention, attention, "fp32", 1, "train.lr=0", "train.init_from=%s" % (made / (attention + ".pt")), *TABLES)
    return made


def weights(folder, run):
    checkpoint, = (folder / run / "ckpt").glob("step_*")
    return plain.tensors(checkpoint / "model.safetensors")


def logits(w, tokens, attention):
    """Of one sequence of at most LENGTH tokens: later ones do not change earlier results."""
    row = torch.cat([tokens, torch.zeros(plain.LENGTH - len(tokens), dtype=torch.long)])
    return plain.forward(w, row.repeat(plain.BATCH), attention, plain.Sequences())[0][:len(tokens)]


@pytest.mark.parametrize("attention", ("dense", "nsa"))
def test_held_out_loss(folder, attention):
    w = weights(folder, attention)
    assert "value_embeddings.1.table" in w and "value_embeddings.0.table" not in w
    text = plain.text(40000)
    held = text[len(text) - len(text) // 20:]
    tokens = torch.tensor(list(held[:plain.LENGTH + 1]))
    loss = torch.nn.functional.cross_entropy(logits(w, tokens[:-1], attention), tokens[1:]).item() / 0.6931471805599453
    told = json.loads((folder / attention / "metrics.json").read_text())["val_bpb"]
    assert abs(loss - told) < 2e-5 * told, "loss %.7f, the run recorded %.7f" % (loss, told)


@pytest.mark.parametrize("attention", ("dense", "nsa"))
def test_text(folder, attention):
    """Each byte that `tessera generate` draws is the likeliest one after those before it."""
    done = subprocess.run([TRAIN, "generate", "--run", str(folder / attention), "--prompt", PROMPT, "--tokens", str(DRAWN),
                           "--temperature", "0"], stdout=subprocess.PIPE, check=True)
    drawn = done.stdout[len(PROMPT):len(PROMPT) + DRAWN]
    tokens = torch.tensor(list(PROMPT.encode() + drawn))
    out = logits(weights(folder, attention), tokens[:-1], attention)[len(PROMPT) - 1:]
    taken = out.gather(1, tokens[len(PROMPT):, None])[:, 0]
    assert len(drawn) == DRAWN and float((out.amax(1) - taken).max()) < 1e-4


def test_export(folder):
    def export(name, *more):
        return subprocess.run([TRAIN, "export", "--run", str(folder / "dense"), str(folder / name), *more],
                              stderr=subprocess.PIPE, text=True, check=False)

    assert export("own.safetensors").returncode == 0
    w, again = weights(folder, "dense"), plain.tensors(folder / "own.safetensors")
    assert list(w) == list(again) and all(torch.equal(w[name], again[name]) for name in w)
    # A run of one step without a rate ends with the weights it began with.
    plain.run(folder, "again", "dense", "fp32", 1, "train.lr=0", "train.init_from=%s" % (folder / "own.safetensors"), *TABLES)
    begun = weights(folder, "again")
    assert all(torch.equal(w[name], begun[name]) for name in w)
    refused = export("llama.safetensors", "--names", "hf")
    assert refused.returncode == 1 and "model.value_embeddings" in refused.stderr
