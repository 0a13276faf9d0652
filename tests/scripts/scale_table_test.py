# tests/scripts/scale_table_test.py - scripts/checks/scale_table.py writes the rows of scale.json and finds a page that differs.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from repository import load

scale_table = load("scripts/checks/scale_table.py")
KIND = {"memory_bytes": 3 * 2 ** 30, "sent_bytes": 7_600_000, "step_ms": 250.4, "tokens_per_s": 123_456, "efficiency": 0.9}
RESULT = {"rows": [{"ranks": 2, "tokens_of_a_step": 65536, "zero_stage_1_bytes": 2 ** 31, "fp32": KIND, "bf16": {**KIND, "sent_bytes": 3_800_000}}]}


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(scale_table, "ROOT", tmp_path)
    monkeypatch.setattr(scale_table, "RESULT", tmp_path / "scale.json")
    monkeypatch.setattr(scale_table, "NAME", "page.md")
    (tmp_path / "scale.json").write_text(json.dumps(RESULT))
    (tmp_path / "page.md").write_text("before\n%s\n%s\nafter\n" % (scale_table.BEGIN, scale_table.END))
    return tmp_path / "page.md"


def test_fix_writes_the_rows(page, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["scale_table"])
    assert scale_table.main() == 1 and "page.md" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["scale_table", "--fix"])
    assert scale_table.main() == 0
    row = "| 2 | 65,536 | 3.0 GiB | 2.0 GiB | 8 MB | 250 ms | 123,000 | 0.900 | 4 MB | 250 ms | 0.900 |"
    assert row in page.read_text().splitlines() and page.read_text().startswith("before\n") and page.read_text().endswith("after\n")
    monkeypatch.setattr("sys.argv", ["scale_table"])
    assert scale_table.main() == 0
    page.write_text(page.read_text().replace("8 MB", "9 MB"))
    assert scale_table.main() == 1


def test_a_page_without_the_marks(page):
    page.write_text("text\n")
    assert scale_table.main() == 1
