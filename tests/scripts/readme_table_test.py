"""tests/scripts/readme_table_test.py - scripts/checks/readme_table.py finds each number of README's table that differs from the result file.

SPDX-License-Identifier: Apache-2.0
"""
from repository import load

check = load("scripts/checks/readme_table.py")
SOFTMAX = "Softmax, 8,192 x 1,024, fp32"
RESULT = {"threads": 2, "cpu": "TestChip", "avx512": True, "torch": "2.11.0+cu130", "rows": [
    {"name": "softmax", "unit": "ms", "ours": 5.1411, "peer": 2571.66, "ratio": 500.2145}]}
ROW = "| %s | 5.14 ms | PyTorch: 2,572 ms | 500.21x |" % SOFTMAX
TEXT = "2 threads of an TestChip with AVX-512, PyTorch 2.11.0.\n\n%s\n|---|---:|---:|---:|\n%s\n\nSee [it](bench/results/cpu.json).\n" % (check.HEAD, ROW)


def test_the_numbers_of_the_result_file():
    assert check.problems(TEXT, RESULT) == []


def test_each_number_that_differs():
    for right, wrong in (("5.14 ms", "5.15 ms"), ("2,572 ms", "2,571 ms"), ("500.21x", "500.22x")):
        [problem] = check.problems(TEXT.replace(right, wrong), RESULT)
        assert problem == "README.md:5: %s: %s, but softmax of bench/results/cpu.json has %s" % (SOFTMAX, wrong, right)


def test_a_changed_result():
    result = dict(RESULT, rows=[dict(RESULT["rows"][0], ours=1.0)])
    assert "has 1 ms" in check.problems(TEXT, result)[0]


def test_a_workload_without_a_row():
    assert "`Sum` has no row" in check.problems(TEXT.replace(SOFTMAX, "Sum"), RESULT)[0]
    assert "has no row" in check.problems(TEXT, dict(RESULT, rows=[]))[0]


def test_the_machine_and_the_link():
    for part in ("2 threads", "TestChip", "AVX-512", "2.11.0"):
        assert "the machine" in check.problems(TEXT.replace(part, "other"), RESULT)[0]
    assert "the link" in check.problems(TEXT.replace("(bench/results/cpu.json)", "(docs/results.md)"), RESULT)[0]


def test_the_number_of_rows():
    assert "0 rows" in check.problems(TEXT.replace(check.HEAD, "| a |"), RESULT)[0]
    assert "0 rows" in check.problems(TEXT.replace(ROW + "\n", ""), RESULT)[0]
    assert "9 rows" in check.problems(TEXT.replace(ROW, "\n".join([ROW] * 9)), RESULT)[0]
