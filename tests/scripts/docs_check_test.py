"""tests/scripts/docs_check_test.py - scripts/checks/docs.py limits what README contains.

SPDX-License-Identifier: Apache-2.0
"""
from repository import load

docs = load("scripts/checks/docs.py")


def test_the_length_of_readme():
    assert docs.readme_problems("a line\n" * 120) == []
    [problem] = docs.readme_problems("a line\n" * 121)
    assert "121 lines, the cap is 120" in problem


def test_a_generated_block_in_readme():
    [problem] = docs.readme_problems("above\n<!-- make bench: written by a script -->\nbelow\n")
    assert "move it to docs/results.md" in problem
