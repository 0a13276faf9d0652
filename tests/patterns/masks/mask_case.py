# tests/patterns/masks/mask_case.py - a random pattern on a random batch: the op against the reference.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import dataclasses
import os
import random
import re

import grow_pattern
import pattern_reference
import torch
from outliers import close_enough

LIMIT = 1e-5
# dq and dk are sums of p * (dp - delta), whose terms cancel where a row has a single key: the sizes of the terms are about 1.
FLOOR = 0.1
# A term of dk has a rounding error of up to 8 units of the last place, LIMIT / 20 of its size. It counts where many such rows have one key.
OF_TERMS = 1 / 20


@dataclasses.dataclass
class Case:
    """A file's text, parameters that differ from the defaults of the file, and a batch of sequences."""
    text: str
    parameters: dict
    overrides: dict
    per_sequence: dict
    lengths: list
    group: int
    key_heads: int
    seed: int = 0

    def describe(self):
        return (f"parameters {self.parameters}, overridden {self.overrides}, per_sequence {self.per_sequence}, lengths {self.lengths}, "
                f"{self.key_heads} key heads of {self.group} query heads\n{self.text}")


def draw_lengths(draw):
    lengths = [0, draw.choice((1, 2, draw.randint(1, 40))), draw.randint(30, 100), draw.choice((0, 64, draw.randint(60, 200)))]
    if draw.random() < 0.06:  # gaps of more than 16 tiles
        lengths[3] = draw.randint(600, 800)
    draw.shuffle(lengths)
    return lengths


def longest_mask(case):
    """The mask of the longest sequence, [heads, queries, keys]."""
    length = max(case.lengths)
    at = case.lengths.index(length)
    known = {**case.parameters, **{name: pattern_reference.run_time(values[at]) for name, values in case.per_sequence.items()}}
    return pattern_reference.mask(pattern_reference.Program(case.text), length, case.group * case.key_heads, known)


def is_plain(shown):
    """Whether a mask is causal, the opposite, or shows almost everything or nothing."""
    causal = torch.ones(shown.shape[1:], dtype=torch.bool).tril()
    differs = (shown != causal).double().mean().item()
    return not 0.01 < shown.double().mean().item() < 0.99 or not 0.01 < differs < 0.99


def grow(seed):
    """The case of a seed. Most masks without a form of their own are replaced by another."""
    draw = random.Random(seed)
    while True:
        grower = grow_pattern.Grower(draw.getrandbits(40))
        text, parameters, names = grower.pattern()
        lengths = draw_lengths(draw)
        group = draw.choice((1, 2, 6, 16))
        overrides = {name: grow_pattern.default(grow_pattern.PARAMETERS[name], draw) for name in parameters if draw.random() < 0.3}
        per_sequence = {name: [draw.choice((0, -3, length, draw.randint(0, 40))) for length in lengths] for name in names}
        case = Case(text, {**parameters, **overrides}, overrides, per_sequence, lengths, group, 1 if group > 2 else draw.choice((1, 2)), seed)
        try:
            plain = is_plain(longest_mask(case))
        except pattern_reference.TooLarge:
            continue
        if not plain or draw.random() < 0.05:
            case.text = with_tiles(case.text, random.Random(seed))
            return case


def with_tiles(text, draw):
    """The text with tiles of the CPU of random sizes, in half of the cases."""
    if draw.random() < 0.5:
        return text
    keys = draw.choice((16, 32, 64))
    run = draw.choice((0, keys // 16, keys // 8, keys // 4, keys // 2))
    tiles = f"# tessera: tiles(BM={draw.choice((16, 32, 64))}, BN={keys}{f', RUN={run}' if run else ''})"
    return text.replace("# tessera: pattern(", f"{tiles}\n# tessera: pattern(", 1)


def tensors(case, width=16):
    generator = torch.Generator().manual_seed(case.seed)
    tokens, heads = sum(case.lengths), case.key_heads
    return [torch.randn(shape, generator=generator) for shape in [(tokens, heads * case.group, width), (tokens, heads, width), (tokens, heads, width)]]


def run(case, folder):
    """"" if the op is right, else what is wrong."""
    import tessera
    path = os.path.join(folder, f"mask_{case.seed}.py")
    mine = [x.requires_grad_() for x in tensors(case)]
    wide = [x.detach().double().requires_grad_() for x in mine]
    ends = torch.tensor([0, *case.lengths]).cumsum(0).to(torch.int32)
    values = torch.tensor(list(case.per_sequence.values()), dtype=torch.int32) if case.per_sequence else None

    def attend(text, path):
        with open(path, "w") as out:
            out.write(text)
        return tessera.ops.attention(*mine, ends, max(case.lengths), path, ", ".join(f"{k}={v}" for k, v in case.overrides.items()), per_sequence=values)

    try:
        try:
            o, lse, _, _ = attend(case.text, path)
        except RuntimeError as error:
            if "RUN has no effect" not in str(error):
                raise
            # A process reads a pattern file once, so the text without runs needs another name.
            o, lse, _, _ = attend(re.sub(r", RUN=\d+", "", case.text), path.replace(".py", "_adjacent.py"))
        weights = torch.randn(o.shape, generator=torch.Generator().manual_seed(case.seed + 1))
        got = torch.autograd.grad((o * weights).sum(), mine)
    except (RuntimeError, ValueError) as error:
        return f"refused: {error}"
    want, sums, probabilities = pattern_reference.attention(case.text, *wide, case.lengths, case.parameters, case.per_sequence)
    expected = torch.autograd.grad((want * weights).sum(), wide)
    with torch.no_grad():
        size = pattern_reference.term_size(probabilities, *wide, weights.double(), want, case.lengths)
        floors = {"dq": FLOOR, "dk": max(FLOOR, OF_TERMS * size)}
    for name, a, b in [("o", o, want), ("lse", lse, sums), *zip(("dq", "dk", "dv"), got, expected)]:
        if wrong := close_enough(a, b, LIMIT, floors.get(name, 0.0)):
            return f"{name}: {wrong}"
    return ""
