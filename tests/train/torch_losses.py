# tests/train/torch_losses.py - the losses of a run next to those of a plain PyTorch program.
# SPDX-License-Identifier: Apache-2.0
"""python3 tests/train/torch_losses.py [steps=300] [attention=dense,nsa] [precision=fp32,bf16] [rates=0.001] [result=FILE]

TRAIN_PROGRAM names the program. Both start from the weights of one checkpoint, read the same bytes in the same order and
follow the same schedule; the PyTorch side is torch's autograd, torch.optim.AdamW and, for NSA, masked attention
(tests/helpers/nsa_reference.py). Of bf16 both keep fp32 weights and compute with rounded copies; attention there is computed
in fp32 from rounded inputs, as compiled kernels sum. The losses of every step may differ by 1e-3 (bf16: 1e-2) of their size,
in fp32 those of the first 40 by 1e-5.

With result=FILE the PyTorch program also runs against itself from weights that are moved by 1e-7 of their size: how far
losses part by rounding alone at that learning rate. Where that is beyond the bound, no two programs can be within it."""
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

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "helpers"))
import nsa_reference as reference  # noqa: E402
import gated_window  # noqa: E402
import selected_models  # noqa: E402

LAYERS, DIM, HEADS, GROUPS, SIZE, HIDDEN, LENGTH, BATCH = 2, 64, 4, 2, 16, 128, 128, 4
BLOCK, STRIDE, SELECTION, KEPT, WINDOW = 8, 4, 16, 4, 16
WARMUP, DECAY, CLIP = 20, 0.1, 1.0
# Patterns of kernels/patterns, and their parameters.
PATTERNS = {"sink_window": "window=16, first=4", "strided": "local=8, stride=8", "alibi": "",
            "moba": "block=16, top=3", "learned_blocks": "block=16, top=3, heads=2, dim=8",
            "heavily_compressed": "l=16, d=16, window=8", "compressed_sparse": "top=3, l=8, d=4, window=8, heads=2, dim=8", "prefix_lm": ""}
STREAMS = {"nsa": 3, "heavily_compressed": 2, "compressed_sparse": 2}
NEWLINE = 10 # ends the prefixes of prefix_lm
# Kernels of a file with a learned tensor: every second key, 16 of them, and a gate of each token and head.
GATED = ("attention.fwd=dilated_window", "attention.bwd=dilated_window_bwd", "attention.constexprs=W=16, STEP=2", "attention.learned=GATE")
BOUND = {"fp32": 1e-3, "bf16": 1e-2}
EARLY, EARLY_BOUND = 40, {"fp32": 1e-5, "bf16": 1e-2}
MOVED, PART = 1e-7, 50


def text(size):
    words = ["the ", "tile ", "of ", "stone\n", "is ", "laid ", "upon ", "a ", "floor, ", "and ", "then ", "walls ", "rise. "]
    state, parts, length = 1, [], 0
    while length < size:
        state = (state * 1664525 + 1013904223) % 2 ** 32
        parts.append(words[(state >> 16) % len(words)])
        length += len(parts[-1])
    return "".join(parts).encode()


def run(folder, out, attention, precision, steps, *more):
    if attention in PATTERNS:
        more = ("attention_params=" + PATTERNS[attention], *more)
        if attention == "prefix_lm":
            more = ("attention.per_sequence=prefix=through(%d)" % NEWLINE, *more)
        attention = "kernels/patterns/%s.py" % attention
    if attention == "gated":
        (folder / "gated.py").write_text(gated_window.text())
        more = ("attention.kernel=%s" % (folder / "gated.py"), *GATED, *more)
        attention = "kernel"
    done = subprocess.run(
        [os.environ["TRAIN_PROGRAM"], "train", "attention=" + attention, "runtime.precision=" + precision, "panel=false", "threads=1",
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


class Sequences(reference.Packing):
    """Of one length; first tokens of compressed blocks and the masks of one sequence do not change from step to step."""

    def __init__(self):
        super().__init__([LENGTH] * BATCH)
        one = reference.Packing([LENGTH])
        self.first = super().blocks(BLOCK, STRIDE)
        self.dense, self.window = reference.dense_mask(one), reference.window_mask(one, WINDOW)
        self.compressed = reference.compressed_mask(one, BLOCK, STRIDE)

    def blocks(self, length, stride):
        assert (length, stride) == (BLOCK, STRIDE)
        return self.first


def attend(q, k, v, mask):
    """torch's own attention over packed sequences; mask [L, keys] or [B, groups, L, keys]. Rows without keys give 0."""
    apart = [x.reshape(BATCH, -1, *x.shape[1:]).transpose(1, 2) for x in (q, k, v)]
    group = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(group, 1) for x in apart[1:])
    mask = mask.repeat_interleave(group, 1) if mask.dim() == 4 else mask
    live = mask.any(-1, keepdim=True)
    # A row without keys attends everything and is then zeroed, to keep its gradient finite.
    output = torch.nn.functional.scaled_dot_product_attention(apart[0], k, v, attn_mask=mask | ~live) * live
    return output.transpose(1, 2).reshape(len(q), q.shape[1], -1)


def prefixes(tokens):
    """Tokens of each sequence through its first newline, 0 where there is none."""
    found = tokens.reshape(BATCH, LENGTH) == NEWLINE
    return torch.where(found.any(1), found.int().argmax(1) + 1, 0)


def pattern(name, query, keys, values, learned, prefix):
    """A pattern of kernels/patterns as attention under a mask; `learned` has a number for each head, or is None."""
    apart = [x.reshape(BATCH, LENGTH, -1, SIZE).transpose(1, 2) for x in (query, keys, values)]
    k, v = (x.repeat_interleave(HEADS // GROUPS, 1) for x in apart[1:])
    t, pos = torch.arange(LENGTH)[:, None], torch.arange(LENGTH)[None, :]
    scores = apart[0] @ k.transpose(2, 3) / math.sqrt(SIZE)
    mask = pos <= t
    if name == "sink_window":
        mask = mask & ((t - pos < WINDOW) | (pos < 4))
    elif name == "strided":
        mask = mask & ((t - pos < 8) | ((t - pos) % 8 == 0))
    elif name == "gated":
        mask = mask & (t - pos < 32) & ((t - pos) % 2 == 0)
    elif name == "prefix_lm":
        mask = mask | (pos < prefix[:, None, None, None])
    elif name == "alibi":
        scores = scores - learned[None, :, None, None] * (t - pos)
    scores = scores.masked_fill(~mask, -math.inf)
    if name == "sink_window":
        scores = torch.cat([scores, learned[None, :, None, None].expand(BATCH, HEADS, LENGTH, 1)], 3)
    output = scores.softmax(3)[..., :LENGTH] @ v
    return output.transpose(1, 2).reshape(BATCH * LENGTH, HEADS, SIZE)


def norm(x, weight):
    y = x.float()
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6) * weight.float()).to(x.dtype)


def select(scores, p):
    """reference.select() without a loop: forced blocks, then by score, the lower number first among equals. Rows are not sorted."""
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
    # [groups, B, L, blocks kept, 1] against the block of each key.
    own = indices.reshape(GROUPS, BATCH, LENGTH, -1, 1) == torch.arange(LENGTH) // SELECTION
    compressed = attend(query, *short, p.compressed)
    selected = attend(query, keys[1], values[1], own.any(3).transpose(0, 1) & p.dense)
    window = attend(query, keys[2], values[2], p.window)
    return reference.combine((compressed, selected, window), logits, "sigmoid", 1.0)


def indexer(y, at, p):
    """Queries, keys and weights of 2 index heads of 8 channels."""
    x = y.detach()
    index = torch.cat([x @ at["attention.index_q"].T, x @ at["attention.index_k"].T], 1).reshape(-1, 3, 8)
    index = reference.rope(index, p.position, 10000.0, 8)
    return index[:, :2], index[:, 2], x @ at["attention.index_weight"].T / math.sqrt(2 * 8)


def pairs(tokens, rows):
    """Rows of the pairs of each token and the one before it, which the first of a sequence lacks, in a table of hashed pairs."""
    before = [None if i % LENGTH == 0 else tokens[i - 1] for i in range(len(tokens))]
    return torch.tensor([((0 if b is None else b + 1) * 36313 ^ t * 27191) % rows for b, t in zip(before, tokens)])


def forward(w, tokens, attention, p):
    """(logits [T, vocabulary] of packed tokens, sum of the layers' own losses)."""
    own = 0.0
    branches = STREAMS.get(attention, 1)
    turned = HEADS + branches * GROUPS
    x = torch.nn.functional.embedding(tokens, w["embedding"])
    if "bigram_embedding" in w:
        x = x + w["bigram_embedding"][pairs(tokens.tolist(), len(w["bigram_embedding"]))]
    for i in range(LAYERS):
        at = {name.split(".", 2)[2]: value for name, value in w.items() if name.startswith("blocks.%d." % i)}
        y = norm(x, at["attention.norm"])
        projected = y @ at["attention.qkv"].T
        rotated = reference.rope(projected[:, :turned * SIZE].float().reshape(-1, turned, SIZE), p.position, 10000.0, SIZE)
        rotated = rotated.to(x.dtype).float()
        values = projected[:, turned * SIZE:].float().reshape(-1, branches * GROUPS, SIZE)
        if "value_embeddings.%d.table" % i in w:
            table = w["value_embeddings.%d.scale" % i] * w["value_embeddings.%d.table" % i][tokens]
            values = (values + table.float().reshape(-1, GROUPS, SIZE).repeat(1, branches, 1)).to(x.dtype).float()
        query = rotated[:, :HEADS]
        keys = rotated[:, HEADS:].split(GROUPS, 1)
        values = values.split(GROUPS, 1)
        if attention == "nsa":
            hidden = torch.nn.functional.silu(y @ at["gate.in"].T + at["gate.in_bias"])
            logits = (hidden @ at["gate.out"].T + at["gate.out_bias"]).float().reshape(-1, GROUPS, 3)
            output = nsa(query, keys, values, logits, p)
        elif attention == "moba":
            output = selected_models.moba(query, keys[0], values[0], BATCH, 16, 3)
        elif attention == "learned_blocks":
            output, loss = selected_models.learned_blocks(query, keys[0], values[0], *indexer(y, at, p), BATCH, 16, 3)
            own = own + loss
        elif attention == "heavily_compressed":
            output, _ = selected_models.joined(query, keys, values, at["attention.head_learned"], BATCH, 16, 16, 8)
        elif attention == "compressed_sparse":
            output, loss = selected_models.joined(query, keys, values, at["attention.head_learned"], BATCH, 8, 4, 8, indexer(y, at, p), 3)
            own = own + loss
        elif attention == "gated":
            gate = (y @ at["attention.learned"].T).sigmoid()
            output = pattern(attention, query, keys[0], values[0], None, None) * gate[:, :, None]
        elif attention in PATTERNS:
            learned = at.get("attention.head_learned")
            output = pattern(attention, query, keys[0], values[0], None if learned is None else learned.float(), prefixes(tokens))
        else:
            output = attend(query, keys[0], values[0], p.dense)
        x = x + output.to(x.dtype).reshape(len(tokens), -1) @ at["attention.output"].T
        x = x + (norm(x, at["mlp.norm"]) @ at["mlp.in"].T).relu().square() @ at["mlp.out"].T
    return norm(x, w["norm"]) @ w["head"].T, own


def schedule(step, steps, rate):
    """Of the step with that number, counted from 0: to a tenth of the rate along a cosine."""
    if step < WARMUP:
        return rate * (step + 1) / WARMUP
    return rate / 10 + rate * 0.9 * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / max(1, steps - WARMUP)))


def plain(weights, data, attention, precision, steps, rate):
    """Loss of every step in bits a byte."""
    masters = {name: value.clone().requires_grad_(True) for name, value in weights.items()}
    matrices = [value for name, value in masters.items() if value.dim() >= 2 and ".gate." not in name]
    others = [value for name, value in masters.items() if not (value.dim() >= 2 and ".gate." not in name)]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}],
                                  lr=rate, betas=(0.9, 0.95), eps=1e-8)
    p = Sequences()
    losses = []
    for step in range(steps):
        starts = [(step * BATCH + i) * LENGTH for i in range(BATCH)]
        tokens, targets = (torch.cat([torch.tensor(list(data[s + more:s + more + LENGTH])) for s in starts]) for more in (0, 1))
        if attention == "prefix_lm":
            inside = torch.arange(LENGTH) + 1 < prefixes(tokens)[:, None]
            targets = targets.masked_fill(inside.reshape(-1), -100)
        used = masters if precision == "fp32" else {name: value.bfloat16() for name, value in masters.items()}
        logits, own = forward(used, tokens, attention, p)
        loss = torch.nn.functional.cross_entropy(logits.float(), targets)
        optimizer.zero_grad()
        (loss + own).backward()
        torch.nn.utils.clip_grad_norm_(list(masters.values()), CLIP)
        for group in optimizer.param_groups:
            group["lr"] = schedule(step, steps, rate)
        optimizer.step()
        losses.append(loss.item() / math.log(2))
    return losses


def moved(weights):
    generator = torch.Generator().manual_seed(1)
    return {name: value * (1 + MOVED * torch.randn(value.shape, generator=generator)) for name, value in weights.items()}


def apart(losses, theirs):
    """Largest relative difference, its step counted from 1, and the largest of every PART steps."""
    assert len(losses) == len(theirs)
    all_steps = [abs(a - b) / b for a, b in zip(losses, theirs)]
    worst = max(range(len(all_steps)), key=all_steps.__getitem__)
    return {"largest": all_steps[worst], "at_step": worst + 1, "largest_of_first_%d" % EARLY: max(all_steps[:EARLY]),
            "largest_of_each_%d" % PART: [float("%.3g" % max(all_steps[i:i + PART])) for i in range(0, len(all_steps), PART)]}


def compare(attention, precision, steps, rate, yardstick, *more):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = text(max(20000, int(steps * BATCH * LENGTH * 1.1) + 4096))
        (folder / "text").write_bytes(data)
        # A step at a rate of zero leaves the first weights.
        run(folder, "first", attention, precision, 1, "train.lr=0", "train.lr_final=0", *more)
        weights = tensors(folder / "first/ckpt/step_00000001/model.safetensors")
        run(folder, "run", attention, precision, steps, "train.lr=%r" % rate, "train.lr_final=%r" % (rate / 10), *more)
        records = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    ours = [record["bpb"] for record in records if "bpb" in record]
    theirs = plain(weights, data, attention, precision, steps, rate)
    difference = apart(ours, theirs)
    row = {"attention": attention, "precision": precision, "rate": rate, "steps": steps, "first_bpb": ours[0], "last_bpb": ours[-1],
           "torch_last_bpb": theirs[-1], "difference": difference, "bound": BOUND[precision],
           "met": difference["largest"] <= BOUND[precision] and difference["largest_of_first_%d" % EARLY] <= EARLY_BOUND[precision]
           and ours[-1] < ours[0]}
    if yardstick:
        row["torch_against_itself_moved"] = apart(plain(moved(weights), data, attention, precision, steps, rate), theirs)
    print("%s %s at %g: losses of %d steps differ by %.2e of their size at most (step %d), %s; from %.4f to %.4f bits a byte"
          % (attention, precision, rate, steps, difference["largest"], difference["at_step"],
             "within the bound" if row["met"] else "NOT WITHIN THE BOUND", ours[0], ours[-1]), flush=True)
    return row


def main():
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    steps = int(given.get("steps", 300))
    torch.set_num_threads(1)
    rows = [compare(attention, precision, steps, float(rate), "result" in given)
            for rate in given.get("rates", "0.001").split(",")
            for attention in given.get("attention", "dense,nsa").split(",")
            for precision in given.get("precision", "fp32,bf16").split(",")]
    if "result" in given:
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        pathlib.Path(given["result"]).write_text(json.dumps(
            {"about": "losses of training runs next to a plain PyTorch program of the same weights, data and schedule, and of that "
             "program next to itself from weights moved by %g of their size" % MOVED,
             "command": "python3 tests/train/torch_losses.py " + " ".join(sys.argv[1:]), "commit": commit, "torch": torch.__version__,
             "machine": "%s, %d cores, shared with other work" % (platform.machine(), os.cpu_count()),
             "date": str(datetime.date.today()), "runs": rows}, indent=1) + "\n")
    sys.exit(0 if all(row["met"] for row in rows) else 1)


if __name__ == "__main__":
    main()
