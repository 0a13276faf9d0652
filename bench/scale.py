# bench/scale.py - memory, bytes sent and predicted time of a training step of configs/m7c_125m.yaml on 1 to 64 GPUs.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Memory, bytes sent and predicted time per rank of a step of configs/m7c_125m.yaml on 1 to 64 A100s, data-parallel.

Nothing of this was measured. Each rank has the batch of the config (4 micro-batches of 4 sequences); the global batch grows with the ranks.

* bytes: rank 0 of a process group of torch's backend "fake" issues the collectives of a step: the buckets of GradientExchange and the sums
  of the loss; a dispatch mode counts the bytes of each c10d operation. A ring sends 2 (n - 1) / n of them from each rank;
* memory: the plan of tessera train --nproc N --dry-run (also with runtime.zero_stage=1), and the copy that a compressed exchange sends;
* time: micro-batches and optimizer as predicted_step.json has them at 60% of the peak; a bucket starts when the last of its gradients is
  complete, one after another, at the rate of the slowest link of the ring (8 GPUs a node), and each of its 2 (n - 1) hops has a latency."""
import json
import math
import re

RANKS = (1, 2, 4, 8, 16, 32, 64)
GPUS_OF_A_NODE = 8
LINKS = {"NVLink of an A100": 300e9, "network, 200 Gbit/s for each GPU": 25e9}  # bytes a second in one direction
SHARE, HOP = 0.8, 5e-6   # of a link's rate; seconds of a hop
BACKWARD = 2 / 3         # of a micro-batch
OPTIONS = {"config": "configs/m7c_125m.yaml", "bucket_mb": 25.0}
UNIT, LOSS_SUMS = 64, 4  # elements to which AdamW rounds a parameter; doubles that Run::shareLoss sums
SIZES = {"fp32": 4, "bf16": 2}


def parameters(m):
    """(name, shape) in the order of Transformer::parameters(), for relu2, tied head, NSA with pooled keys and gates from the hidden state."""
    qkv = m["n_heads"] * m["d_k"] + 3 * m["n_kv_groups"] * (m["d_k"] + m["d_v"])
    found = [("embedding", (m["vocab_size"], m["dim"]))]
    for block in range(m["n_layers"]):
        found += [("blocks.%d.%s" % (block, name), shape) for name, shape in (
            ("attention.norm", (m["dim"],)), ("attention.qkv", (qkv, m["dim"])), ("attention.output", (m["dim"], m["n_heads"] * m["d_v"])),
            ("gate.in", (m["d_k"], m["dim"])), ("gate.in_bias", (m["d_k"],)), ("gate.out", (3 * m["n_kv_groups"], m["d_k"])),
            ("gate.out_bias", (3 * m["n_kv_groups"],)), ("mlp.norm", (m["dim"],)), ("mlp.in", (m["mlp_dim"], m["dim"])),
            ("mlp.out", (m["dim"], m["mlp_dim"])))]
    return [*found, ("norm", (m["dim"],))]


def buckets(shapes, megabytes):
    """GradientExchange::makeBuckets() after the order of AdamW's flat buffer: [(elements, names)]."""
    decays = lambda name, shape: len(shape) >= 2 and ".gate." not in name and ".compress." not in name
    at, found = 0, []
    for kind in (True, False):
        for name, shape in shapes:
            if decays(name, shape) != kind:
                continue
            end = at + math.prod(shape)
            if not found or found[-1]["kind"] != kind or end - found[-1]["begin"] > int(megabytes * 1e6) // 4:
                found.append({"begin": at, "kind": kind, "names": []})
            found[-1]["end"] = end
            found[-1]["names"].append(name)
            at += -(-math.prod(shape) // UNIT) * UNIT
    return [(bucket["end"] - bucket["begin"], bucket["names"]) for bucket in found]


def counted(ranks, sizes, wire):
    """Bytes of the collectives that a rank issues in a step, one number for each, as c10d's dispatcher sees them."""
    import torch
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    from torch.utils._python_dispatch import TorchDispatchMode

    class Counter(TorchDispatchMode):
        """Records the bytes of the tensors of each c10d operation."""
        seen = []

        def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
            if function.namespace == "c10d":
                self.seen.append((function._opname, sum(tensor.nbytes for tensor in arguments[0])))
            return function(*arguments, **(keywords or {}))

    dist.init_process_group("fake", rank=0, world_size=ranks, store=FakeStore())
    try:
        with Counter() as counter:
            counter.seen = []
            kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[wire]
            works = [dist.all_reduce(torch.empty(size, dtype=kind, device="meta"), async_op=True) for size in sizes]
            for work in works:
                work.wait()
            dist.all_reduce(torch.empty(LOSS_SUMS, dtype=torch.float64, device="meta"))
            seen = list(counter.seen)
    finally:
        dist.destroy_process_group()
    assert {name for name, _ in seen} == {"allreduce_"} and len(seen) == len(sizes) + 1, seen
    return [size for _, size in seen]


def ready(names, layers, backward):
    """Seconds after the start of the backward pass at which the last gradient of a bucket is complete: layers take equal times."""
    done = {"embedding": 1.0, "norm": 0.0}
    for block in range(layers):
        done["blocks.%d" % block] = (layers - block) / layers
    return backward * max(done[re.match(r"blocks\.\d+|\w+", name)[0]] for name in names)


def waits(ranks, parts, layers, backward):
    """Seconds from the end of the backward pass to the end of the exchange; the bytes of `parts` are counted ones."""
    if ranks == 1:
        return 0.0
    rate = SHARE * list(LINKS.values())[ranks > GPUS_OF_A_NODE]
    end = 0.0
    for start, size in sorted((ready(names, layers, backward), size) for names, size in parts):
        end = max(end, start) + 2 * (ranks - 1) * (size / ranks / rate + HOP)
    return max(0.0, end - backward)


def plan(context, ranks, *more):
    """(settings of the model, bytes of the state, bytes of a micro-batch, parameters) from the plan of the run."""
    said = context.start([context.program("tessera-train"), "train", "--config", context.options.config, "--nproc", ranks,
                          "train.batch_size=%d" % (4 * ranks), *more, "--dry-run"]).out
    unit = {"MiB": 2 ** 20, "GiB": 2 ** 30}
    found = re.search(r"memory: (\S+) (\S+) of weights.* about (\S+) (\S+) for a micro-batch of (\d+) x (\d+)", said)
    model = {name: int(value) for name, value in re.findall(r"^model\.(\w+) +(\d+) ", said, re.M)}
    return (model, float(found[1]) * unit[found[2]], float(found[3]) * unit[found[4]], int(re.search(r"^parameters: (\d+)", said, re.M)[1]),
            int(found[5]) * int(found[6]))


def step(context):
    """Seconds of a micro-batch and of the optimizer, from predicted_step.json."""
    row = json.loads((context.root / "bench/results/predicted_step.json").read_text())["rows"][0]
    [chosen] = [found for found in row["predictions"] if found["share_of_peak_of_products"] == 0.6]
    optimizer = row["optimizer_ms"] / 1e3
    return (chosen["step_ms"] / 1e3 - optimizer) / 4, optimizer


def rows(options):
    return {"%d rank%s" % (ranks, "s" * (ranks > 1)): ranks for ranks in RANKS}


def measure(ranks, context):
    model, state, activations, count, tokens = plan(context, ranks)
    divided = plan(context, ranks, "runtime.zero_stage=1")[1]
    shapes = parameters(model)
    assert sum(math.prod(shape) for _, shape in shapes) == count, "the model has other parameters"
    found = buckets(shapes, context.options.bucket_mb)
    micro_batch, optimizer = step(context)
    compute = 4 * micro_batch + optimizer
    record = dict(ranks=ranks, state_bytes=int(state), micro_batch_bytes=int(activations),
                  zero_stage_1_bytes=int(divided + activations), buckets=len(found) if ranks > 1 else 0,
                  tokens_of_a_step=4 * tokens * ranks)
    for wire in SIZES:
        issued = counted(ranks, [size for size, _ in found], wire) if ranks > 1 else []
        exposed = waits(ranks, [(names, size) for (_, names), size in zip(found, issued)], model["n_layers"], BACKWARD * micro_batch)
        copy = sum(size for size, _ in found) * SIZES[wire] if wire != "fp32" and ranks > 1 else 0
        seconds = compute + exposed
        record[wire] = dict(all_reduced_bytes=sum(issued), sent_bytes=round(sum(issued) * 2 * (ranks - 1) / ranks),
                            memory_bytes=int(state + activations + copy), waiting_ms=round(exposed * 1e3, 2), step_ms=round(seconds * 1e3, 1),
                            tokens_per_s=round(4 * tokens * ranks / seconds), efficiency=round(compute / seconds, 3))
    return record
