# scripts/lib/make_results.py - runs the commands that make the files of bench/results, for scripts/results make.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A command writes into build/results/HASH, where HASH is the hash of the result's sources. A later call skips what has finished there,
and a command that was interrupted continues with the files that it left there. The files are copied to bench/results after the last
command, so that the tree has no changes while a command reads its commit."""
import json
import os
import pathlib
import shutil
import subprocess
import time

UNKNOWN = "unknown"
REPORT_SECONDS = 300  # between two reports on a command that runs


class Job:
    """A result file, its command with paths filled in, and where the command writes."""

    def __init__(self, root, name, entry, code):
        self.name, self.entry, self.code = name, entry, code
        self.folder = root / "build" / "results" / (code or UNKNOWN)
        self.out, self.done_file, self.log = self.folder / name, self.folder / (name + ".done"), self.folder / (name + ".log")
        self.minutes = entry.get("minutes")

    def command(self, root, jobs):
        """The command with relative paths, because some programs write their command into the result."""
        out = self.out.relative_to(root)
        paths = {"out": out, "folder": out.parent, "stem": out.with_suffix("")}
        for name in self.entry.get("after", []):
            made = next((job for job in jobs if job.name == name and job.finished()), None)
            paths[name] = made.out.relative_to(root) if made else pathlib.Path("bench/results", name)
        text = self.entry["command"]
        for key, path in paths.items():
            text = text.replace("{%s}" % key, str(path))
        return text

    def finished(self):
        return self.done_file.is_file() and self.out.is_file()

    def fresh(self):
        return bool(self.code) and self.entry["code"] == self.code

    def state(self):
        if self.entry.get("by_hand"):
            return "by hand: " + self.entry["by_hand"]
        return "fresh" if self.fresh() else "finished, to be copied" if self.finished() else "stale"


def ordered(names, results):
    """The names, each after the results that its command reads."""
    placed = []

    def place(name):
        if name not in placed:
            for before in results[name].get("after", []):
                if before in names:
                    place(before)
            placed.append(name)

    for name in sorted(names):
        place(name)
    return placed


def minutes_text(minutes):
    return "time unknown" if minutes is None else "about %.0f min" % minutes if minutes >= 1 else "under 1 min"


def left_text(jobs):
    """The time that the jobs take."""
    known = sum(job.minutes for job in jobs if job.minutes is not None)
    unknown = sum(job.minutes is None for job in jobs)
    return "about %.0f min left" % known + (" and %d of unknown time" % unknown if unknown else "")


def environment(root):
    """The variables that the benchmarks read, for the build in build/release."""
    build = root / "build" / "release"
    deps = pathlib.Path(os.environ.get("TESSERA_DEPS") or
                        pathlib.Path(os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share") / "tessera")
    return dict(os.environ, PATH=os.pathsep.join([str(deps / "venv" / "bin"), str(build / "bin"), os.environ.get("PATH", "")]),
                SIM_ABI=str(build / "lib" / "libtessera_sim_abi.so"), PROGRAM=str(build / "bin" / "tessera"),
                TRAIN_PROGRAM=str(build / "bin" / "tessera-train"), PYTHONPATH=str(root / "python"),
                LIBTESSERA_TORCH=str(build / "lib" / "libtessera_torch.so"))


def run(root, job, command, later, commit):
    """Runs the job's command; its failure as a text, or None. `later`: the jobs that follow."""
    job.folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    with open(job.log, "w", encoding="utf-8") as log:
        child = subprocess.Popen(["bash", "-c", command], cwd=root, env=environment(root), stdin=subprocess.DEVNULL, stdout=log,
                                 stderr=subprocess.STDOUT)
        try:
            while True:
                try:
                    status = child.wait(REPORT_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    print("  %.0f min of %s; then %s" % ((time.monotonic() - start) / 60, minutes_text(job.minutes), left_text(later)), flush=True)
        except KeyboardInterrupt:
            child.terminate()
            child.wait()
            raise
    if status and status not in job.entry.get("statuses", []):
        return "its command ended with %d: see %s" % (status, job.log.relative_to(root))
    if not job.out.is_file():
        return "its command wrote no %s: see %s" % (job.out.relative_to(root), job.log.relative_to(root))
    job.minutes = round((time.monotonic() - start) / 60, 1)
    job.done_file.write_text(json.dumps({"commit": commit, "minutes": job.minutes}) + "\n", encoding="utf-8")
    return None


def listing(jobs):
    for job in jobs:
        print("%s: %s (%s)\n    %s" % (job.name, job.state(), minutes_text(job.minutes), job.entry["command"]))
    print(left_text([job for job in jobs if job.state() == "stale"]))


def make(root, jobs, commit):
    """Runs the stale jobs in order. ([(job, its .done record)] to copy to bench/results, texts of failures)."""
    stale, failures = [job for job in jobs if job.state() == "stale"], []
    for number, job in enumerate(stale, 1):
        print("[%d/%d, %s] %s (%s): %s" % (number, len(stale), left_text(stale[number - 1:]), job.name, minutes_text(job.minutes),
                                          job.entry["command"]), flush=True)
        failed = [before for before in job.entry.get("after", []) if any(text.startswith(before + ": ") for text in failures)]
        why = "it reads %s" % ", ".join(failed) if failed else run(root, job, job.command(root, jobs), stale[number:], commit)
        if why:
            failures.append("%s: %s" % (job.name, why))
            print("  failed: " + why, flush=True)
    copied = [(job, json.loads(job.done_file.read_text(encoding="utf-8"))) for job in jobs if job.state() == "finished, to be copied"]
    for job, _ in copied:
        shutil.copyfile(job.out, root / "bench" / "results" / job.name)
    return copied, failures
