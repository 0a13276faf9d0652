# tests/pages/report_test.py TESSERA - the page and the CSV of `tessera report RUN` against the run folders themselves.
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import os
import sys
import tempfile

from page_data import read_page, run


def write_run(folder, rate, steps, torn=False, result=True):
    """A run folder as tessera-train leaves it (docs/training.md), with figures that are easy to find again."""
    os.makedirs(os.path.join(folder, "kernels", "step_0"))
    os.makedirs(os.path.join(folder, "kernels", "step_40"))
    records = []
    for step in range(1, steps + 1):
        records.append({"step": step, "bpb": 8 / step ** rate, "grad_norm": 1 + step / 7, "lr": 1e-3, "step_ms": 100 + step % 3,
                        "tokens_per_s": 2048 / (0.1 + step % 3 / 1000), "gate_cmp": 0.25, "memory_mb": 512 + step})
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


def points(records, key):
    return [[record["step"], record[key]] for record in records if key in record and "skipped" not in record]


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        first, second, page, table = (os.path.join(folder, name) for name in ("a/run", "b/run", "page.html", "figures.csv"))
        records = [write_run(first, 0.5, 40, torn=True, result=False), write_run(second, 0.6, 30)]
        run(program, ["report", first, second, "-o", page, "--csv", table])
        runs = read_page(page)["runs"]
        assert [each["folder"] for each in runs] == [first, second]
        assert len({each["name"] for each in runs}) == 2, "two runs of one name cannot be told apart"
        for each, written in zip(runs, records):
            keys = {key for record in written if "skipped" not in record for key in record} - {"step"}
            assert set(each["series"]) == keys
            for key in keys:
                assert each["series"][key] == points(written, key), key
            assert each["skipped"] == [[7, "gradient norm, 12 deviations"]]
            assert each["kernels"] == [["nsa/select_fwd.py", "ab" * 32]]
        assert [each["unreadable"] for each in runs] == [1, 0]
        assert runs[0]["config"] == {"out": "</script>", "train.lr": 0.5, "train.steps": 40}
        assert runs[0]["result"] == {} and runs[1]["result"] == {"val_bpb": 1.5, "bpb_by_position.0-31": 2.5, "kernels_compiled": 31}
        with open(table, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        figures = {}
        for row in rows:
            figures.setdefault((row["run"], row["figure"]), []).append([int(row["step"]), float(row["value"])])
        assert figures == {(each["name"], key): list_ for each in runs for key, list_ in each["series"].items()}
        # A run folder and PTX are told apart, and each wrong use says what to do.
        for arguments, words in (([folder, "-o", page], ["metrics.jsonl"]), ([first, os.path.join(folder, "none")], ["none"]),
                                 ([first, "--json"], ["--json"]), ([first, "-o", folder], ["HINT"])):
            done = run(program, ["report", *arguments], check=False)
            assert done.returncode == 1 and "HINT: " in done.stderr, (arguments, done.stderr)
            assert all(word in done.stderr for word in words), (arguments, done.stderr)
    print("pages: the report of two runs and its CSV have the figures of their folders")


if __name__ == "__main__":
    main()
