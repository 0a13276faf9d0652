# tests/verify/verify_ptx.py - proves that the PTX of kernels/ has no race in any schedule, or reports why that is not known.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Verifies every launch of the programs below with sentryward (docs/verify-ptx.md).

First the programs run on the simulator and write their launches to --folder, once for a commit and build. Each launch with its own PTX
becomes a row of --results: race_free, potential_race, not_wellsynced, unsupported or timeout. Rows with the same PTX and launch are not
verified again, so an interrupted run continues with the same command; the digests of the table --known count as rows, too, so that
a run continues on another machine. --table writes such a table of the launches of this build. --faults verifies one launch of each race-free kernel again with
one barrier, wait or commit removed or weakened; the verifier must reject each, unless redundant.jsonl has the reason why it is redundant. Exit status 1
where a required kernel has a race or is not proven, or where the verifier accepts a fault without a reason."""
import argparse
import hashlib
import json
import pathlib
import pickle
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests" / "simulator"), str(ROOT / "tests" / "helpers")]

import redundant  # noqa: E402
import sentryward  # noqa: E402
import steps  # noqa: E402
from programs import OURS, record  # noqa: E402
from repository import commit  # noqa: E402

PROVEN = ("race_free", "verified")
MOST = 20  # seconds for a launch whose faults are verified
WRONG = ("potential_race", "not_wellsynced", "invalid_lifecycle")


def required(program, kernel):
    """Whether a row must be race_free: matrix product, softmax, dense and window attention, and the kernels of kernels/nn."""
    return program.startswith("nn") or kernel in ("matmul", "matmul_split", "softmax") or kernel.startswith(("dense_", "window_"))


def kernels_of(program):
    """"nn" of the program "kernels nn compiler=tessera"."""
    return program.name.split()[1]


def launches(folder, only):
    """{digest: (program, launch, description)}: one launch for each PTX text and description. A program has the name of its kernels."""
    found = {}
    for program, files in record([program for program in OURS if only in kernels_of(program)], folder):
        for file in files:
            launch = pickle.loads(file.read_bytes())
            launch["places"] = redundant.places(launch["ptx"])
            launch["ptx"] = sentryward.text(launch)
            what = sentryward.description(launch)
            found.setdefault(digest_of(launch, what), (kernels_of(program), launch, what))
    return found


def digest_of(launch, what):
    return hashlib.sha256((launch["ptx"] + json.dumps(what)).encode()).hexdigest()[:16]


def for_faults(found, rows, folder):
    """{digest: launch as in `found`}: of each kernel the one whose faults are verified. Of the launches that the verifier proved in MOST
    seconds, the one whose programs execute the kernel's synchronization most often, from the first of these on (steps.py)."""
    quick = [digest for digest in found if digest in rows and rows[digest]["result"] in PROVEN and rows[digest]["seconds"] <= MOST]
    counts, chosen = steps.measured(found, folder, quick), {}
    for digest in sorted(quick, key=lambda one: (-counts[one][0], rows[one]["seconds"])):
        program, launch, what = found[digest]
        moved = dict(launch, ptx=steps.shifted(launch["ptx"], counts[digest][1]))
        name = digest_of(moved, what)
        # A kernel without a row is verified first; if the launch is not proven, the next launch replaces it.
        if launch["kernel"] not in chosen and (name not in rows or rows[name]["result"] in PROVEN):
            chosen[launch["kernel"]] = name, (program, moved, what)
    return dict(chosen.values())


def work(found, rows, broken):
    """[(digest, program, kernel, fault or None, PTX, description)] of what has no row: the launches of `found`, and, once they are proven, the
    faults of `broken`."""
    todo = []
    for digest, (program, launch, what) in {**found, **broken}.items():
        if digest not in rows:
            todo.append((digest, program, launch["kernel"], None, launch["ptx"], what))
        elif digest in broken and rows[digest]["result"] in PROVEN:
            for mutant in steps.mutants(launch["ptx"]):
                name = f"{digest}:{mutant.line}:{mutant.kind}"
                if name not in rows:
                    fault = dict(kind=mutant.kind, line=mutant.line + 1, what=mutant.what, place=launch["places"].get(mutant.line, ""))
                    todo.append((name, program, launch["kernel"], fault, mutant.apply(launch["ptx"]), what))
    # What must be proven first, faults before other launches, then short texts, so that a part of a run covers many kernels.
    return sorted(todo, key=lambda one: (not required(one[1], one[2]), one[3] is None, len(one[4])))


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def run(todo, rows, results, seconds, minutes):
    """Verifies until the minutes are over (0: all); every row is appended as soon as it is known."""
    start, now = time.time(), commit()
    for number, (digest, program, kernel, fault, ptx, what) in enumerate(todo):
        passed = time.time() - start
        if minutes and passed > 60 * minutes:
            return
        left = f", about {clock(passed / number * (len(todo) - number))} left" if number else ""
        print(f"{number} of {len(todo)}{left}: {kernel}{' without ' + fault['what'] if fault else ''}", flush=True)
        begin = time.time()
        result, codes, texts = sentryward.verify(ptx, what, seconds)
        row = dict(digest=digest, program=program, kernel=kernel, grid=what["launch"]["grid_dim"], threads=what["launch"]["block_dim"][0],
                   result=result, codes=codes, text=texts[0][:160] if texts else "", seconds=round(time.time() - begin, 1), commit=now)
        if fault:
            row["fault"] = fault
        rows[digest] = row
        with results.open("a") as out:
            out.write(json.dumps(row) + "\n")


def report(rows):
    """Prints a line for each kernel and the totals. Returns how many rows break a rule of the docstring above."""
    plain, broken = [row for row in rows if "fault" not in row], [row for row in rows if "fault" in row]
    kernels = {}
    for row in plain:
        kernels.setdefault((row["program"], row["kernel"]), []).append(row)
    bad = 0
    for (program, kernel), mine in sorted(kernels.items()):
        counts = {}
        for row in mine:
            reason = row["result"] + (": " + ", ".join(row["codes"]) if row["codes"] else "")
            counts[reason] = counts.get(reason, 0) + 1
        bad += sum(row["result"] in WRONG or (required(program, kernel) and row["result"] not in PROVEN) for row in mine)
        print(f"{program}: {kernel}: " + "; ".join(f"{count} {reason}" for reason, count in counts.items()))
    totals = {result: sum(row["result"] == result for row in plain) for result in sorted({row["result"] for row in plain})}
    print(f"{len(plain)} launches: " + ", ".join(f"{count} {result}" for result, count in totals.items()))
    if broken:
        accepted = [row for row in broken if row["result"] in PROVEN]
        rejected = sum(row["result"] in WRONG for row in broken)
        unexplained = redundant.unexplained(accepted, redundant.reasons())
        print(f"{len(broken)} faults: {rejected} rejected, {len(accepted) - len(unexplained)} redundant by {redundant.PATH.name}, "
              f"{len(unexplained)} accepted without a reason, {len(broken) - rejected - len(accepted)} not decided")
        for row in unexplained:
            fault = row["fault"]
            print(f"accepted: {row['program']}: {row['kernel']}: {fault['kind']} at line {fault['line']}: {fault.get('place', fault['what'])}")
        bad += len(unexplained)
    return bad


def table(rows, out):
    """Writes the counts of each kernel's results, plain and with a fault: one JSON object for each line."""
    groups = {}
    for row in rows:
        reason = ": ".join((row["result"], *row["codes"]))
        groups.setdefault((row["program"], row["kernel"], row["fault"]["kind"] if "fault" in row else "", reason), []).append(row)
    names, lines = ("program", "kernel", "fault", "result"), []
    for key, mine in sorted(groups.items()):
        mine = sorted(mine, key=lambda row: row["digest"])
        line = dict(zip(names, key), launches=len(mine), seconds=round(sum(row["seconds"] for row in mine), 1),
                    digests=[row["digest"] for row in mine])
        if key[2] and mine[0]["result"] in PROVEN:
            line["places"] = [row["fault"].get("place", "") for row in mine]
        lines.append(json.dumps(line) + "\n")
    out.write_text("".join(lines))


def known_rows(path):
    """The rows of a table, by digest; empty without the file. Each has the mean of its line's seconds."""
    rows = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        try:
            group = json.loads(line)
            result, *codes = group["result"].split(": ")
            for digest, place in zip(group["digests"], group.get("places", [""] * len(group["digests"]))):
                rows[digest] = dict(digest=digest, program=group["program"], kernel=group["kernel"], result=result, codes=codes,
                                    seconds=group["seconds"] / group["launches"])
                if group["fault"]:
                    rows[digest]["fault"] = dict(kind=group["fault"], line=int(digest.split(":")[1]) + 1, what="see the table", place=place)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError):
            sys.exit(f"{path}:{number}: not a line of a table that verify_ptx.py --table wrote; name another file with --known")
    return rows


def rows_of(path):
    """The rows of a file of results, by digest; empty without the file."""
    rows = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        try:
            row = json.loads(line)
            rows[row["digest"]] = row
        except (ValueError, KeyError, TypeError):
            sys.exit(f"{path}:{number}: not a row of verify_ptx.py, which has a digest; name another file with --results "
                     "(bench/results/verify_ptx.jsonl is a table that --table wrote)")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only programs whose name contains this text")
    parser.add_argument("--faults", action="store_true", help="also verify texts with one fault in their synchronization")
    parser.add_argument("--minutes", type=float, default=0, help="stop after this time; the same command continues (default: no limit)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one text (default: 120)")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "build" / "verify" / "launches", help="recorded launches")
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build" / "verify" / "verify_ptx.jsonl")
    parser.add_argument("--report", action="store_true", help="print what the results have, and verify nothing")
    parser.add_argument("--known", type=pathlib.Path, default=ROOT / "bench" / "results" / "verify_ptx.jsonl",
                        help="table of an earlier run; what it has is not verified again (default: bench/results/verify_ptx.jsonl)")
    parser.add_argument("--table", type=pathlib.Path, help="at the end, write the counts of each kernel and the digests to this file")
    options = parser.parse_args()
    rows = {**known_rows(options.known), **rows_of(options.results)}
    if options.report:
        return 1 if report(list(rows.values())) else 0
    sentryward.install()
    options.results.parent.mkdir(parents=True, exist_ok=True)
    found, broken, start = launches(options.folder, options.only), {}, time.time()
    try:
        while todo := work(found, rows, broken := for_faults(found, rows, options.folder) if options.faults else {}):
            left = options.minutes - (time.time() - start) / 60
            if options.minutes and left <= 0:
                break
            run(todo, rows, options.results, options.timeout, options.minutes and left)
    except KeyboardInterrupt:
        print("interrupted; the same command continues", file=sys.stderr)
        return 130
    mine = [row for row in rows.values() if row["digest"].split(":")[0] in (broken if "fault" in row else {**found, **broken})]
    if options.table:
        table(mine, options.table)
    return 1 if report(mine) else 0


if __name__ == "__main__":
    sys.exit(main())
