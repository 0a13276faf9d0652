"""Bytes of text that become tokens in a second of one core.

usage: bench/tokenizer.py build/release [OUT.json]

Makes a vocabulary of the King James text, then times `tessera data prepare`
with it and without. Where the packages tokenizers and tiktoken are installed
(tests need neither) they encode the same text with the same vocabulary, and
must give the same tokens. Seconds are those of the CPU, so that a machine with
other work gives about the same figures.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import datetime
import importlib
import json
import os
import platform
import resource
import struct
import subprocess
import sys
import tempfile
import time

PATTERN = (r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"""
           r"""|\s+(?!\S)|\s+""")
RUNS = 5
VOCABULARY = 50257


def cpu(command):
    """CPU seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime + after.ru_stime -
            before.ru_stime)


def median(values):
    return sorted(values)[len(values) // 2]


def letters():
    """The byte of each of GPT-2's letters."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    table = {chr(b): b for b in shown}
    table.update({chr(256 + i): b for i, b in enumerate(hidden)})
    return table


def shard_tokens(path):
    """The tokens of the shards of a folder, without those before documents."""
    all_tokens = []
    for name in sorted(os.listdir(path)):
        with open(os.path.join(path, name), "rb") as file:
            data = file.read()
        header = json.loads(data[8:1024])
        form, width = ("H", 2) if header["dtype"] == "u16" else ("I", 4)
        count = header["tokens"]
        tokens = struct.unpack(f"<{count}{form}",
                               data[1024:1024 + count * width])
        all_tokens += [t for t in tokens if t != header["end"]]
    return all_tokens


def peers(folder, text, tokens):
    """MB a second of other programs, checked for the same tokens."""
    with open(os.path.join(folder, "vocab.json"), encoding="utf-8") as file:
        vocabulary = json.load(file)
    end = vocabulary["<|endoftext|>"]
    byte = letters()
    ranks = {bytes(byte[c] for c in token): number
             for token, number in vocabulary.items() if number != end}
    found = {}

    def timed(name, encode):
        seconds = []
        for _ in range(RUNS):
            start = time.process_time()
            ids = encode(text)
            seconds.append(time.process_time() - start)
        assert list(ids) == tokens, name
        found[name] = len(text.encode()) / 1e6 / median(seconds)

    try:
        tiktoken = importlib.import_module("tiktoken")
        other = tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=ranks,
                                  special_tokens={"<|endoftext|>": end})
        timed(f"tiktoken {tiktoken.__version__}", other.encode_ordinary)
    except ImportError:
        pass
    try:
        hf = importlib.import_module("tokenizers")
        bpe = hf.Tokenizer(hf.models.BPE.from_file(
            os.path.join(folder, "vocab.json"),
            os.path.join(folder, "merges.txt")))
        bpe.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
        timed(f"tokenizers {hf.__version__}",
              lambda t: bpe.encode(t, add_special_tokens=False).ids)
    except ImportError:
        pass
    return found


def main():
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    build = sys.argv[1]
    tessera = os.path.join(build, "bin", "tessera")
    bible = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], check=True,
                           capture_output=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        place = lambda name: os.path.join(folder, name)
        with open(place("text"), "wb") as file:
            file.write(bible)
        trained = cpu([tessera, "data", "tokenizer", "--input", place("text"),
                       "--out", place("bpe"), "--vocab-size",
                       str(VOCABULARY)])
        seconds = {"bpe": [], "bytes": []}
        for run in range(RUNS):
            for name in seconds:
                command = [tessera, "data", "prepare", "--input",
                           place("text"), "--out", place(f"{name}{run}"),
                           "--held-out", "0"]
                if name == "bpe":
                    command += ["--tokenizer", place("bpe")]
                seconds[name].append(cpu(command))
        tokens = shard_tokens(place("bpe0"))
        with open(place("bpe/vocab.json"), encoding="utf-8") as file:
            size = len(json.load(file))
        mb = len(bible) / 1e6
        result = {
            "what": "text to tokens: MB of text a CPU second of one core, "
                    "median of 5",
            "command": "bench/tokenizer.py build/release "
                       "bench/results/tokenizer_cpu.json",
            "cpu": next((line.split(": ")[1].strip()
                         for line in open("/proc/cpuinfo", encoding="utf-8")
                         if line.startswith("model name")),
                        platform.processor()),
            "commit": subprocess.run(
                ["git", "rev-parse", "--short", "HEAD"], check=True,
                capture_output=True, text=True).stdout.strip(),
            "date": str(datetime.date.today()),
            "load": os.getloadavg()[0],
            "text_bytes": len(bible),
            "vocabulary": size,
            "tokens": len(tokens),
            "mb_per_s": {
                "tessera data prepare --tokenizer": mb / median(seconds["bpe"]),
                "tessera data prepare (bytes)": mb / median(seconds["bytes"]),
                **peers(place("bpe"), bible.decode(), tokens)},
            "seconds_to_make_the_vocabulary": trained}
    text = json.dumps(result, indent=1) + "\n"
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(text)
    print(text, end="")


main()
