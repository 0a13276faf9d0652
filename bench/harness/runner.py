# bench/harness/runner.py - the command line of all benchmarks: measures rows, saves each, continues an interrupted run.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""bench/run.py [NAME [--only TEXT ...] [--quick] [--rounds N] [--threads N] [--build DIR] [--out FILE] [--fresh] [--list] [option=value ...]]

Without a name it lists the benchmarks. A benchmark is a module of bench/ with

    its docstring     the first line is the title of the result
    OPTIONS           name -> default of options that are given as name=value; a list's value is separated by commas
    QUICK             values of options for --quick, which measures the first row in one round
    ROUNDS            default of --rounds
    rows(options)     name -> argument of measure()
    measure(row, context)   a record, or an iterator over records; `met: False` marks a missed target
    summary(records, context)   optional: more fields of the result
    line(record)      optional: a record as one line of text
    plot(records)     optional: an SVG next to the result

A row is saved as soon as it is measured. Ctrl-C saves the result, and the same command continues with the rows that are left. The exit
status is 1 if a row failed or missed its target."""
import argparse
import contextlib
import importlib
import inspect
import json
import os
import pathlib
import signal
import sys
import time

from harness import facts, plot, results, timing
from harness.context import Context, failure

BENCH = facts.ROOT / "bench"
NAMES = {"attention": "attention", "codegen": "codegen.report", "cost_model": "cost_model", "cpu": "cpu.table", "host_time": "host_time",
         "loader": "loader", "memory": "memory", "neighbours": "neighbours",
         "padding": "padding", "patterns": "patterns", "predicted": "predicted", "predicted_step": "predicted_step",
         "python_launch": "python_launch", "quickstart": "quickstart", "recipe": "recipe", "replay_rates": "replay_rates",
         "scale": "scale", "sectors": "sectors", "selected": "selected",
         "selected_cpu": "selected_cpu", "selected_keys": "selected_keys", "simulator_speed": "simulator_speed", "spills": "spills",
         "sweep": "sweep", "telemetry": "telemetry", "tokenizer": "tokenizer", "tune_truth": "tune_truth",
         "tuned_training": "tuned_training"}
EXPECTED = (RuntimeError, OSError, ImportError, StopIteration, ArithmeticError, KeyError, ValueError, AssertionError)


def title(module):
    return (module.__doc__ or "").strip().splitlines()[0]


def parse_option(name, text, default):
    """The text as a value of the default's type."""
    try:
        if isinstance(default, list):
            kind = type(default[0]) if default else str
            return [kind(part) for part in text.split(",") if part]
        return type(default)(text)
    except ValueError:
        raise SystemExit("bench: %s=%s is not a value like %s" % (name, text, default)) from None


def options_of(module, given, quick):
    options = dict(getattr(module, "OPTIONS", {}), **(getattr(module, "QUICK", {}) if quick else {}))
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in options:
            raise SystemExit("bench: unknown option %s; options of this benchmark: %s"
                             % (text, ", ".join("%s=%s" % item for item in options.items()) or "none"))
        options[name] = parse_option(name, value, options[name])
    return options


def default_line(name, record):
    shown = ("%s %s" % (key, "%.4g" % value if isinstance(value, float) else value) for key, value in record.items()
             if isinstance(value, (bool, int, float, str)))
    return "%s: %s" % (name, ", ".join(shown))


def records_of(module, argument, context):
    """What measure() gives: a record, an iterator over records, or nothing if it calls context.emit(record)."""
    found = module.measure(argument, context)
    return found if inspect.isgenerator(found) else iter([] if found is None else [found])


class Run:
    """One benchmark with the arguments of the command line."""

    def __init__(self, name, module, arguments):
        self.name, self.module, self.arguments = name, module, arguments
        options = options_of(module, arguments.options, arguments.quick)
        rounds = 1 if arguments.quick else arguments.rounds or getattr(module, "ROUNDS", 9)
        self.context = Context(arguments.build, arguments.threads, rounds, arguments.quick, options)
        self.rows = dict(module.rows(self.context.options))
        starts = tuple(arguments.only)
        self.wanted = [row for row in self.rows if not starts or row.startswith(starts)]
        if not self.wanted:
            raise SystemExit("bench: no row of %s starts with %s; bench/run.py %s --list names the rows" % (name, " or ".join(starts), name))
        if arguments.quick and not starts:
            self.wanted = self.wanted[:1]
        head = {"what": title(module), "benchmark": name, "command": "bench/run.py " + " ".join(sys.argv[1:]), **facts.facts(),
                "threads": arguments.threads, "rounds": rounds, "options": options}
        if arguments.quick:
            head["quick"] = True
        self.results = results.Results(arguments.out or facts.ROOT / ("build/bench/%s.json" % name), head, arguments.fresh)

    def measure_row(self, row):
        self.context.records = self.results.rows()
        self.results.start(row)
        self.context.emit = lambda record: self.add(row, timing.refuse_above_peak(record))
        try:
            for record in records_of(self.module, self.rows[row], self.context):
                self.context.emit(record)
            if not any("failed" in record for record in self.results.records.get(row, [])):
                self.results.measured.add(row)
        except EXPECTED as problem:  # a row that fails does not stop the others
            explain = getattr(self.module, "failed", lambda argument, why: {"name": row, "failed": why, "met": False})
            self.add(row, explain(self.rows[row], failure(problem)))

    def add(self, row, record):
        self.results.add(row, record)
        show = getattr(self.module, "line", None)
        print(show(record) if show else default_line(row, record), flush=True)
        self.save()

    def save(self):
        more = {"load_after": os.getloadavg()[0]}
        self.missed = sum(record.get("met") is False for record in self.results.rows())
        if hasattr(self.module, "summary") and self.results.rows():
            more.update(self.module.summary([record for record in self.results.rows() if "failed" not in record], self.context))
            self.missed = max(self.missed, more.get("missed", 0))
        self.results.save(list(self.rows), **more)

    def measure(self):
        left = [row for row in self.wanted if row not in self.results.measured]
        begin = time.monotonic()
        for done, row in enumerate(left):
            spent = time.monotonic() - begin
            eta = ", about %.0f min left" % (spent / done * (len(left) - done) / 60) if done else ""
            print("%d of %d: %s%s" % (done + 1, len(left), row, eta), file=sys.stderr, flush=True)
            self.measure_row(row)
        self.save()

    def finish(self):
        """Prints what is missed; the exit status."""
        records = self.results.rows()
        if hasattr(self.module, "plot"):
            results.write(self.results.path.with_suffix(".svg"), self.module.plot(records))
        lacking = [row for row in self.wanted if row not in self.results.measured]
        print("%s: %d records, %d missed%s" % (self.results.path, len(records), self.missed,
                                               "; not measured: " + ", ".join(lacking) if lacking else ""))
        return 1 if self.missed or lacking else 0


def load(name):
    if str(BENCH) not in sys.path:
        sys.path.insert(0, str(BENCH))
    return importlib.import_module(NAMES[name])


def parser():
    made = argparse.ArgumentParser(prog="bench/run.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("name", nargs="?", choices=NAMES)
    made.add_argument("options", nargs="*", help="option=value of the benchmark")
    made.add_argument("--only", action="append", default=[], metavar="TEXT", help="rows whose names start with this; may be repeated")
    made.add_argument("--quick", action="store_true", help="the first row, one round, small sizes: shows that the benchmark works")
    made.add_argument("--rounds", type=int, default=0)
    made.add_argument("--threads", type=int, default=2)
    made.add_argument("--build", type=pathlib.Path, default=facts.ROOT / "build/release", help="build folder")
    made.add_argument("--out", type=pathlib.Path, help="result file; default build/bench/NAME.json")
    made.add_argument("--fresh", action="store_true", help="measure all rows again")
    made.add_argument("--plot", type=pathlib.Path, metavar="FILE.json", help="write FILE.svg of a result of `tessera bench`, and nothing else")
    made.add_argument("--list", action="store_true", help="list the rows, measure nothing")
    return made


def stop(*_):
    raise KeyboardInterrupt


def main(argv=None):
    arguments = parser().parse_intermixed_args(argv)
    if arguments.plot:
        results.write(arguments.plot.with_suffix(".svg"), plot.of_result(json.loads(arguments.plot.read_text(encoding="utf-8"))))
        return 0
    if not arguments.name:
        for name in NAMES:
            print("%-16s %s" % (name, title(load(name))))
        return 0
    module = load(arguments.name)
    if arguments.list:
        options = options_of(module, arguments.options, arguments.quick)
        print("\n".join(module.rows(Context(arguments.build, options=options).options)))
        return 0
    run = Run(arguments.name, module, arguments)
    with contextlib.suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGTERM, stop)
    try:
        run.measure()
    except KeyboardInterrupt:
        run.save()
        print("bench: interrupted; %s has the rows so far, and the same command continues" % run.results.path, file=sys.stderr)
        return 130
    return run.finish()
