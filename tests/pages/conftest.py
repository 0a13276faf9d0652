"""tests/pages/conftest.py - the program, and a folder for its pages.

SPDX-License-Identifier: Apache-2.0
"""
import pytest
from repository import PROGRAM


@pytest.fixture
def program():
    return PROGRAM


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path)
