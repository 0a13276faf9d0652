# tests/train/nsa_vibe_test.py - nsa-vibe's model in plain PyTorch, and a run of a file for nsa-vibe with the same weights.
# SPDX-License-Identifier: Apache-2.0
"""The weights have nsa-vibe's names and go to the run through a file. The logarithm of the softmax of all logits, at the ends of
some texts, is that of the formulas below in fp64, to 1e-5. The differences that docs/training/nsa-vibe.md lists are kept:
rotary positions of each head, scores without future keys, and the query's own block."""
import json
import math
import re
import subprocess

import pytest
import torch
from dense_model import TRAIN, evaluate
from hellaswag_test import write

LAYERS, DIM, HEADS, GROUPS, SIZE, VOCABULARY = 2, 32, 4, 2, 16, 256
BLOCK, STRIDE, SELECTION, KEPT, WINDOW, LENGTH = 8, 4, 8, 4, 12, 96
FILE = """
model: {dim: %d, n_layers: %d, n_heads: %d, n_kv_groups: %d, d_k: %d, d_v: %d}
nsa: {l: %d, d: %d, l_sel: %d, n_sel: %d, w: %d, phi: avg}
train: {steps: 1, seq_len: %d, batch_size: 2, lr: 0.0, log_every: 1, out_dir: run}
runtime: {precision: fp32, use_flash: false}
""" % (DIM, LAYERS, HEADS, GROUPS, SIZE, SIZE, BLOCK, STRIDE, SELECTION, KEPT, WINDOW, LENGTH)
BRANCHES = ("cmp", "sel", "win")
BOUND = 1e-5


def module_of_nsa_vibe():
    """{nsa-vibe's name: tensor}."""
    draw = torch.Generator().manual_seed(3)

    def matrix(rows, columns, spread=1.5):
        return torch.randn(rows, columns, generator=draw) * spread / math.sqrt(columns)

    w = {"embed.weight": matrix(VOCABULARY, DIM, 5), "norm_f.weight": 1 + 0.2 * torch.randn(DIM, generator=draw),
         "lm_head.weight": matrix(VOCABULARY, DIM)}
    for i in range(LAYERS):
        block = "blocks.%d." % i
        for norm in ("norm1", "norm2"):
            w[block + norm + ".weight"] = 1 + 0.2 * torch.randn(DIM, generator=draw)
        w[block + "attn.W_Q.weight"] = matrix(HEADS * SIZE, DIM)
        for branch in BRANCHES:
            for kind in "KV":
                w[block + "attn.W_%s_%s.weight" % (kind, branch)] = matrix(GROUPS * SIZE, DIM)
        w[block + "attn.out.weight"] = matrix(DIM, HEADS * SIZE)
        w[block + "attn.gate.fc1.weight"] = matrix(SIZE // 2, SIZE)
        w[block + "attn.gate.fc1.bias"] = torch.randn(SIZE // 2, generator=draw)
        w[block + "attn.gate.fc2.weight"] = matrix(3, SIZE // 2)
        w[block + "attn.gate.fc2.bias"] = torch.randn(3, generator=draw)
        w[block + "mlp.fc1.weight"] = matrix(4 * DIM, DIM)
        w[block + "mlp.fc2.weight"] = matrix(DIM, 4 * DIM)
    return w


def our_names(w):
    """The same weights as train.init_from reads them. The rows of qkv are queries, keys of the branches, values of the branches."""
    ours = {"embedding": w["embed.weight"], "norm": w["norm_f.weight"], "head": w["lm_head.weight"]}
    for i in range(LAYERS):
        block = "blocks.%d." % i
        attention = block + "attn."
        ours[block + "attention.norm"], ours[block + "mlp.norm"] = w[block + "norm1.weight"], w[block + "norm2.weight"]
        rows = [w[attention + "W_Q.weight"]] + [w[attention + "W_%s_%s.weight" % (kind, branch)] for kind in "KV" for branch in BRANCHES]
        ours[block + "attention.qkv"], ours[block + "attention.output"] = torch.cat(rows), w[attention + "out.weight"]
        for name, theirs in (("gate.in", "fc1.weight"), ("gate.in_bias", "fc1.bias"), ("gate.out", "fc2.weight"), ("gate.out_bias", "fc2.bias")):
            ours[block + name] = w[attention + "gate." + theirs]
        ours[block + "mlp.in"], ours[block + "mlp.out"] = w[block + "mlp.fc1.weight"], w[block + "mlp.fc2.weight"]
    return ours


def norm(x, weight):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * weight


def rotate(x):
    """[T, heads, SIZE]: neighboring channels are a pair."""
    angle = torch.arange(len(x))[:, None, None] * 10000.0 ** (-torch.arange(0, SIZE, 2, dtype=x.dtype) / SIZE)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), -1).flatten(-2)


def probabilities(q, k, seen):
    """[heads, T, keys] of q [T, heads, SIZE] and k [keys, SIZE]; zero in rows without keys."""
    scores = torch.einsum("thd,sd->hts", q, k) / math.sqrt(SIZE)
    live = seen.any(-1, keepdim=True)
    return torch.where(live, scores.masked_fill(~(seen | ~live), -math.inf).softmax(-1), 0.0)


def chosen_keys(p):
    """[T, T]: keys of the selected blocks, by the compressed probabilities of the group, [T, compressed]."""
    tokens = len(p)
    seen = torch.zeros(tokens, tokens, dtype=torch.bool)
    for t in range(tokens):
        own = t // SELECTION
        weight = [sum(p[t, i].item() * max(0, min(i * STRIDE + BLOCK, (j + 1) * SELECTION) - max(i * STRIDE, j * SELECTION)) / STRIDE
                      for i in range(p.shape[1])) for j in range(own + 1)]
        order = sorted(range(own + 1), key=lambda j: (j != 0 and j < own - 1, -weight[j], j))
        for j in order[:KEPT]:
            seen[t, j * SELECTION:min(t + 1, (j + 1) * SELECTION)] = True
    return seen


def attention(w, y):
    """y [T, DIM], the normed input of the layer whose weights are w."""
    q = rotate((y @ w["W_Q.weight"].T).reshape(-1, HEADS, SIZE))
    k = {branch: rotate((y @ w["W_K_%s.weight" % branch].T).reshape(-1, GROUPS, SIZE)) for branch in BRANCHES}
    v = {branch: (y @ w["W_V_%s.weight" % branch].T).reshape(-1, GROUPS, SIZE) for branch in BRANCHES}
    t, pos = torch.arange(len(y))[:, None], torch.arange(len(y))
    starts = torch.arange((len(y) - BLOCK) // STRIDE + 1 if len(y) >= BLOCK else 0) * STRIDE
    outputs = []
    for group in range(GROUPS):
        mine = q[:, group * (HEADS // GROUPS):(group + 1) * (HEADS // GROUPS)]
        short_k, short_v = (torch.stack([x["cmp"][s:s + BLOCK, group].mean(0) for s in starts]) if len(starts) else x["cmp"][:0, group]
                            for x in (k, v))
        p = probabilities(mine, short_k, starts + BLOCK <= t + 1)
        branches = [p @ short_v, probabilities(mine, k["sel"][:, group], chosen_keys(p.sum(0))) @ v["sel"][:, group],
                    probabilities(mine, k["win"][:, group], (pos <= t) & (pos > t - WINDOW)) @ v["win"][:, group]]
        hidden = torch.nn.functional.silu(mine.mean(1) @ w["gate.fc1.weight"].T + w["gate.fc1.bias"])
        gates = (hidden @ w["gate.fc2.weight"].T + w["gate.fc2.bias"]).softmax(-1)
        outputs.append(sum(branch * gates[:, number, None] for number, branch in enumerate(branches)).transpose(0, 1))
    return torch.cat(outputs, 1).flatten(1) @ w["out.weight"].T


def logits(w, tokens):
    x = w["embed.weight"][torch.tensor(tokens)]
    for i in range(LAYERS):
        block = "blocks.%d." % i
        layer = {name.removeprefix(block + "attn."): value for name, value in w.items() if name.startswith(block + "attn.")}
        x = x + attention(layer, norm(x, w[block + "norm1.weight"]))
        hidden = torch.nn.functional.silu(norm(x, w[block + "norm2.weight"]) @ w[block + "mlp.fc1.weight"].T)
        x = x + hidden @ w[block + "mlp.fc2.weight"].T
    return norm(x, w["norm_f.weight"]) @ w["lm_head.weight"].T


def text(size, seed):
    return torch.randint(0, VOCABULARY, (size,), generator=torch.Generator().manual_seed(seed)).tolist()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of one step without a rate, which begins with the weights of a file."""
    made = tmp_path_factory.mktemp("nsa_vibe")
    (made / "text").write_bytes(bytes(text(20000, 1)))
    (made / "theirs.yaml").write_text(FILE)
    torch.save(our_names(module_of_nsa_vibe()), made / "weights.pt")
    done = subprocess.run([TRAIN, "train", "--config", "theirs.yaml", "train.init_from=weights.pt", "data.path=text", "data.order=sequential",
                           "kernels=torch", "panel=false", "threads=1", "train.final_windows=1"], cwd=made,
                          stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"theirs\.yaml is a file for nsa-vibe and trains its model, MLP and gates included", done.stderr), done.stderr
    return made


@pytest.mark.parametrize("kernels", ("torch", "tessera"))
def test_logits(folder, kernels):
    w = {name: value.double() for name, value in module_of_nsa_vibe().items()}
    # Contexts without a compressed block, with selected blocks left out, and of the longest text.
    contexts = [text(size, size) for size in (5, 61, LENGTH - 1)]
    rows = [(context, [[token + more] for more in range(4)], 0) for context in contexts for token in range(0, VOCABULARY, 4)]
    write(folder / "all.bin", rows)
    done = evaluate(folder, "--hellaswag", str(folder / "all.bin"), "--each", "kernels=" + kernels)
    assert done.returncode == 0, done.stderr
    ours = torch.tensor([[float(loss) for loss in line.split()[2:]] for line in done.stdout.splitlines()[:len(rows)]]).double()
    for context, losses in zip(contexts, ours.reshape(len(contexts), VOCABULARY)):
        theirs = logits(w, context)[-1].log_softmax(-1)
        apart = (losses + theirs).abs().max().item()
        assert apart < BOUND * theirs.abs().max().item(), "%d tokens: %g" % (len(context), apart)


def test_loss_of_the_first_step(folder):
    """Targets are the next tokens of the text, and the loss is their mean."""
    data = list((folder / "text").read_bytes())
    w = {name: value.double() for name, value in module_of_nsa_vibe().items()}
    losses = [torch.nn.functional.cross_entropy(logits(w, data[at:at + LENGTH]), torch.tensor(data[at + 1:at + LENGTH + 1])) for at in (0, LENGTH)]
    wanted = sum(losses).item() / 2 / math.log(2)
    record = json.loads((folder / "run/metrics.jsonl").read_text().splitlines()[0])
    assert abs(record["bpb"] - wanted) < BOUND * wanted, "%r, not %r" % (record["bpb"], wanted)
