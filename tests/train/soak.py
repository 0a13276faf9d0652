"""tests/train/soak.py - a long run of two processes: memory and descriptors stay as they are, no step stalls.
SPDX-License-Identifier: Apache-2.0

    python3 tests/train/soak.py [steps=1000] [result=bench/results/soak_ranks.json]

Saves every 50 steps and evaluates every 100. Memory and open descriptors of each process are read from /proc every 0.2 seconds;
the last quarter of the run is compared with the second one, by their medians and largest values.
"""
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAIN = os.environ.get("TRAIN_PROGRAM", str(ROOT / "build/release/bin/tessera-train"))


def children(pid):
    try:
        return [int(p) for p in pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]
    except OSError:
        return []


def sample(pid):
    """Resident bytes, open descriptors, threads; none when it has ended."""
    try:
        folder = pathlib.Path("/proc/%d" % pid)
        pages = int((folder / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE"), len(os.listdir(folder / "fd")), len(os.listdir(folder / "task"))
    except (OSError, ValueError, IndexError):
        return None


def soak(steps, folder):
    out = folder / "run"
    text = "".join(page.read_text() for page in sorted((ROOT / "docs").glob("training/*.md"))) * 36
    (folder / "text").write_text(text)
    settings = {
        "kernels": "torch", "data.path": folder / "text", "panel": "false", "threads": 1, "model.dim": 64, "model.n_layers": 2,
        "model.n_heads": 2, "model.n_kv_groups": 1, "model.d_k": 32, "model.d_v": 32, "nsa.l": 8, "nsa.d": 4, "nsa.l_sel": 16,
        "nsa.n_sel": 4, "nsa.w": 16, "train.seq_len": 64, "train.batch_size": 4, "train.steps": steps, "train.log_every": 1,
        "train.save_every": 50, "train.eval_every": 100, "train.eval_windows": 4, "train.final_windows": 4, "train.watchdog": 60,
        "out": out}
    with open(folder / "log", "w") as log:
        launcher = subprocess.Popen([TRAIN, "train", "--nproc", "2"] + ["%s=%s" % item for item in settings.items()],
                                    stdout=subprocess.DEVNULL, stderr=log)
        samples = {}
        while launcher.poll() is None:
            for rank, pid in enumerate(children(launcher.pid)):
                found = sample(pid)
                if found:
                    samples.setdefault(rank, []).append(found)
            time.sleep(0.2)
    if launcher.returncode:
        sys.exit("soak: the run failed:\n" + (folder / "log").read_text())
    records = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return samples, records, (folder / "log").read_text()


def quarter(values, number):
    size = len(values) // 4
    return values[number * size:(number + 1) * size]


def judge(steps, samples, records, log):
    logged = [r for r in records if "step_ms" in r]
    faults, processes = [], []
    if [r["step"] for r in logged] != list(range(1, steps + 1)):
        faults.append("%d steps were logged" % len(logged))
    if "has taken" in log:
        faults.append("a step stalled")
    for rank, values in sorted(samples.items()):
        if len(values) < 40:
            faults.append("only %d samples" % len(values))
            continue
        memory, descriptors, threads = zip(*values)
        row = {"rank": rank, "samples": len(values),
               "memory_mib": [round(statistics.median(quarter(memory, n)) / 2**20, 1) for n in range(4)],
               "memory_most_mib": round(max(memory) / 2**20, 1),
               "descriptors": [max(quarter(descriptors, n)) for n in range(4)],
               "threads": [max(quarter(threads, n)) for n in range(4)]}
        processes.append(row)
        if row["memory_mib"][3] > 1.02 * row["memory_mib"][1] + 1:
            faults.append("memory of process %d grows: %s MiB by quarters" % (rank, row["memory_mib"]))
        for what in ("descriptors", "threads"):
            if row[what][3] > row[what][1]:
                faults.append("%s of process %d grow: %s by quarters" % (what, rank, row[what]))
    if len(processes) != 2:
        faults.append("%d processes were seen" % len(processes))
    times = sorted(r["step_ms"] for r in logged)
    return faults, {
        "about": "a run of two processes that saves every 50 steps and evaluates every 100",
        "steps": len(logged), "processes": processes, "step_ms": {"median": times[len(times) // 2], "longest": times[-1]},
        "loss": [logged[0]["bpb"], logged[-1]["bpb"]], "faults": faults}


def main():
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    steps = int(given.get("steps", 1000))
    with tempfile.TemporaryDirectory(prefix="tessera-soak-") as folder:
        faults, result = judge(steps, *soak(steps, pathlib.Path(folder)))
    if "result" in given:
        commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout
        result = {"command": "python3 tests/train/soak.py steps=%d result=%s" % (steps, given["result"]), "commit": commit.strip(),
                  "machine": "%s, %d cores, shared with other work" % (platform.machine(), os.cpu_count()),
                  "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"), **result}
        pathlib.Path(given["result"]).write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))
    if faults:
        sys.exit("soak: " + "; ".join(faults))


if __name__ == "__main__":
    main()
