# tests/pages/report_test.py - the page and the CSV of `tessera report RUN` against the run folders themselves.
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import os

from page_data import read_page, run


def write_run(folder, rate, steps, torn=False, result=True):
    """A run folder as tessera-train leaves it (docs/training.md), with figures that are easy to find again."""
    os.makedirs(os.path.join(folder, "kernels", "step_0"))
    os.makedirs(os.path.join(folder, "kernels", "step_40"))
    records = []
    for step in range(1, steps + 1):
        records.append({"step": step, "bpb": 8 / step ** rate, "grad_norm": 1 + step / 7, "lr": 1e-3, "step_ms": 100 + step % 3,
                        "tokens_per_s": 2048 / (0.1 + step % 3 / 1000), "gate_cmp": 0.25, "memory_bytes": 12_345_000_000 + step * 1_000_000,
                        "stages_ms": {"data": 1 + step % 2, "forward": 40.5, "backward": 60 - step / 10}})
        if step % 10 == 0:
            records.append({"step": step, "val_bpb": 8.5 / step ** rate})
        if step == 7:
            records.append({"step": step, "skipped": "gradient norm, 12 deviations", "loss": None, "grad_norm": 1e9,
                            "first_window": 12, "first_tokens": [1, 2]})
    with open(os.path.join(folder, "metrics.jsonl"), "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
        if torn:
            file.write('{"step": 41, "bpb')
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"out": "</script>", "train": {"lr": rate, "steps": steps}}, file)
    if result:
        with open(os.path.join(folder, "metrics.json"), "w", encoding="utf-8") as file:
            json.dump({"val_bpb": 1.5, "bpb_by_position": {"0-31": 2.5}, "kernels_compiled": 31}, file)
    for step, name in ((0, "old.py"), (40, "nsa/select_fwd.py")):
        with open(os.path.join(folder, "kernels", f"step_{step}", "SHA256SUMS"), "w", encoding="utf-8") as file:
            file.write("ab" * 32 + "  " + name + "\n")
    return records


TUNED = {"tuned": 20, "nearest_length": 1, "default": 5, "path": "/tables/mine.yaml", "origin": "TESSERA_TUNED", "sha256": "c0ffee" + "0" * 58}


def write_tuning(folder):
    table = {key: TUNED[key] for key in ("path", "origin", "sha256")}
    coverage = {key: TUNED[key] for key in ("tuned", "nearest_length", "default")}
    with open(os.path.join(folder, "env.json"), "w", encoding="utf-8") as file:
        json.dump({"host": "x", "tuning": {"table": table, "coverage": coverage, "launches": [["k.py:k fp32", "B=8", "tuned"]]}}, file)


def write_trace(folder):
    """Two steps of 10 ms. One kernel in two configurations, 2 + 1 launches a step and 1 in the second; one product; a launch
    after the steps."""
    events = [{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]

    def span(name, category, begin, length, **args):
        events.append({"ph": "X", "name": name, "cat": category, "pid": 1, "tid": 1, "ts": begin, "dur": length,
                       **({"args": args} if args else {})})

    def launch(begin, length, listed, tile):
        span("kernel k", "kernel", begin, length, listed=listed, target="cpu:x", num_warps=4, num_stages=2, constexprs={"B": tile, "ACT": "relu"})

    for number, begin in ((7, 100), (8, 10100)):
        span(f"step {number}", "step", begin, 10000)
        span("forward", "phase", begin, 10000)
        span("aten::matmul", "operation", begin + 1000, 3000)
        span("aten::mm", "operation", begin + 1500, 2000)
        launch(begin + 5000, 500, 0, 32)
        launch(begin + 6000, 700, 0, 32)
    launch(18000, 300, 1, 64)
    launch(30000, 9000, 1, 64)
    with open(os.path.join(folder, "trace.json"), "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)


TRACED = {"steps": "step 7 to step 8", "kernels_share": 2.7 / 20, "gemms_share": 4 / 20, "kernels": [
    {"name": "k", "configuration": "ACT=relu B=32 num_warps=4 num_stages=2", "launches": 2, "mean_us": 600, "share": 2.4 / 20},
    {"name": "k", "configuration": "ACT=relu B=64 num_warps=4 num_stages=2", "launches": 0.5, "mean_us": 300, "share": 0.3 / 20}]}


def close(got, want):
    """Equal, numbers but for rounding."""
    if isinstance(want, dict):
        return got.keys() == want.keys() and all(close(got[key], want[key]) for key in want)
    if isinstance(want, list):
        return len(got) == len(want) and all(map(close, got, want))
    return got == want if isinstance(want, str) else abs(got - want) <= 1e-9 * abs(want)


def flat(record):
    """Members of members as a.b."""
    return {f"{key}.{inner}" if inner else key: number for key, value in record.items()
            for inner, number in (value.items() if isinstance(value, dict) else [("", value)])}


def points(records, key):
    return [[record["step"], flat(record)[key]] for record in records if key in flat(record) and "skipped" not in record]


def test_two_runs(program, folder):
    first, second, page, table = (os.path.join(folder, name) for name in ("a/run", "b/run", "page.html", "figures.csv"))
    records = [write_run(first, 0.5, 40, torn=True, result=False), write_run(second, 0.6, 30)]
    write_trace(second)
    write_tuning(second)
    run(program, ["report", first, second, "-o", page, "--csv", table])
    runs = read_page(page)["runs"]
    assert [each["folder"] for each in runs] == [first, second]
    assert len({each["name"] for each in runs}) == 2, "two runs of one name cannot be told apart"
    for each, written in zip(runs, records):
        keys = {key for record in written if "skipped" not in record for key in flat(record)} - {"step"}
        assert {"stages_ms.data", "stages_ms.forward", "stages_ms.backward", "memory_bytes"} <= keys
        assert set(each["series"]) == keys
        for key in keys:
            assert each["series"][key] == points(written, key), key
        assert each["skipped"] == [[7, "gradient norm, 12 deviations"]]
        assert each["kernels"] == [["nsa/select_fwd.py", "ab" * 32]]
    assert [each["unreadable"] for each in runs] == [1, 0]
    assert runs[0]["trace"] is None and close(runs[1]["trace"], TRACED), runs[1]["trace"]
    assert runs[0]["tuning"] == {} and runs[1]["tuning"] == TUNED, runs[1]["tuning"]
    assert runs[0]["config"] == {"out": "</script>", "train.lr": 0.5, "train.steps": 40}
    assert runs[0]["result"] == {} and runs[1]["result"] == {"val_bpb": 1.5, "bpb_by_position.0-31": 2.5, "kernels_compiled": 31}
    with open(table, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    of_trace = {(row["run"], row["figure"]): float(row["value"]) for row in rows if not row["step"]}
    assert close(of_trace, {(runs[1]["name"], f"kernel k {kernel['configuration']} {figure}"): kernel[figure]
                            for kernel in TRACED["kernels"] for figure in ("launches", "mean_us", "share")}), of_trace
    figures = {}
    for row in rows:
        if not row["step"]:
            continue
        figures.setdefault((row["run"], row["figure"]), []).append([int(row["step"]), float(row["value"])])
    assert figures == {(each["name"], key): list_ for each in runs for key, list_ in each["series"].items()}
    # A line nested a million deep is a line that cannot be read.
    deep = os.path.join(folder, "deep/run")
    write_run(deep, 0.5, 40)
    with open(os.path.join(deep, "metrics.jsonl"), "a", encoding="utf-8") as file:
        file.write('{"step": 41, "loss": ' + "[" * 10 ** 6 + "]" * 10 ** 6 + "}\n")
    run(program, ["report", deep, "-o", page])
    assert [each["unreadable"] for each in read_page(page)["runs"]] == [1]
    # A run folder and PTX are told apart, and each wrong use has a hint.
    for arguments, words in (([folder, "-o", page], ["metrics.jsonl"]), ([first, os.path.join(folder, "none")], ["none"]),
                             ([first, "--json"], ["--json"]), ([first, "-o", folder], ["HINT"])):
        done = run(program, ["report", *arguments], check=False)
        assert done.returncode == 1 and "HINT: " in done.stderr, (arguments, done.stderr)
        assert all(word in done.stderr for word in words), (arguments, done.stderr)
