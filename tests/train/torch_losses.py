# tests/train/torch_losses.py - the losses of a run next to those of a plain PyTorch program.
# SPDX-License-Identifier: Apache-2.0
"""python3 tests/train/torch_losses.py [steps=300] [attention=dense,nsa] [precision=fp32,bf16] [result=FILE]

TESSERA_TRAIN names the program. Both start from the weights of one checkpoint, read the same bytes in the same order and
follow the same schedule; the PyTorch side is torch's autograd, torch.optim.AdamW and, for NSA, masked attention
(tests/python/nsa_reference.py). Of bf16 both keep fp32 weights and compute with rounded copies; attention there is computed
in fp32 from rounded inputs, as compiled kernels sum. The losses of every step may differ by 1e-3 (bf16: 1e-2) of their size."""
import datetime
import json
import math
import os
import pathlib
import platform
import struct
import subprocess
import sys
import tempfile

import numpy
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))
import nsa_reference as reference  # noqa: E402

LAYERS, DIM, HEADS, GROUPS, SIZE, HIDDEN, LENGTH, BATCH = 2, 64, 4, 2, 16, 128, 128, 4
BLOCK, STRIDE, SELECTION, KEPT, WINDOW = 8, 4, 16, 4, 16
RATE, LAST, WARMUP, DECAY, CLIP = 5e-4, 5e-5, 20, 0.1, 1.0
BOUND = {"fp32": 1e-3, "bf16": 1e-2}


def text(size):
    words = ["the ", "tile ", "of ", "stone\n", "is ", "laid ", "upon ", "a ", "floor, ", "and ", "then ", "walls ", "rise. "]
    state, parts, length = 1, [], 0
    while length < size:
        state = (state * 1664525 + 1013904223) % 2 ** 32
        parts.append(words[(state >> 16) % len(words)])
        length += len(parts[-1])
    return "".join(parts).encode()


def run(folder, out, attention, precision, steps, *more):
    done = subprocess.run(
        [os.environ["TESSERA_TRAIN"], "train", "attention=" + attention, "runtime.precision=" + precision, "panel=false", "threads=1",
         "data.path=" + str(folder / "text"), "data.order=sequential", "out=" + str(folder / out), "model.dim=%d" % DIM,
         "model.layers=%d" % LAYERS, "model.heads=%d" % HEADS, "model.kv_heads=%d" % GROUPS, "model.key_dim=%d" % SIZE,
         "model.value_dim=%d" % SIZE, "model.mlp_dim=%d" % HIDDEN, "nsa.l=%d" % BLOCK, "nsa.d=%d" % STRIDE,
         "nsa.l_sel=%d" % SELECTION, "nsa.n_sel=%d" % KEPT, "nsa.w=%d" % WINDOW, "train.seq_len=%d" % LENGTH,
         "train.batch_size=%d" % BATCH, "train.final_windows=1", "train.log_every=1", "train.save_every=0",
         "train.warmup=%d" % WARMUP, "train.weight_decay=%r" % DECAY, "train.grad_clip=%r" % CLIP,
         "train.steps=%d" % steps, *more], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)


def tensors(path):
    data = path.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    return {name: torch.from_numpy(numpy.frombuffer(data[8 + length + entry["data_offsets"][0]:8 + length + entry["data_offsets"][1]],
                                                    "<f4").copy()).reshape(entry["shape"]) for name, entry in header.items()}


def norm(x, weight):
    y = x.float()
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6) * weight.float()).to(x.dtype)


def select(scores, p):
    """reference.select() without a loop: forced blocks, then by score, the lower number first among equals."""
    block, own = torch.arange(scores.shape[-1]), (p.position // SELECTION)[:, None]
    forced = ((block < 1) | (block > own - 2)) & (block <= own)
    rank = scores.detach().masked_fill(forced, math.inf).masked_fill(block > own, -math.inf)
    value, order = rank.sort(dim=-1, descending=True, stable=True)
    return order.masked_fill(value == -math.inf, -1)[..., :KEPT]


def nsa(query, keys, values, logits, p):
    scale = 1 / math.sqrt(SIZE)
    short = [reference.compress(x, p, BLOCK, STRIDE) for x in (keys[0], values[0])]
    scores = reference.block_scores(query, short[0], p, BLOCK, STRIDE, SELECTION, scale)
    indices = select(scores.float(), p)
    compressed = reference.attention(query, *short, reference.compressed_mask(p, BLOCK, STRIDE), scale)[0]
    # Scores of packed sequences count blocks from each one's start, and so does the mask.
    selected = reference.attention(query, keys[1], values[1], reference.selected_mask(p, indices, SELECTION), scale)[0]
    window = reference.attention(query, keys[2], values[2], reference.window_mask(p, WINDOW), scale)[0]
    return reference.combine((compressed, selected, window), logits, "sigmoid", 1.0)


def forward(w, tokens, attention, p):
    """Logits [T, vocabulary] of packed tokens."""
    branches = 3 if attention == "nsa" else 1
    turned = HEADS + branches * GROUPS
    x = torch.nn.functional.embedding(tokens, w["embedding"])
    for i in range(LAYERS):
        at = {name.split(".", 2)[2]: value for name, value in w.items() if name.startswith("blocks.%d." % i)}
        y = norm(x, at["attention.norm"])
        projected = y @ at["attention.qkv"].T
        rotated = reference.rope(projected[:, :turned * SIZE].float().reshape(-1, turned, SIZE), p.position, 10000.0, SIZE)
        rotated = rotated.to(x.dtype).float()
        values = projected[:, turned * SIZE:].float().reshape(-1, branches * GROUPS, SIZE)
        query = rotated[:, :HEADS]
        keys = rotated[:, HEADS:].split(GROUPS, 1)
        values = values.split(GROUPS, 1)
        if attention == "nsa":
            hidden = torch.nn.functional.silu(y @ at["gate.in"].T + at["gate.in_bias"])
            logits = (hidden @ at["gate.out"].T + at["gate.out_bias"]).float().reshape(-1, GROUPS, 3)
            output = nsa(query, keys, values, logits, p)
        else:
            output = reference.attention(query, keys[0], values[0], reference.dense_mask(p), 1 / math.sqrt(SIZE))[0]
        x = x + output.to(x.dtype).reshape(len(tokens), -1) @ at["attention.output"].T
        x = x + (norm(x, at["mlp.norm"]) @ at["mlp.in"].T).relu().square() @ at["mlp.out"].T
    return norm(x, w["norm"]) @ w["head"].T


def rate(step, steps):
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    return LAST + (RATE - LAST) * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / max(1, steps - WARMUP)))


def plain(weights, data, attention, precision, steps):
    """Loss of every step in bits a byte."""
    masters = {name: value.clone().requires_grad_(True) for name, value in weights.items()}
    matrices = [value for name, value in masters.items() if value.dim() >= 2 and ".gate." not in name]
    others = [value for name, value in masters.items() if not (value.dim() >= 2 and ".gate." not in name)]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
                                  lr=RATE, betas=(0.9, 0.95), eps=1e-8)
    p = reference.Packing([LENGTH] * BATCH)
    losses = []
    for step in range(steps):
        starts = [(step * BATCH + i) * LENGTH for i in range(BATCH)]
        tokens, targets = (torch.cat([torch.tensor(list(data[s + more:s + more + LENGTH])) for s in starts]) for more in (0, 1))
        used = masters if precision == "fp32" else {name: value.bfloat16() for name, value in masters.items()}
        loss = torch.nn.functional.cross_entropy(forward(used, tokens, attention, p).float(), targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(masters.values()), CLIP)
        for group in optimizer.param_groups:
            group["lr"] = rate(step, steps)
        optimizer.step()
        losses.append(loss.item() / math.log(2))
    return losses


def compare(attention, precision, steps):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = text(max(20000, int(steps * BATCH * LENGTH * 1.1) + 4096))
        (folder / "text").write_bytes(data)
        # A step at a rate of zero leaves the first weights.
        run(folder, "first", attention, precision, 1, "train.lr=0", "train.lr_final=0")
        weights = tensors(folder / "first/ckpt/step_00000001/model.safetensors")
        run(folder, "run", attention, precision, steps, "train.lr=%r" % RATE, "train.lr_final=%r" % LAST)
        records = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    ours = [record["bpb"] for record in records if "bpb" in record]
    theirs = plain(weights, data, attention, precision, steps)
    assert len(ours) == len(theirs) == steps
    apart = [abs(a - b) / b for a, b in zip(ours, theirs)]
    worst = max(range(steps), key=apart.__getitem__)
    return {"attention": attention, "precision": precision, "steps": steps, "first_bpb": ours[0], "last_bpb": ours[-1],
            "torch_last_bpb": theirs[-1], "largest_difference": apart[worst], "at_step": worst + 1, "bound": BOUND[precision]}


def main():
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    steps = int(given.get("steps", 300))
    torch.set_num_threads(1)
    rows = [compare(attention, precision, steps) for attention in given.get("attention", "dense,nsa").split(",")
            for precision in given.get("precision", "fp32,bf16").split(",")]
    for row in rows:
        print("%(attention)s %(precision)s: losses of %(steps)d steps differ by %(largest_difference).2e of their size at most "
              "(step %(at_step)d), from %(first_bpb).4f to %(last_bpb).4f bits a byte" % row)
    if "result" in given:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        pathlib.Path(given["result"]).write_text(json.dumps(
            {"about": "losses of training runs next to a plain PyTorch program of the same weights, data and schedule",
             "command": "python3 tests/train/torch_losses.py " + " ".join(sys.argv[1:]), "commit": commit, "torch": torch.__version__,
             "machine": "%s, %d cores, shared with other work" % (platform.machine(), os.cpu_count()),
             "date": str(datetime.date.today()), "runs": rows}, indent=1) + "\n")
    failed = [row for row in rows if not row["largest_difference"] <= row["bound"] or not row["last_bpb"] < row["first_bpb"]]
    for row in failed:
        print("FAILED: %(attention)s %(precision)s, more than %(bound)g or no fall" % row)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
