"""tests/train/kill_ranks.py - kills -9 at random moments of a run on two processes; every restart resumes.
SPDX-License-Identifier: Apache-2.0

    python3 tests/train/kill_ranks.py kills=20 [seed=1] [result=bench/results/kill_ranks.json]

Every second kill hits the process that saves between the first byte of a checkpoint and its name, instead of a write, a sync or
a rename (CrashAt.cpp). The others hit a process, the launcher or all of them after a random time. After each, every folder with
the name of a checkpoint must have the sums of its DONE, the newest one must not be older than before, and the restart must resume
from it; a run that came to its end must have the bits of an undisturbed run. With `result` the counts are added to that
file after each 10 kills, and a later call continues from there with other moments.
"""
import datetime
import hashlib
import json
import os
import pathlib
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TESSERA_BUILD", ROOT / "build/release"))
TRAIN = os.environ.get("TRAIN_PROGRAM", str(BUILD / "bin/tessera-train"))
CRASH_AT = os.environ.get("TESSERA_CRASH_AT", str(BUILD / "lib/libtessera_crash_at.so"))
STEPS, SAVE_EVERY, KEEP = 60, 3, 2
FILES = ("model.safetensors", "optimizer.safetensors")
LIMIT = 600  # seconds for a run to end by itself


class Failure(Exception):
    pass


def require(good, text):
    if not good:
        raise Failure(text)


def command(data, out):
    settings = {
        "kernels": "torch", "data.path": data, "panel": "false", "threads": 1, "model.dim": 32, "model.n_layers": 1,
        "model.n_heads": 2, "model.n_kv_groups": 1, "model.d_k": 16, "model.d_v": 16, "model.mlp_dim": 64, "nsa.l": 8, "nsa.d": 4,
        "nsa.l_sel": 16, "nsa.n_sel": 4, "nsa.w": 16, "train.seq_len": 32, "train.batch_size": 2, "train.steps": STEPS,
        "train.save_every": SAVE_EVERY, "train.keep": KEEP, "train.log_every": 1, "train.final_windows": 4, "out": out}
    return [TRAIN, "train", "--nproc", "2"] + ["%s=%s" % item for item in settings.items()]


def children(pid):
    try:
        return [int(p) for p in pathlib.Path("/proc/%d/task/%d/children" % (pid, pid)).read_text().split()]
    except OSError:
        return []


def alive(pid):
    try:
        return ") Z" not in pathlib.Path("/proc/%d/stat" % pid).read_text()
    except OSError:
        return False


class Run:
    """A run of two processes; its log is complete when it has ended."""

    def __init__(self, data, out, environment):
        self.log = tempfile.TemporaryFile("w+")
        self.launcher = subprocess.Popen(command(data, out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log,
                                         start_new_session=True, env={**os.environ, "LD_PRELOAD": CRASH_AT, **environment})
        self.ranks = []

    def running(self):
        self.ranks = children(self.launcher.pid) or self.ranks
        return self.launcher.poll() is None

    def wait_for_beat(self, out):
        """Until a step begins, or the run has ended."""
        file = pathlib.Path(out) / "heartbeat_rank0.jsonl"
        size = lambda: file.stat().st_size if file.exists() else 0
        before = size()
        while self.running() and size() == before:
            time.sleep(0.002)

    def end(self):
        """Waits; whether it came to its own good end, and its log."""
        start = time.monotonic()
        while self.running() or any(alive(p) for p in self.ranks):
            require(time.monotonic() - start < LIMIT, "a run does not end:\n" + self.text())
            time.sleep(0.01)
        return self.launcher.returncode == 0, self.text()

    def text(self):
        self.log.seek(0)
        return self.log.read()

    def kill(self, whom):
        self.running()
        pids = {"launcher": [self.launcher.pid], "all": [self.launcher.pid] + self.ranks}.get(whom)
        if pids is None:
            pids = self.ranks[int(whom[-1]):][:1]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def good_checkpoints(out):
    steps = set()
    for folder in (pathlib.Path(out) / "ckpt").glob("step_*"):
        if folder.suffix == ".tmp":
            continue
        require(re.fullmatch(r"step_\d{8}", folder.name), "there is a " + folder.name)
        lines = [line.split("  ", 1) for line in (folder / "DONE").read_text().splitlines()]
        require(len(lines) >= 3, "%s/DONE is short" % folder)
        for digest, name in lines:
            require(hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, "%s/%s is damaged" % (folder, name))
        steps.add(int(folder.name[5:]))
    return steps


def weights(out):
    return [(pathlib.Path(out) / ("ckpt/step_%08d" % STEPS) / name).read_bytes() for name in FILES]


class Tally:
    """The counts, in memory and, when there is a result file, there."""

    KEYS = ("kills", "in_saves", "before_first_checkpoint", "resumed", "completed_runs", "checkpoints_lost", "seconds")

    def __init__(self, file):
        self.file = pathlib.Path(file) if file else None
        there = json.loads(self.file.read_text()) if self.file and self.file.exists() else {}
        self.counts = {key: there.get(key, 0) for key in self.KEYS}
        self.victims = there.get("victims", {})
        self.commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()

    def write(self):
        if not self.file:
            return
        result = {
            "about": "SIGKILL at random moments of a training run on two processes",
            "command": "python3 tests/train/kill_ranks.py kills=1000 result=bench/results/kill_ranks.json", "commit": self.commit,
            "machine": "%s, %d cores, shared with other work" % (platform.machine(), os.cpu_count()),
            "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"), **self.counts, "victims": self.victims}
        temporary = self.file.with_suffix(".tmp")
        temporary.write_text(json.dumps(result, indent=1) + "\n")
        temporary.replace(self.file)


class Trial:
    def __init__(self, folder, tally, seed):
        self.folder, self.tally = folder, tally
        self.random = random.Random("%s %s" % (seed, tally.counts["kills"]))
        self.number, self.before = 0, set()
        self.data = str(folder / "text")
        words = ["the ", "tile ", "of ", "stone\n", "is ", "laid ", "upon ", "a ", "floor, ", "and ", "walls ", "rise. "]
        pathlib.Path(self.data).write_text("".join(random.Random(1).choice(words) for _ in range(12000)))
        self.straight()

    def straight(self):
        trace, out = self.folder / "trace", str(self.folder / "straight")
        run = Run(self.data, out, {"CRASH_TRACE": str(trace)})
        start = time.monotonic()
        run.wait_for_beat(out)
        trains = time.monotonic()
        ended, log = run.end()
        require(ended, "the undisturbed run fails:\n" + log)
        self.starting, self.training = trains - start, time.monotonic() - trains
        self.wanted = weights(out)
        lines = [line.split(" ", 3) for line in trace.read_text().splitlines()]
        # Operations of a save from its first byte to its name.
        self.in_save = next(int(number) for save, number, what, path in lines
                            if save == "4" and what == "rename" and path.endswith("step_%08d" % (4 * SAVE_EVERY)))
        require(self.in_save > 10, "a save has only %d operations" % self.in_save)

    def out(self):
        return str(self.folder / ("run%d" % self.number))

    def next_run(self):
        shutil.rmtree(self.out(), ignore_errors=True)
        self.number, self.before = self.number + 1, set()

    def once(self):
        """One start and its kill. A run that ends first counts none."""
        counts, pick = self.tally.counts, self.random
        in_save = counts["kills"] % 2 == 0
        if in_save:
            victim = "the process that saves"
            run = Run(self.data, self.out(), {"CRASH_SAVE": str(pick.randint(1, 3)), "CRASH_AT": str(pick.randint(1, self.in_save))})
        else:
            victim = pick.choice(["rank 0", "rank 1", "launcher", "all"])
            run = Run(self.data, self.out(), {})
            trains = pick.random() < 0.75  # the others mostly hit its start
            if trains:
                run.wait_for_beat(self.out())
            until = time.monotonic() + pick.uniform(0, self.training if trains else self.starting)
            while run.running() and time.monotonic() < until:
                time.sleep(0.002)
            run.kill(victim)
        ended, log = run.end()
        self.judge(ended, log)
        if ended:
            require(weights(self.out()) == self.wanted, "a resumed run has other weights")
            counts["completed_runs"] += 1
            self.next_run()
            return
        counts["kills"] += 1
        counts["in_saves"] += in_save
        self.tally.victims[victim] = self.tally.victims.get(victim, 0) + 1
        if (pathlib.Path(self.out()) / "metrics.json").exists():
            self.next_run()  # killed after it wrote its result

    def judge(self, ended, log):
        counts, now = self.tally.counts, good_checkpoints(self.out())
        require("refused" not in log and "no checkpoint can be used" not in log, log)
        gone_on = re.search(r"going on from .* at step (\d+) ", log)
        if self.before and gone_on:
            require(int(gone_on.group(1)) == max(self.before), "went on from %s, not %s" % (gone_on.group(1), self.before))
            counts["resumed"] += 1
        require(gone_on or not self.before or not ended, "a run starts over although there are checkpoints:\n" + log)
        require(not re.search(r"^(\[rank \d\] )?error: (?!process \d)", log, re.M), log)
        if self.before and (not now or max(now) < max(self.before) or len(now) < min(KEEP, len(self.before))):
            counts["checkpoints_lost"] += 1
            raise Failure("checkpoints %s became %s" % (sorted(self.before), sorted(now)))
        if not now:
            counts["before_first_checkpoint"] += 1
        self.before = now


def main():
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    tally = Tally(given.get("result"))
    began = tally.counts["seconds"], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tessera-kills-") as folder:
        trial = Trial(pathlib.Path(folder), tally, given.get("seed", "1"))
        while tally.counts["kills"] < int(given.get("kills", 20)):
            trial.once()
            tally.counts["seconds"] = round(began[0] + time.monotonic() - began[1])
            if tally.counts["kills"] % 10 == 0:
                tally.write()
    tally.write()
    print("%(kills)d kills, %(in_saves)d of them in saves; %(resumed)d restarts went on from a checkpoint, "
          "%(checkpoints_lost)d checkpoints lost, %(completed_runs)d runs completed" % tally.counts)
    require(2 * tally.counts["in_saves"] >= tally.counts["kills"], "fewer than half of the kills are in saves")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit("kill_ranks: %s" % failure)
