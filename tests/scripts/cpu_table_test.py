"""tests/scripts/cpu_table_test.py - scripts/checks/cpu_table.py writes the measurements of cpu.json and finds where the page differs.

SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import io
import json
import sys
from unittest import mock

import pytest
from repository import load

table = load("scripts/checks/cpu_table.py")


def entry(name, ratio=None, ours=1.0, bar=1.0, met=True, peer="torch.mm", rule="ratio >=", **more):
    return {"name": name, "dtype": "fp32", "unit": "ms", "ours": ours, "peer": ratio and ours * ratio, "peer_name": peer, "ratio": ratio,
            "bar": bar, "rule": rule, "met": met, "peak_share": None, **more}


def complete():
    """A table with every row: baselines take eight times as long, and the other rows are at their target."""
    rows = [table.rows.entry(row, {"ours": 1.0, "peer": 8.0, "max_error": 0.0} if row.peer else {"ours": row.bar}, 2, True) for row in table.rows.ROWS]
    return {"cpu": "TestChip", "avx512": True, "torch": "2.11.0+cu130", "date": "2026-01-02", "commit": "abc1234", "load_before": 2.04,
            "threads": 2, "rows": rows}


class TestText:
    def test_a_figure(self):
        assert table.figure(entry("a", ratio=1.256)) == "1.26x"
        assert table.figure(entry("a", ratio=0.5, met=False)) == "**0.50x**"
        assert table.figure(entry("a", ratio=0.9, bar=0.8)) == "**0.90x**"
        assert table.figure(entry("a", ratio=1.5, bar=2.0, met=False)) == "1.50x"
        assert table.figure(entry("a", ours=0.034, peer=None)) == "0.03"
        assert table.figure(entry("a", failed="no torch")) == "**failed**"

    def test_a_time(self):
        assert [table.time(13.39, "ms"), table.time(1898.1, "ms"), table.time(0.1536, "us")] == ["13.4 ms", "1,898 ms", "0.154 us"]
        assert [table.time(None, "ms"), table.time(0.4558, "share")] == ["-", "0.456"]

    def test_a_bar(self):
        assert table.bar(entry("a", bar=1.5)) == "1.5"
        assert table.bar(entry("a", bar=0.3, rule="ours <=")) == "at most 0.3"
        assert table.bar(entry("a", bar=0.3, rule="ours <=", met=False)) == "at most 0.3, not met"

    def test_the_head_counts_the_rows_that_are_met(self):
        result = complete()
        result["rows"][0]["met"] = False
        count = len(result["rows"])
        assert "2 threads of an TestChip, AVX-512, torch 2.11.0, 2026-01-02 at abc1234, load average 2.0" in table.head(result)
        assert "same dtype. %d of %d rows" % (count - 1, count) in table.head(result)
        result["commit"] += "-dirty"
        assert "at abc1234 with uncommitted changes," in table.head(result)

    def test_the_table_has_every_row(self):
        result = complete()
        full = "\n".join(table.full(result))
        for row in result["rows"]:
            assert full.count("| `%s` |" % row["name"]) == 1, row["name"]

    def test_a_row_has_both_times(self):
        result = complete()
        result["rows"] = [entry("a", ratio=2.0, ours=13.29, bar=0.9, peak_share=0.683), entry("b", peer=None, ours=0.25, unit="us"),
                          entry("c", ratio=2.0, ours=1.0, bar=1, copy_share=0.3)]
        assert table.full(result)[-3:] == ["| `a` | fp32 | 13.3 ms | 26.6 ms | 2.00x | 0.9 | 68% |", "| `b` | fp32 | 0.25 us | - | 0.25 | 1 | - |",
                                                   "| `c` | fp32 | 1 ms | 2 ms | 2.00x | 1 | 30% of a copy |"]

    def test_a_block_is_replaced(self, tmp_path, capsys):
        page = tmp_path / "page.md"
        page.write_text("above\nBEGIN\nold\nEND\nbelow\n")
        replaced = table.page_block.replaced
        assert replaced(page, "page.md", "BEGIN", "END", "BEGIN\nnew\nEND") == (page.read_text(), "above\nBEGIN\nnew\nEND\nbelow\n")
        for begin, end in (("END", "BEGIN"), ("BEGIN", "NONE"), ("o", "END")):
            assert replaced(page, "page.md", begin, end, "") is None
            assert capsys.readouterr().out == "check: page.md lacks the lines %s and %s\n" % (begin, end)


class TestCheck:
    @pytest.fixture(autouse=True)
    def pages(self, tmp_path):
        self.root = tmp_path
        (self.root / "docs").mkdir()
        self.page = self.root / "docs/results.md"
        self.page.write_text("above\n%s\n%s\nbelow\n" % (table.BEGIN, table.END))
        self.result = complete()

    def run_check(self, *arguments):
        """(exit status, what it prints)"""
        (self.root / "cpu.json").write_text(json.dumps(self.result))
        printed = io.StringIO()
        with mock.patch.multiple(table, PAGE=self.page, RESULT=self.root / "cpu.json", PLOT=self.root / "docs/bench_cpu.svg"), \
                mock.patch.object(sys, "argv", ["cpu_table.py", *arguments]), contextlib.redirect_stdout(printed):
            return table.main(), printed.getvalue()

    def test_fix_writes_what_the_check_wants(self):
        status, said = self.run_check()
        assert status == 1
        assert "results.md, bench_cpu.svg: differs from bench/results/cpu.json" in said
        assert self.run_check("--fix") == (0, "")
        assert self.run_check() == (0, "")
        assert "| `%s` |" % self.result["rows"][0]["name"] in self.page.read_text()

    def test_one_figure_that_changed(self):
        self.run_check("--fix")
        self.result["rows"][0].update(ours=3.0, ratio=0.66, met=False)
        status, said = self.run_check()
        assert status == 1
        assert "results.md, bench_cpu.svg" in said

    def test_a_row_is_missing(self):
        name = self.result["rows"].pop()["name"]
        status, said = self.run_check("--fix")
        assert status == 1
        assert "lacks rows: " + name in said

    def test_a_page_without_its_lines(self):
        self.page.write_text("above\n%s\nbelow\n" % table.END)
        status, said = self.run_check("--fix")
        assert status == 1
        assert "results.md lacks the lines" in said
