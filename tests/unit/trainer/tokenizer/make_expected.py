"""Writes what TokenizerTest.cpp compares with, by two other programs.

pip install tokenizers==0.23.3 tiktoken==0.14.0 regex; then in this folder
`python3 make_expected.py`. text.txt (the beginning of Genesis) is what the
vocabulary is trained on; vocab.json and merges.txt are Hugging Face's, ranks
is the same vocabulary in tiktoken's form, expected.json holds texts and their
tokens, on which both programs must agree.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import json
import random

import tiktoken
import tokenizers
from tokenizers import models, pre_tokenizers, trainers

SIZE = 600
PATTERN = (r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+"""
           r"""|\s+(?!\S)|\s+""")


def letters():
    """GPT-2's letter for each byte."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [b for b in range(256) if b not in shown]
    table = {b: chr(b) for b in shown}
    table.update({b: chr(256 + i) for i, b in enumerate(hidden)})
    return table


def texts():
    random.seed(7)
    ranges = [(1, 128), (160, 0x250), (0x370, 0x600), (0x900, 0xa00),
              (0x2000, 0x2070), (0x3000, 0x3100), (0x4e00, 0x4f00),
              (0x1f600, 0x1f640)]
    noise = []
    for _ in range(40):
        noise.append("".join(
            random.choice([" ", "\n", chr(random.randrange(*r)), "a", "the "])
            for r in random.choices(ranges, k=30)))
    with open("text.txt", encoding="utf-8") as file:
        text = file.read()
    return noise + [
        "", " ", "  ", "\n", " \n \n", "a", " a", "  a", "a ", "a  ", "a\t\tb",
        "it's I'LL we'll they've don't 'tis 's", "123 abc4 5x \u00bd\u0661",
        "na\u00efve caf\u00e9 \u00a0x\u3000y", "\u4e2d\u6587 \u65e5\u672c",
        "...!?,  -- {}[]()", "x" * 300, "ab" * 200, "\U0001f600\U0001f601 ok",
        "<|endoftext|>", "\r\n\r\n end\r\n", text[:400], text[5000:5400],
        "In the beginning God created the heaven and the earth. " * 3]


def main():
    bpe = tokenizers.Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    # One token less: the end of a text is our token, which comes after the others.
    bpe.train(["text.txt"], trainers.BpeTrainer(
        vocab_size=SIZE - 1, min_frequency=2, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[]))
    bpe.model.save(".")
    with open("vocab.json", encoding="utf-8") as file:
        vocabulary = json.load(file)
    byte = {letter: b for b, letter in letters().items()}
    ranks = {bytes(byte[c] for c in token): number
             for token, number in vocabulary.items()}
    with open("ranks", "w", encoding="ascii") as file:
        for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
            file.write(f"{base64.b64encode(token).decode()} {rank}\n")
    other = tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=ranks,
                              special_tokens={"<|endoftext|>": len(ranks)})
    cases = []
    for text in texts():
        ids = bpe.encode(text, add_special_tokens=False).ids
        assert ids == other.encode_ordinary(text), text
        cases.append({"text": text, "ids": ids})
    with open("expected.json", "w", encoding="utf-8") as file:
        json.dump({"made_by": f"tokenizers {tokenizers.__version__} and "
                              f"tiktoken {tiktoken.__version__}",
                   "cases": cases}, file, separators=(",", ":"))
        file.write("\n")


main()
