# bench/tokenizer.py - bytes of text that become tokens in a second of one core.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Text to tokens: MB of text a CPU second of one core.

Makes a vocabulary of the King James text, then times `tessera data prepare` with it and without. Where the packages tokenizers and tiktoken
are installed they encode the same text with the same vocabulary, and must give the same tokens. Seconds are those of the CPU, so that a
machine with other work gives about the same numbers."""
import importlib
import json
import os
import pathlib
import resource
import statistics
import struct
import tempfile
import time

PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
OPTIONS, QUICK, ROUNDS = {"vocabulary": 50257}, {"vocabulary": 512}, 5


def rows(options):
    return {"king james": None}


def cpu_seconds(context, *command):
    """CPU seconds of a command of `tessera data`."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    before = used()
    context.start([context.program("tessera"), "data", *command])
    return used() - before


def letters():
    """The byte of each of GPT-2's letters."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    return {**{chr(b): b for b in shown}, **{chr(256 + i): b for i, b in enumerate(hidden)}}


def shard_tokens(folder):
    """The tokens of the shards of a folder, without those before documents."""
    found = []
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        header = json.loads(data[8:1024])
        form, width = ("H", 2) if header["dtype"] == "u16" else ("I", 4)
        tokens = struct.unpack("<%d%s" % (header["tokens"], form), data[1024:1024 + header["tokens"] * width])
        found += [t for t in tokens if t != header["end"]]
    return found


def encoders(folder):
    """{name: a function from text to tokens} of the packages that are installed."""
    vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    end, byte, found = vocabulary["<|endoftext|>"], letters(), {}
    ranks = {bytes(byte[c] for c in token): number for token, number in vocabulary.items() if number != end}
    if importlib.util.find_spec("tiktoken"):
        tiktoken = importlib.import_module("tiktoken")
        other = tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": end})
        found["tiktoken " + tiktoken.__version__] = other.encode_ordinary
    if importlib.util.find_spec("tokenizers"):
        hf = importlib.import_module("tokenizers")
        bpe = hf.Tokenizer(hf.models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
        bpe.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
        found["tokenizers " + hf.__version__] = lambda text: bpe.encode(text, add_special_tokens=False).ids
    return found


def measure(row, context):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    text = context.start(["bible", "-f", "gen1:1-rev22:21"]).out
    seconds = {"tessera data prepare --tokenizer": [], "tessera data prepare (bytes)": []}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text").write_text(text, encoding="utf-8")
        trained = cpu_seconds(context, "tokenizer", "--input", folder / "text", "--out", folder / "bpe", "--vocab-size", context.options.vocabulary)
        for turn in range(context.rounds):
            for name, more in zip(seconds, (["--tokenizer", folder / "bpe"], [])):
                out = folder / ("%s%d" % ("bpe" if more else "bytes", turn))
                seconds[name].append(cpu_seconds(context, "prepare", "--input", folder / "text", "--out", out, "--held-out", "0", *more))
        tokens = shard_tokens(folder / "bpe0")
        for name, encode in encoders(folder / "bpe").items():
            seconds[name] = []
            for _ in range(context.rounds):
                start = time.process_time()
                ids = encode(text)
                seconds[name].append(time.process_time() - start)
            assert list(ids) == tokens, name + " gives other tokens"
        size = len(json.loads((folder / "bpe/vocab.json").read_text(encoding="utf-8")))
    mb = len(text.encode()) / 1e6
    return {"text_bytes": len(text.encode()), "vocabulary": size, "tokens": len(tokens),
            "mb_per_s": {name: mb / statistics.median(all_) for name, all_ in seconds.items()}, "seconds_to_make_the_vocabulary": trained}
