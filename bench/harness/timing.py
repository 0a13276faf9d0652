# bench/harness/timing.py - variants that are timed alternately, medians and quartiles, the shares of the machine's limits.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import statistics
import time


def rotated(items, turn):
    """The items in another order each turn, so that no variant always runs first."""
    items = list(items)
    at = turn % len(items)
    return items[at:] + items[:at]


def alternate(functions, rounds, clock=time.perf_counter, least_ms=20.0):
    """{name: milliseconds of a call, of each round}. Every function runs once before the clock starts. A short function is called
    often enough in a round that reading the clock does not count."""
    calls, times = {}, {name: [] for name in functions}
    for name, function in functions.items():
        function()
        start = clock()
        function()
        calls[name] = max(1, int(least_ms / max(1e-6, (clock() - start) * 1e3)))
    for turn in range(rounds):
        for name, function in rotated(functions.items(), turn):
            start = clock()
            for _ in range(calls[name]):
                function()
            times[name].append((clock() - start) / calls[name] * 1e3)
    return times


def quartiles(values):
    """[first quartile, median, third quartile]; of a single value three times that value."""
    return statistics.quantiles(values, method="inclusive") if len(values) > 1 else [values[0]] * 3


def compared(times, ours, baselines):
    """Our median, the median of the fastest baseline, and the least and largest time of both."""
    best = min(baselines, key=lambda name: statistics.median(times[name]))
    return {"ours": statistics.median(times[ours]), "peer": statistics.median(times[best]), "peer_variant": best,
            "spread": {name: [min(times[name]), max(times[name])] for name in (ours, best)}}


def error(a, b):
    """The largest difference of two tensors over the largest element of b."""
    a, b = a.detach().double(), b.detach().double()
    return ((a - b).abs().max() / b.abs().max()).item()


def refuse_above_peak(record):
    """Marks a record as failed if its rate is above the machine's peak: the measurement is then wrong."""
    if (record.get("peak_share") or 0) > 1:
        record.update(failed="%.2f of the machine's peak: the measurement is wrong" % record["peak_share"], met=False)
    return record
