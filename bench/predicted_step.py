# bench/predicted_step.py - tokens per second that configs/m7c_125m.yaml is predicted to train with on one A100.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Predicted tokens per second of a training step of configs/m7c_125m.yaml on one A100.

Nothing of this was measured. A micro-batch of 4 x 2,048 tokens, 12 layers of 768, 12 and 2 heads of 64, an MLP of 3,072, 50,257 tokens:

* attention: the launches of a layer by the cost model (bench/predicted.py), 12 times;
* head and loss: the logits are kept, as runtime.loss_logits=auto does it here: logits_loss_fwd and logits_loss_bwd by the cost model, and
  three products; with runtime.loss_logits=chunks (`chunks` in the results) linear_loss_fwd and linear_loss_bwd, and two products;
* products: their operations at a share of the GPU's peak. llm.c trains GPT-2 124M on A100s at 56% of the peak including all other
  operations, so products take less time than at 60%; the result has 50 and 70%, too;
* everything else (norms with the residual, rotation, activation, gradients that are put side by side or added to others, AdamW): bytes
  read and written at 80% of DRAM's peak.

Launches follow each other without gaps, as with runtime.cuda_graph. MFU is by the rule of the step line (docs/training.md)."""
import re

import layer
import predicted

LAYERS, DIM, HEADS, GROUPS, SIZE, HIDDEN, VOCABULARY = 12, 768, 12, 2, 64, 3072, 50257
SEQUENCES, LENGTH, MICRO_BATCHES = 4, 2048, 4
TOKENS = SEQUENCES * LENGTH
QKV = (HEADS + 2 * 3 * GROUPS) * SIZE
SPAN = 2048                                             # columns of a program, as ops/nn/LinearLoss.cpp has it
SHARES = (0.5, 0.6, 0.7)
TARGET, GPU = 100_000, "a100"
OPTIONS = {"gpus": [GPU]}


WAYS = dict(keep=("logits_loss_fwd", "logits_loss_bwd"), chunks=("linear_loss_fwd", "linear_loss_bwd"))


def loss_launches(names):
    """What cost_predict runs for head and loss."""
    return [chunk_launch(name) if name.startswith("linear") else kept_launch(name) for name in names]


def kept_launch(name):
    """Of the kernels that read each row of the kept logits once; the second also writes it."""
    width = -(-VOCABULARY // 16) * 16
    tiles, warps, stages = layer.configuration(name)
    logits, numbers = dict(type="bf16", elements=TOKENS * width), dict(type="fp32", elements=TOKENS)
    arguments = dict(LOGITS=logits, TARGETS=dict(type="i64", elements=TOKENS), LSE=numbers)
    arguments |= {"LOSS" if name.endswith("fwd") else "GRAD": numbers} | dict(N=TOKENS, V=VOCABULARY, ignore=-100, sl=width)
    passes = 1 if name.endswith("fwd") else 2
    return dict(kernel=name, file="kernels/nn/logits_loss.py", grid=[-(-TOKENS // tiles["BR"]), 1, 1], constexprs=tiles, warps=warps,
                stages=stages, arguments=arguments, bytes=TOKENS * (passes * width * 2 + 8 + 4 + 4))


def chunk_launch(name):
    """Of the kernels that compute the logits."""
    tensors = dict(H=("bf16", TOKENS * DIM), W=("bf16", VOCABULARY * DIM), TARGETS=("i64", TOKENS), LSE=("fp32", TOKENS),
                   GRAD=("fp32", TOKENS), STATE=("fp32", 3 * -(-VOCABULARY // SPAN) * TOKENS), DL=("bf16", TOKENS * VOCABULARY))
    numbers = dict(N=TOKENS, V=VOCABULARY, span=SPAN, ignore=-100, sh=DIM, sw=DIM, sdl=VOCABULARY)
    tiles, warps, stages = layer.configuration(name)
    rows_of_tiles = -(-TOKENS // tiles["BM"])
    grid = [rows_of_tiles, -(-VOCABULARY // SPAN), 1] if name.endswith("fwd") else [rows_of_tiles * -(-VOCABULARY // tiles["BN"]), 1, 1]
    signature = re.search(r"def %s\(([^:]*?)D: tl" % name, (layer.ROOT / "kernels/nn/linear_loss.py").read_text())[1]
    names = [part.strip() for part in signature.split(",") if part.strip()]
    arguments = {n: dict(type=tensors[n][0], elements=tensors[n][1]) if n in tensors else numbers[n] for n in names}
    sizes = dict(bf16=2, fp32=4, i64=8)
    return dict(kernel=name, file="kernels/nn/linear_loss.py", grid=grid, constexprs=dict(D=DIM, **tiles), warps=warps, stages=stages,
                arguments=arguments, bytes=sum(sizes[tensors[n][0]] * tensors[n][1] for n in names if n in tensors))


def products(way):
    """Multiply-adds of the products of a micro-batch; in chunks those of the logits are left out, which linear_loss makes."""
    weights = LAYERS * (DIM * QKV + HEADS * SIZE * DIM + 2 * DIM * HIDDEN)
    return TOKENS * (3 * weights + (3 if way == "keep" else 2) * DIM * VOCABULARY)


def other_bytes(way):
    """(of a micro-batch, of a step): operands and results of what is neither product nor attention, in bytes."""
    norms = 2 * (4 + 4) * DIM * 2
    rotation = 2 * 2 * (HEADS + 3 * GROUPS) * SIZE * 2
    activation = (2 + 3) * HIDDEN * 2
    put_together = 2 * QKV * 2
    # Read by two products; kept logits are written by a product.
    gradients = (3 if way == "keep" else 2) * VOCABULARY * 2
    parameters = LAYERS * (DIM * QKV + DIM * DIM + 2 * DIM * HIDDEN) + DIM * VOCABULARY
    micro_batch = TOKENS * (LAYERS * (norms + rotation + activation + put_together) + gradients) + parameters * (2 + 4 + 4)
    # Master, both moments read and written, the gradient read twice (its norm), weights of bf16 written.
    return micro_batch, parameters * (3 * 8 + 2 * 4 + 2)


def rows(options):
    return {"configs/m7c_125m.yaml": GPU}


def attention(context):
    """Milliseconds of a layer's attention by pass, and the records of its launches."""
    run = ("B", LENGTH, SEQUENCES, "local")
    found = [record for record in predicted.records_of(run, context) if not record["pass"].startswith("dense")]
    return {record["pass"]: record["ms"] for record in found if "kernel" not in record}, found


def of_a_step(share, way, attention_ms, loss, figures):
    """Milliseconds of the products of a micro-batch and of a step, in one of the two ways."""
    tflops, gbytes = figures
    of_products = 1e3 * 2 * products(way) / (share * tflops * 1e12)
    others = [1e3 * part / (0.8 * gbytes * 1e9) for part in other_bytes(way)]
    ms = MICRO_BATCHES * (LAYERS * attention_ms + sum(loss[name] for name in WAYS[way]) + of_products + others[0]) + others[1]
    return dict(products_ms=round(of_products, 2), step_ms=round(ms, 1), tokens_per_s=round(MICRO_BATCHES * TOKENS / ms * 1e3))


def measure(gpu, context):
    layer.FILES.update({name: "nn/" + name.rsplit("_", 1)[0] for names in WAYS.values() for name in names})
    figures = predicted.gpu_figures(gpu, "bf16_tflops", "dram_gbytes")
    passes, launches = attention(context)
    names = [name for names in WAYS.values() for name in names]
    loss = {name: round(got["microseconds"] / 1e3, 3) for name, got in predicted.predict(context, lambda folder: loss_launches(names), gpu).items()}
    others = [1e3 * part / (0.8 * figures[1] * 1e9) for part in other_bytes("keep")]
    said = context.start([context.program("tessera"), "train", "--config", "configs/m7c_125m.yaml", "--dry-run"])
    operations = float(re.search(r"operations: ([\d.e+]+) FLOP a token", said.out + said.err)[1])
    predictions = []
    for share in SHARES:
        kept, chunks = (of_a_step(share, way, sum(passes.values()), loss, figures) for way in WAYS)
        predictions.append(dict(share_of_peak_of_products=share, **kept, mfu=round(kept["tokens_per_s"] * operations / (figures[0] * 1e12), 3),
                                met=kept["tokens_per_s"] >= TARGET, chunks=chunks))
    return dict(gpu="NVIDIA A100-SXM4-80GB", bar_tokens_per_s=TARGET, met=predictions[1]["met"],
                of_a_micro_batch_ms=dict(attention_of_a_layer=passes, loss=loss, others=round(others[0], 2)), optimizer_ms=round(others[1], 2),
                predictions=predictions, launches=launches)
