# bench/train_125m.py - twenty steps of configs/m7c_125m.yaml on the CPU, with what a long run has switched on.
# SPDX-License-Identifier: Apache-2.0
"""python3 bench/train_125m.py build/release [result=FILE]

Two processes, bf16 with fp32 masters, gradients rounded to bf16 on their way, accumulation, whole blocks recomputed, a learned
compression, softmax gates of the queries, evaluations, checkpoints, comparisons with plain torch; sequences of 512 tokens. Data: the
quick start's text as a parquet file with the columns of FineWeb-Edu, 6,000 characters a row, and the tokens of a byte-pair encoding in GPT-2's files
that `tessera data tokenizer` makes of it, best-fit packed; the vocabulary of the model stays GPT-2's
50,257. The run ends after 12 steps and the same command extends it to 20. The file has each step's loss and time, and
says what else the machine did: other processes make the times longer."""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import pyarrow
import pyarrow.parquet

SETTINGS = ["train.seq_len=512", "train.batch_size=2", "train.accumulate_grad_batches=2", "train.lr=1e-3", "train.warmup_steps=4",
            "train.log_every=1", "train.eval_every=6", "train.eval_windows=2", "train.final_windows=2", "train.save_every=6",
            "runtime.precision=bf16", "runtime.gradient_checkpointing=true", "runtime.ddp_compress=bf16",
            "nsa.phi=mlp_pe", "nsa.gate=softmax", "nsa.gate_input=q_mean", "debug.compare_every=8", "data.packing=best_fit",
            "data.order=shuffled", "threads=1"]


def machine():
    names = [line.split(":", 1)[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return "%d x %s" % (len(names), names[0])


def write_data(build, folder):
    """A parquet file and the tokenizer's folder."""
    text = pathlib.Path(os.environ.get("TESSERA_DEPS", pathlib.Path.home() / ".local/share/tessera"), "data/kjv.txt").read_text()
    size = 6000
    texts = [text[i:i + size] for i in range(0, len(text), size)]
    pyarrow.parquet.write_table(pyarrow.table({
        "text": texts, "id": ["%d" % i for i in range(len(texts))], "dump": ["kjv"] * len(texts), "url": [""] * len(texts),
        "language": ["en"] * len(texts), "language_score": [1.0] * len(texts), "token_count": [len(t) // 4 for t in texts],
        "score": [5.0] * len(texts), "int_score": [5] * len(texts)}), folder / "text.parquet", row_group_size=100)
    (folder / "text.txt").write_text(text)
    subprocess.run([build / "bin/tessera", "data", "tokenizer", folder / "text.txt", "--out", folder / "bpe", "--vocab-size", "8192"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    subprocess.run([build / "bin/tessera", "data", "prepare", folder / "text.parquet", "--tokenizer", folder / "bpe", "--out", folder / "shards"],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def train(build, out, steps):
    command = [build / "bin/tessera-train", "train", "--nproc", "2", "--config", "configs/m7c_125m.yaml", "out=" + str(out),
               "data.path=%s" % (out.parent / "shards"), "data.tokenizer_path=%s" % (out.parent / "bpe"), "train.steps=%d" % steps, *SETTINGS]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stderr.splitlines()


def main():
    build = pathlib.Path(sys.argv[1])
    options = dict(part.split("=", 1) for part in sys.argv[2:])
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "run"
        write_data(build, pathlib.Path(folder))
        lines = train(build, out, 12) + train(build, out, 20)
        records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        metrics = json.loads((out / "metrics.json").read_text())
    steps = [{key: r[key] for key in ("step", "bpb", "grad_norm", "step_ms") if key in r} for r in records if "grad_norm" in r and "bpb" in r]
    assert [s["step"] for s in steps] == list(range(1, 21)), steps
    assert sum(s["bpb"] for s in steps[-4:]) < sum(s["bpb"] for s in steps[:4]), steps
    compared = [{"step": r["step"], **r["kernel_differences"]} for r in records if "kernel_differences" in r]
    assert compared, "debug.compare_every compared nothing"
    result = {"what": "20 steps of configs/m7c_125m.yaml at 512 tokens on the CPU, two processes of one thread each",
              "command": "bench/train_125m.py build/release result=bench/results/train_125m_cpu.json", "settings": SETTINGS,
              "commit": subprocess.run(["git", "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True).stdout.strip(),
              "machine": machine(), "date": str(datetime.date.today()), "load_at_the_end": os.getloadavg()[0],
              "said": [line.replace(str(out.parent) + "/", "") for line in lines
                       if any(part in line for part in ("parameters", "exchange:", "going on", "agree", "held-out", "document"))],
              "steps": steps, "compared": compared, "metrics": metrics}
    text = json.dumps(result, indent=1) + "\n"
    if "result" in options:
        pathlib.Path(options["result"]).write_text(text)
    print(text, end="")


main()
