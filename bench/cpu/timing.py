# bench/cpu/timing.py - variants in turns, medians, and the machine's own limits.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import statistics
import time

import torch


def turns(functions, rounds, least_ms=20.0):
    """{name: milliseconds of a call, of each round}. All run once first; a short function is called often enough in a round that
    the clock does not count."""
    calls, times = {}, {name: [] for name in functions}
    for name, function in functions.items():
        function()
        start = time.perf_counter()
        function()
        calls[name] = max(1, int(least_ms / max(1e-6, (time.perf_counter() - start) * 1e3)))
    for _ in range(rounds):
        for name, function in functions.items():
            start = time.perf_counter()
            for _ in range(calls[name]):
                function()
            times[name].append((time.perf_counter() - start) / calls[name] * 1e3)
    return times


def figures(times, ours, peers):
    """ours, peer (the best of `peers`) and their spreads, of turns()."""
    best = min(peers, key=lambda name: statistics.median(times[name]))
    return {"ours": statistics.median(times[ours]), "peer": statistics.median(times[best]), "peer_variant": best,
            "spread": {name: [min(times[name]), max(times[name])] for name in (ours, best)}}


def error(a, b):
    """Largest difference over the largest of b."""
    a, b = a.detach().double(), b.detach().double()
    return ((a - b).abs().max() / b.abs().max()).item()


def bytes_per_second(threads_bytes=1 << 28):
    """Of a copy that no cache holds: read and written."""
    source = torch.ones(threads_bytes // 4)
    target = torch.empty_like(source)
    return 2 * threads_bytes / (min(turns({"copy": lambda: target.copy_(source)}, 5)["copy"]) / 1e3)
