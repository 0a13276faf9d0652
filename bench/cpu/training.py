# bench/cpu/training.py - optimizer steps of the trainer compared with the same model in eager PyTorch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""The PyTorch side is the program of tests/train/torch_losses.py, whose losses are those of the trainer: torch's autograd, AdamW with one
call for all parameters, clipping, SDPA. Runs take turns; each has warm-up steps that do not count."""
import pathlib
import statistics
import sys
import tempfile
import time

import torch

from harness import ROOT

sys.path.append(str(ROOT / "tests/train"))
import torch_losses as plain  # noqa: E402

WARM, STEPS, TURNS = 5, 15, 3
QUICKSTART = dict(LAYERS=3, DIM=128, HEADS=4, GROUPS=2, SIZE=32, HIDDEN=512, LENGTH=512, BATCH=2, BLOCK=16, STRIDE=8, SELECTION=16, KEPT=5,
                  WINDOW=32)
DENSE = dict(LAYERS=6, DIM=384, HEADS=6, GROUPS=6, SIZE=64, HIDDEN=1600, LENGTH=1024, BATCH=1)


def settings(model, attention, precision, steps):
    """key=value of that model for the trainer."""
    m = dict(plain.__dict__, **model)
    return ["attention=" + attention, "runtime.precision=" + precision, "data.order=sequential", "train.save_every=0",
            "model.dim=%d" % m["DIM"], "model.layers=%d" % m["LAYERS"], "model.heads=%d" % m["HEADS"], "model.kv_heads=%d" % m["GROUPS"],
            "model.key_dim=%d" % m["SIZE"], "model.value_dim=%d" % m["SIZE"], "model.mlp_dim=%d" % m["HIDDEN"], "nsa.l=%d" % m["BLOCK"],
            "nsa.d=%d" % m["STRIDE"], "nsa.l_sel=%d" % m["SELECTION"], "nsa.n_sel=%d" % m["KEPT"], "nsa.w=%d" % m["WINDOW"],
            "train.seq_len=%d" % m["LENGTH"], "train.batch_size=%d" % m["BATCH"], "train.final_windows=1", "train.log_every=1",
            "train.warmup=1", "train.lr=1e-3", "train.weight_decay=0.1", "train.grad_clip=1.0", "train.steps=%d" % steps]


def train(context, folder, out, arguments):
    """Runs the trainer; the records of its steps."""
    _, records = context.train(folder / out, "data.path=%s" % (folder / "text"), "threads=%d" % context.threads, *arguments)
    return [record for record in records if "bpb" in record]


class Baseline:
    """Steps of the PyTorch program; `autocast`: products in bf16, weights and their sums in fp32."""

    def __init__(self, weights, attention, data, autocast):
        self.weights = {name: value.clone().requires_grad_(True) for name, value in weights.items()}
        matrices = [v for name, v in self.weights.items() if v.dim() >= 2 and ".gate." not in name]
        others = [v for name, v in self.weights.items() if not (v.dim() >= 2 and ".gate." not in name)]
        self.optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                           lr=1e-3, betas=(0.9, 0.95), fused=True)
        self.attention, self.data, self.autocast, self.packing, self.step = attention, data, autocast, plain.Sequences(), 0

    def forward(self, tokens):
        if self.attention == "nsa":
            logits, _ = plain.forward(self.weights, tokens, "nsa", self.packing)
            return logits
        return dense_forward(self.weights, tokens)

    def run(self):
        """Milliseconds of a step and its loss in bits a byte."""
        starts = [(self.step * plain.BATCH + i) * plain.LENGTH for i in range(plain.BATCH)]
        tokens, targets = (torch.cat([torch.tensor(list(self.data[s + more:s + more + plain.LENGTH])) for s in starts]) for more in (0, 1))
        begin = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.autocast):
            loss = torch.nn.functional.cross_entropy(self.forward(tokens).float(), targets)
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(self.weights.values()), 1.0)
        self.optimizer.step()
        self.step += 1
        return (time.perf_counter() - begin) * 1e3, loss.item() / 0.6931471805599453


def dense_forward(w, tokens):
    """The dense model as a PyTorch user writes it: causal SDPA, no mask in memory."""
    cos, sin = torch.ops.tessera.rope_table(plain.LENGTH, plain.SIZE)
    c, s = cos[:plain.LENGTH, None], sin[:plain.LENGTH, None]

    def turn(x):
        even, odd = x.reshape(plain.BATCH, plain.LENGTH, -1, plain.SIZE).unflatten(-1, (-1, 2)).unbind(-1)
        return torch.stack((even * c - odd * s, even * s + odd * c), -1).flatten(-2).transpose(1, 2)

    x = torch.nn.functional.embedding(tokens, w["embedding"])
    width = plain.HEADS * plain.SIZE
    for i in range(plain.LAYERS):
        at = {name.split(".", 2)[2]: value for name, value in w.items() if name.startswith("blocks.%d." % i)}
        q, k, v = torch.nn.functional.linear(plain.norm(x, at["attention.norm"]), at["attention.qkv"]).split(width, -1)
        v = v.reshape(plain.BATCH, plain.LENGTH, plain.HEADS, plain.SIZE).transpose(1, 2)
        o = torch.nn.functional.scaled_dot_product_attention(turn(q).to(v.dtype), turn(k).to(v.dtype), v, is_causal=True)
        x = x + torch.nn.functional.linear(o.transpose(1, 2).reshape(len(tokens), width), at["attention.output"])
        hidden = torch.nn.functional.linear(plain.norm(x, at["mlp.norm"]), at["mlp.in"]).relu().square()
        x = x + torch.nn.functional.linear(hidden, at["mlp.out"])
    return torch.nn.functional.linear(plain.norm(x, w["norm"]), w["head"])


def measure(name, context):
    context.torch.manual_seed(0)
    attention, model = ("nsa", QUICKSTART) if "nsa" in name else ("dense", DENSE)
    precision = "bf16" if name.endswith("bf16") else "fp32"
    for key, value in model.items():
        setattr(plain, key, value)
    with tempfile.TemporaryDirectory() as folder_name:
        folder = pathlib.Path(folder_name)
        data = plain.text((WARM + STEPS + 2) * plain.BATCH * plain.LENGTH + 65536)
        (folder / "text").write_bytes(data)
        train(context, folder, "first", [*settings(model, attention, precision, 1), "train.lr=0", "train.lr_final=0"])
        weights = plain.tensors(folder / "first/ckpt/step_00000001/model.safetensors")
        ours, theirs, losses = [], [], None
        for turn in range(TURNS):
            records = train(context, folder, "run%d" % turn, settings(model, attention, precision, WARM + STEPS))
            ours += [record["step_ms"] for record in records[WARM:]]
            side = Baseline(weights, attention, data, precision == "bf16")
            steps = [side.run() for _ in range(WARM + STEPS)]
            theirs += [ms for ms, _ in steps[WARM:]]
            losses = records[0]["bpb"], steps[0][1]
    median = statistics.median
    return {"ours": median(ours), "peer": median(theirs), "spread": {"ours": [min(ours), max(ours)], "peer": [min(theirs), max(theirs)]},
            "max_error": abs(losses[0] - losses[1]) / losses[1], "bound": "multiply-adds"}
