#!/usr/bin/env python3
"""The cost model of the cpu against measured times: how good its first three are, its constants fitted anew.

    python bench/tune_truth.py --out bench/results/tune_truth_cpu.json
    python bench/cpu_model.py bench/results/tune_truth_cpu.json --out bench/results/cpu_model.json
    python bench/cpu_model.py bench/results/tune_truth_cpu.json --print      # the table of docs/cost-model.md

Rows are launches of tune_truth with two timed configurations or more. Each is predicted with the constants of
autotune/model/CpuModel.h, as the tuner uses them, and with constants that were fitted to the rows of other kernels.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess

NAMES = ("nanoseconds", "product", "scalar", "program")  # autotune/model/CpuModel.h
NEAR = 1.10


def predicted(work, constants):
    """Microseconds with one thread, as predictedSeconds() of autotune/model/CpuModel.cpp."""
    c = dict(zip(NAMES, constants))
    all_ = work["all"]
    units = c["product"] * all_["products"] + all_["arithmetic"] + c["scalar"] * all_["scalars"] + c["program"] * work["programs"]
    return units * c["nanoseconds"] * 1e-3


def times_of(row):
    return [one for one in row["candidates"] if "us" in one]


def errors(row, constants):
    return [math.log(predicted(one["work"], constants) / one["us"]) for one in times_of(row)]


def loss(rows, constants):
    """Mostly how far the configurations of a launch lie apart, a little how far the launch is from its time."""
    total = 0.0
    for row in rows:
        logs = errors(row, constants)
        middle = statistics.median(logs)
        total += statistics.fmean(abs(one - middle) for one in logs) + 0.1 * abs(middle)
    return total / len(rows)


def fit(rows, start):
    """Each constant in turn by smaller and smaller factors, while that helps."""
    best, least, step = list(start), loss(rows, start), 2.0
    while step > 1.02:
        better = False
        for i in range(len(best)):
            for factor in (step, 1 / step):
                tried = best[:i] + [best[i] * factor] + best[i + 1:]
                if (value := loss(rows, tried)) < least - 1e-6:
                    best, least, better = tried, value, True
        if not better:
            step = math.sqrt(step)
    return best


def judge(row, constants):
    timed = times_of(row)
    fastest = min(one["us"] for one in timed)
    ranked = sorted(timed, key=lambda one: predicted(one["work"], constants))
    pairs = [(a, b) for i, a in enumerate(timed) for b in timed[:i] if a["us"] != b["us"]]
    agree = sum(1 if (predicted(a["work"], constants) - predicted(b["work"], constants)) * (a["us"] - b["us"]) > 0 else -1
                for a, b in pairs)
    return {"kernel": row["kernel"].split(":")[1], "bucket": row["bucket"], "configurations": len(timed),
            "fastest_us": fastest, "fastest": min(timed, key=lambda one: one["us"])["use"],
            "first": ranked[0]["use"], "first_over_fastest": ranked[0]["us"] / fastest,
            "best_of_3_over_fastest": min(one["us"] for one in ranked[:3]) / fastest,
            "tau": agree / len(pairs) if pairs else None,
            "error": statistics.median(abs(math.exp(one) - 1) for one in errors(row, constants))}


def summary(judged):
    # Where there are three or fewer any order has the fastest among its first three.
    many = [one for one in judged if one["configurations"] > 3]
    return {"rows": len(judged),
            "top_3_within_10_percent": sum(one["best_of_3_over_fastest"] <= NEAR for one in judged) / len(judged),
            "rows_of_more_than_3": len(many),
            "top_3_of_more_than_3": sum(one["best_of_3_over_fastest"] <= NEAR for one in many) / max(len(many), 1),
            "first_within_10_percent": sum(one["first_over_fastest"] <= NEAR for one in judged) / len(judged),
            "median_tau": statistics.median(one["tau"] for one in judged if one["tau"] is not None),
            "median_error": statistics.median(one["error"] for one in judged)}


def constants_of_source(path):
    """Those of the C++ source: nothing is written down twice."""
    text = pathlib.Path(path).read_text().split("struct CpuConstants", 1)[1].split("}", 1)[0]
    values = {}
    for part in text.replace("double", "").replace("\n", " ").replace(";", ",").split(","):
        if "=" in part:
            name, value = part.split("=")
            values[name.split()[-1]] = float(value.split("//")[0])
    return [values[name] for name in NAMES]


def table(result):
    told, out = result["as_used"], result["left_out"]
    lines = ["| | constants of the source | fitted without the row's kernel |", "|---|---:|---:|"]
    for name, text in (("top_3_within_10_percent", "one of the first 3 within 10% of the fastest"),
                       ("top_3_of_more_than_3", "the same of launches with more than 3 configurations"),
                       ("first_within_10_percent", "the first within 10% of the fastest")):
        lines.append("| %s | %.0f%% | %.0f%% |" % (text, 100 * told[name], 100 * out[name]))
    lines.append("| median of Kendall's tau among a launch's configurations | %.2f | %.2f |" % (told["median_tau"], out["median_tau"]))
    lines.append("| median error of a time | %.0f%% | %.0f%% |" % (100 * told["median_error"], 100 * out["median_error"]))
    lines += ["", "| kernel | sequence | configurations | fastest | µs | predicted first | its time over the fastest | best of 3 |",
              "|---|---:|---:|---|---:|---|---:|---:|"]
    for one in result["rows"]:
        lines.append("| %s | %s | %d | %s | %.4g | %s | %.2f | %.2f |" % (
            one["kernel"], one["bucket"] or "-", one["configurations"], one["fastest"], one["fastest_us"], one["first"],
            one["first_over_fastest"], one["best_of_3_over_fastest"]))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("truth", help="what bench/tune_truth.py wrote")
    parser.add_argument("--source", default="autotune/model/CpuModel.h")
    parser.add_argument("--out")
    parser.add_argument("--print", action="store_true", help="the table in Markdown")
    args = parser.parse_args()
    truth = json.loads(pathlib.Path(args.truth).read_text())
    rows = [row for row in truth["rows"] if len(times_of(row)) > 1]
    used = constants_of_source(args.source)
    judged = [judge(row, used) for row in rows]
    fitted = {row["kernel"]: None for row in rows}
    for kernel in fitted:
        fitted[kernel] = fit([row for row in rows if row["kernel"] != kernel], used)
    result = {
        "what": "the cost model of the cpu against measured times, one thread",
        "command": "python bench/cpu_model.py %s" % args.truth, "measured": {
            name: truth[name] for name in ("command", "cpu", "commit", "date", "load_before", "load_after")},
        "commit": subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip(),
        "constants": dict(zip(NAMES, used)), "fitted_to_all": dict(zip(NAMES, fit(rows, used))),
        "as_used": summary(judged), "left_out": summary([judge(row, fitted[row["kernel"]]) for row in rows]), "rows": judged,
    }
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")
    print(table(result) if args.print else json.dumps({name: result[name] for name in (
        "constants", "fitted_to_all", "as_used", "left_out")}, indent=1))


if __name__ == "__main__":
    main()
