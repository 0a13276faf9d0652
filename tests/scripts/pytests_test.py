"""tests/scripts/pytests_test.py - scripts/checks/pytests.py finds test functions that a plain program would not run.

SPDX-License-Identifier: Apache-2.0
"""
from repository import load

pytests = load("scripts/checks/pytests.py")

PLAIN = "add_test(NAME a COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/a_test.py)\n"
PYTEST = "tessera_pytest(a a_test.py LABELS unit)\n"


def test_functions_that_a_plain_program_defines():
    assert pytests.unrun("a_test.py", "def test_x():\n    assert 0\n", PLAIN)
    assert pytests.unrun("a_test.py", "class TestX:\n    pass\n", PLAIN)
    assert not pytests.unrun("a_test.py", "def test_x():\n    assert 0\n", PYTEST)


def test_programs_that_run_themselves():
    assert not pytests.unrun("a_test.py", "def check():\n    pass\n\n\ncheck()\n", PLAIN)
    assert not pytests.unrun("a_test.py", 'def test_x():\n    pass\n\n\nif __name__ == "__main__":\n    test_x()\n', PLAIN)
