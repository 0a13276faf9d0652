# bench/tune_truth.py - the tuner against an exhaustive search, on the cpu, for the launches of a run.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""tessera tune against exhaustive search: one thread, processor time.

A micro-batch of the run is recorded for each length; bench/tune/Truth.cpp measures. TESSERA_THREADS=1: other programs add nothing to times but
what they take of the caches. build/tune_truth keeps what is measured after every launch, and the same command continues there;
limit=200 starts no launch after 200 seconds, for a machine that is idle for minutes at a time. Needs the target tune_truth."""
import json

NEAR = 1.05  # of the fastest, what the tuner must reach
OPTIONS = {"config": "configs/quickstart.yaml", "lengths": [512, 4096], "seconds": 5, "limit": 0}
QUICK = {"lengths": [64], "seconds": 0, "limit": 1}


def rows(options):
    return {"%d tokens" % length: length for length in options.lengths}


def record(context, length, folder):
    """Records the launches of a micro-batch, once."""
    if not folder.is_dir():
        context.start([context.program("tessera"), "train", "--micro-batch", "--config", context.options.config, "train.seq_len=%d" % length,
                       *(["train.batch_size=1"] if length != 512 else [])], TESSERA_RECORD=str(folder), TESSERA_RECORD_LIMIT="64",
                      TESSERA_RECORD_DISTINCT="1", TESSERA_TUNED="none")


def measure(length, context):
    parts = context.root / ("build/tune_truth" + ("_quick" if context.quick else ""))
    parts.mkdir(parents=True, exist_ok=True)
    folder, out = parts / str(length), parts / ("%d.json" % length)
    record(context, length, folder)
    done = context.start([context.program("tune_truth"), out, context.options.seconds, context.options.limit, folder], TESSERA_THREADS="1")
    last = done.err.strip().splitlines()[-1].split()
    yield from json.loads(out.read_text()) if out.exists() else []
    if last[0] != last[2] and not context.quick:
        raise RuntimeError("%s of %s launches are measured; the same command continues" % (last[0], last[2]))


def judge(record):
    """Times over that of the fastest: of the default configuration, of what was tuned, of what was tuned from the slowest. Choices of
    the search are judged by the times that were taken alternately at the end."""
    times = {one["use"]: one["us"] for one in record["candidates"] if "us" in one}
    last = record.get("in_turns_us") or times
    least = min(last.values())
    result = {"kernel": record["kernel"].split(":")[1], "bucket": record["bucket"], "candidates": len(times),
              "best": min(last, key=last.get), "own": last[record["candidates"][0]["use"]] / least}
    for name in ("tuned", "tuned_from_slowest"):
        result[name] = last[record[name]] / least if record.get(name) in last else None
    return result


def line(record):
    return ", ".join("%s %s" % (key, "%.2f" % value if isinstance(value, float) else value) for key, value in judge(record).items()) \
        if "candidates" in record else str(record)


def summary(records, context):
    judged = [judge(record) for record in records if sum("us" in one for one in record["candidates"]) > 1]
    slowest, best = [one["tuned_from_slowest"] for one in judged], {}
    for one in judged:
        best.setdefault(one["kernel"], {}).setdefault(one["bucket"], []).append(one["best"])
    share = lambda values: sum(1 for value in values if value and value <= NEAR) / max(1, len(values))
    return {"summary": {
        "rows": len(judged), "planted_found": share(slowest), "planted_without_entry": slowest.count(None),
        "tuned_slower_than_own": [one["kernel"] for one in judged if one["tuned"] and one["tuned"] > one["own"] * NEAR],
        "tuned_found": share([one["tuned"] for one in judged]),
        "kernels_whose_best_differs_by_length": sorted(
            name for name, lengths in best.items() if len({tuple(sorted(set(uses))) for uses in lengths.values()}) > 1),
        "kernels": len({one["kernel"] for one in judged})}}
