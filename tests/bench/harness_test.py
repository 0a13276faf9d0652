# tests/bench/harness_test.py - the harness of bench/: timing, result files, interrupted runs, options; every benchmark lists its rows.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import sys
import types

import pytest
from harness import plot, results, runner, timing
from harness.context import Context
from repository import BUILD, ROOT

HEAD = {"benchmark": "b", "commit": "c", "cpu": "p", "threads": 2, "rounds": 3, "options": {"n": 1}}


class Clock:
    """A clock that the timed functions move."""

    def __init__(self):
        self.now, self.calls = 0.0, []

    def __call__(self):
        return self.now

    def work(self, name, seconds):
        def run():
            self.calls.append(name)
            self.now += seconds
        return run


class TestTiming:
    def test_variants_alternate_and_each_starts_a_round(self):
        clock = Clock()
        times = timing.alternate({name: clock.work(name, 0.05) for name in "abc"}, 3, clock)
        assert "".join(clock.calls) == "aabbcc" + "abc" + "bca" + "cab"
        assert {name: [round(ms) for ms in all_] for name, all_ in times.items()} == dict.fromkeys("abc", [50, 50, 50])

    def test_a_short_function_is_called_often_in_a_round(self):
        clock = Clock()
        times = timing.alternate({"short": clock.work("s", 0.001), "long": clock.work("l", 0.1)}, 1, clock)
        assert clock.calls.count("s") in (21, 22) and clock.calls.count("l") == 3
        assert times["short"] == pytest.approx([1.0]) and times["long"] == pytest.approx([100.0])

    def test_quartiles(self):
        assert timing.quartiles([4.0, 1.0, 3.0, 2.0, 5.0]) == [2.0, 3.0, 4.0]
        assert timing.quartiles([7.0]) == [7.0, 7.0, 7.0]

    def test_the_fastest_baseline_is_compared(self):
        found = timing.compared({"ours": [2.0, 9.0, 1.0], "a": [5.0, 5.0, 50.0], "b": [4.0, 60.0, 60.0]}, "ours", ["a", "b"])
        assert found == {"ours": 2.0, "peer": 5.0, "peer_variant": "a", "spread": {"ours": [1.0, 9.0], "a": [5.0, 50.0]}}

    def test_a_rate_above_the_peak_is_refused(self):
        record = timing.refuse_above_peak({"peak_share": 1.02, "met": True})
        assert "1.02 of the machine's peak" in record["failed"] and record["met"] is False
        for share in (1.0, None):
            assert "failed" not in timing.refuse_above_peak({"peak_share": share, "met": True})
        assert timing.refuse_above_peak({"ms": 1}) == {"ms": 1}


class TestResults:
    def saved(self, path, **head):
        made = results.Results(path, {**HEAD, **head})
        for name, record in (("x", {"v": 1}), ("x", {"v": 2}), ("y", {"v": 3})):
            made.add(name, record)
            made.measured.add(name)
        made.save(["y", "x", "z"])
        return made

    def test_records_are_in_the_order_of_the_rows_one_on_a_line(self, tmp_path):
        self.saved(tmp_path / "r.json")
        text = (tmp_path / "r.json").read_text()
        found = json.loads(text)
        assert found["rows"] == [{"v": 3}, {"v": 1}, {"v": 2}] and found["complete"] is False
        assert '\n  {"v": 3},\n' in text
        assert [path.name for path in tmp_path.iterdir()] == ["r.json"]

    def test_a_later_run_continues(self, tmp_path):
        self.saved(tmp_path / "r.json")
        again = results.Results(tmp_path / "r.json", HEAD)
        assert again.measured == {"x", "y"} and again.records == {"y": [{"v": 3}], "x": [{"v": 1}, {"v": 2}]}
        again.add("z", {"v": 4})
        again.measured.add("z")
        again.save(["y", "x", "z"])
        assert json.loads((tmp_path / "r.json").read_text())["complete"] is True

    def test_a_failed_row_is_measured_again(self, tmp_path):
        made = results.Results(tmp_path / "r.json", HEAD)
        made.add("x", {"failed": "no"})
        made.add("y", {"v": 1})
        made.measured.add("y")
        made.save(["x", "y"])
        assert results.Results(tmp_path / "r.json", HEAD).measured == {"y"}

    @pytest.mark.parametrize("change", [{"commit": "d"}, {"cpu": "q"}, {"threads": 1}, {"rounds": 9}, {"options": {"n": 2}}, {"quick": True}])
    def test_another_measurement_does_not_continue(self, tmp_path, change):
        self.saved(tmp_path / "r.json")
        assert results.Results(tmp_path / "r.json", {**HEAD, **change}).measured == set()
        assert results.Results(tmp_path / "r.json", HEAD, fresh=True).measured == set()


def benchmark(**parts):
    """A benchmark of two options and three rows."""
    made = types.ModuleType("made", "A made benchmark.\n\nMore.")
    made.OPTIONS, made.QUICK = {"sizes": [1, 2], "name": "n"}, {"sizes": [1]}
    made.rows = lambda options: {"row %d" % i: i for i in range(3)}
    made.measure = lambda row, context: {"row": row, "sizes": context.options.sizes}
    for name, part in parts.items():
        setattr(made, name, part)
    return made


@pytest.fixture
def start(monkeypatch, tmp_path):
    """start(module, *arguments): (exit status, the result file) of a run."""
    def run(module, *arguments):
        monkeypatch.setattr(runner, "load", lambda name: module)
        monkeypatch.setitem(runner.NAMES, "made", "made")
        status = runner.main(["made", "--build", str(tmp_path), "--out", str(tmp_path / "made.json"), *arguments])
        out = tmp_path / "made.json"
        return status, json.loads(out.read_text()) if out.exists() else None
    return run


class TestRunner:
    def test_rows_and_facts(self, start):
        status, found = start(benchmark(summary=lambda records, context: {"count": len(records)}), "sizes=3,4", "--rounds", "2")
        assert status == 0 and found["complete"] and found["count"] == 3
        assert found["rows"] == [{"row": i, "sizes": [3, 4]} for i in range(3)]
        assert found["what"] == "A made benchmark." and found["options"] == {"sizes": [3, 4], "name": "n"} and found["rounds"] == 2
        assert {"commit", "date", "cpu", "cores", "threads", "python", "torch", "load_before", "load_after"} <= set(found)

    def test_a_missed_target_ends_with_1(self, start):
        assert start(benchmark(measure=lambda row, context: {"met": row != 1}))[0] == 1
        assert start(benchmark(summary=lambda records, context: {"missed": 2}), "--fresh")[0] == 1

    def test_quick_measures_the_first_row_once(self, start):
        status, found = start(benchmark(), "--quick")
        assert status == 0 and found["rows"] == [{"row": 0, "sizes": [1]}] and found["rounds"] == 1 and not found["complete"]

    def test_only(self, start):
        assert [record["row"] for record in start(benchmark(), "--only", "row 2", "--only", "row 0")[1]["rows"]] == [0, 2]
        with pytest.raises(SystemExit, match="no row of made starts with x"):
            start(benchmark(), "--only", "x")

    def test_a_row_that_fails_does_not_stop_the_others(self, start):
        def measure(row, context):
            if row == 1:
                raise RuntimeError("no such thing\nmore\nlast")
            return {"row": row}
        status, found = start(benchmark(measure=measure))
        assert status == 1 and not found["complete"]
        assert found["rows"] == [{"row": 0}, {"name": "row 1", "failed": "RuntimeError: no such thing ... last", "met": False}, {"row": 2}]
        assert start(benchmark())[1]["rows"][1]["row"] == 1  # measured again

    def test_an_interrupted_run_keeps_its_rows_and_continues(self, start):
        ran = []

        def measure(row, context):
            ran.append((row, [record["row"] for record in context.records]))
            yield {"row": row, "part": 0}
            if row == 1 and len(ran) == 2:
                raise KeyboardInterrupt
            yield {"row": row, "part": 1}
        status, found = start(benchmark(measure=measure))
        assert status == 130 and not found["complete"]
        assert [(record["row"], record["part"]) for record in found["rows"]] == [(0, 0), (0, 1), (1, 0)]
        status, found = start(benchmark(measure=measure))
        assert status == 0 and found["complete"]
        assert [(record["row"], record["part"]) for record in found["rows"]] == [(row, part) for row in range(3) for part in range(2)]
        # The interrupted row starts again, and sees what the earlier run has of it.
        assert ran[2:] == [(1, [0, 0, 1]), (2, [0, 0, 1, 1])]

    def test_records_may_be_emitted(self, start):
        assert start(benchmark(measure=lambda row, context: context.emit({"row": row})))[1]["rows"] == [{"row": i} for i in range(3)]

    def test_a_rate_above_the_peak_fails(self, start):
        status, found = start(benchmark(measure=lambda row, context: {"peak_share": row}))
        assert status == 1 and ["failed" in record for record in found["rows"]] == [False, False, True]

    def test_options_are_checked(self, start):
        with pytest.raises(SystemExit, match=r"unknown option size=1; options of this benchmark: sizes=\[1, 2\], name=n"):
            start(benchmark(), "size=1")
        with pytest.raises(SystemExit, match="sizes=a is not a value like"):
            start(benchmark(), "sizes=a")

    def test_a_signal_saves_the_rows(self, tmp_path):
        """In a process: SIGTERM while a row is measured."""
        (tmp_path / "waits.py").write_text('"""Waits."""\nimport time\n\n\ndef rows(options):\n    return {"a": 0, "b": 1}\n\n\n'
                                           'def measure(row, context):\n    if row:\n        print("waiting", flush=True)\n        time.sleep(60)\n'
                                           '    return {"row": row}\n')
        program = ("import sys; sys.path[:0] = [%r, %r]; from harness import runner; runner.NAMES['waits'] = 'waits'; "
                   "sys.exit(runner.main(['waits', '--out', %r]))" % (str(ROOT / "bench"), str(tmp_path), str(tmp_path / "out.json")))
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while "waiting" not in child.stdout.readline():
            pass
        child.send_signal(signal.SIGTERM)
        _, said = child.communicate(timeout=60)
        assert child.returncode == 130 and "the same command continues" in said
        assert json.loads((tmp_path / "out.json").read_text())["rows"] == [{"row": 0}]


class TestPrograms:
    def test_a_program_that_fails_is_an_error_with_its_last_lines(self):
        context = Context(BUILD)
        with pytest.raises(RuntimeError, match="ended with 3: because"):
            context.start([sys.executable, "-c", "import sys; sys.exit(print('because', file=sys.stderr) or 3)"])
        done = context.start([sys.executable, "-c", "import os; print(os.environ['GIVEN'], os.getcwd())"], GIVEN="yes")
        assert done.out.split() == ["yes", str(ROOT)]


class TestPlots:
    def test_lines_have_a_path_for_each_name(self):
        text = plot.lines([(512, {"a": 1.0, "b": 10.0}), (1024, {"a": 100.0})], ["a", "b"], "ms", "tokens")
        assert text.count("<polyline") == 2 and "1 ms" in text and "100 ms" in text and text.endswith("</svg>\n")


    def test_results_of_tessera_bench(self, tmp_path):
        rows = [{"name": "a<b", "tokens": 512, "us": 3.0}, {"name": "a<b", "tokens": 1024, "us": 9.0}, {"name": "none", "tokens": 512, "missing": "no"}]
        (tmp_path / "fwd.json").write_text(json.dumps({"rows": rows}))
        assert runner.main(["--plot", str(tmp_path / "fwd.json")]) == 0
        text = (tmp_path / "fwd.svg").read_text()
        assert text.count("<polyline") == 1 and "a&lt;b" in text and ">none<" not in text
        bars = plot.of_result({"rows": [{"name": "x", "warp_instructions": 7}, {"name": "y", "warp_instructions": 14}]})
        assert bars.count("<rect") == 3 and "14 warp_instructions" in bars and 'width="175.0"' in bars
        assert plot.of_result({"rows": []}).endswith("</svg>\n")


class TestBenchmarks:
    @pytest.mark.parametrize("name", runner.NAMES)
    def test_rows_are_listed(self, name):
        """In a process, because a benchmark may set the environment before it imports Triton."""
        done = subprocess.run([sys.executable, str(ROOT / "bench/run.py"), name, "--list"], capture_output=True, text=True,
                              env={**os.environ, "SIM_ABI": "", "PROGRAM": ""})
        assert done.returncode == 0, done.stderr
        rows = done.stdout.splitlines()
        assert rows and len(rows) == len(set(rows))

    def test_every_benchmark_has_a_title(self):
        done = subprocess.run([sys.executable, str(ROOT / "bench/run.py")], capture_output=True, text=True)
        lines = done.stdout.splitlines()
        assert [line.split()[0] for line in lines] == list(runner.NAMES)
        assert all(len(line.split()) > 3 for line in lines), lines

    def test_commands_of_results_name_benchmarks(self):
        commands = [entry["command"] for entry in json.loads((ROOT / "bench/results/sources.json").read_text())["results"].values()]
        used = [command.split()[2] for command in commands if command.startswith("python bench/run.py ")]
        assert len(used) >= 20 and set(used) <= set(runner.NAMES)
