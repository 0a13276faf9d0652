# tests/ctest/forked_pytest_test.py - pytest in a fork of a server gives the same results as in its own process.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import time

import pytest
from repository import ROOT

PROGRAM = ROOT / "tests/helpers/forked_pytest.py"
TESTS = '''
import os, signal, sys, time

def test_where():
    print("STARTED BY", os.getppid(), "IN", os.getcwd(), "WITH", os.environ.get("CASE"), "TORCH", "torch" in sys.modules)

def test_wrong():
    assert False, "as it should be"

def test_crash():
    os.kill(os.getpid(), signal.SIGSEGV)

def test_long():
    open(os.environ["CASE"], "w").write(str(os.getpid()))
    time.sleep(100)
'''


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    path = tmp_path_factory.mktemp("server") / "socket"
    process = subprocess.Popen([sys.executable, PROGRAM, "--serve", path])
    while not path.exists():
        assert process.poll() is None
        time.sleep(0.05)
    yield path
    process.kill()
    process.wait()


def command(folder, case):
    (folder / "cases.py").write_text(TESTS)
    return [sys.executable, PROGRAM, "-q", "-s", "-p", "no:cacheprovider", f"{folder / 'cases.py'}::test_{case}"]


def run(folder, case, server=None, **environment):
    variables = {**os.environ, "CASE": "x=1", **environment}
    variables |= {"PYTEST_SERVER_SOCKET": str(server)} if server else {}
    done = subprocess.run(command(folder, case), env=variables, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_a_fork_has_the_environment_and_the_folder_of_its_entry(server, tmp_path):
    status, output = run(tmp_path, "where", server)
    assert status == 0 and f"IN {tmp_path} WITH x=1 TORCH True" in output and "1 passed" in output, output


@pytest.mark.parametrize("case", ("where", "wrong", "nowhere"))
def test_statuses_are_those_of_a_process(server, tmp_path, case):
    assert run(tmp_path, case, server)[0] == run(tmp_path, case)[0] == {"where": 0, "wrong": 1, "nowhere": 4}[case]


def test_a_crash_ends_one_entry(server, tmp_path):
    assert run(tmp_path, "crash", server)[0] == 128 + signal.SIGSEGV
    assert run(tmp_path, "where", server)[0] == 0


def test_what_torch_reads_when_it_is_loaded_needs_a_process(server, tmp_path):
    status, output = run(tmp_path, "where", server, OMP_NUM_THREADS="7")
    assert status == 0 and "TORCH False" in output, output


def test_without_a_server_there_is_a_process(tmp_path):
    status, output = run(tmp_path, "where", tmp_path / "nothing")
    assert status == 0 and "TORCH False" in output, output


def test_an_entry_that_is_killed_ends_its_fork(server, tmp_path):
    note = tmp_path / "number"
    environment = {**os.environ, "CASE": str(note), "PYTEST_SERVER_SOCKET": str(server)}
    entry = subprocess.Popen(command(tmp_path, "long"), env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not (note.exists() and note.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    entry.kill()
    entry.wait()
    while os.path.exists(f"/proc/{note.read_text()}"):
        assert time.monotonic() < deadline
        time.sleep(0.05)
