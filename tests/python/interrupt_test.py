# tests/python/interrupt_test.py - Ctrl-C while a kernel runs that would not end: in a Python process, tessera run, tessera check.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import struct
import subprocess
import sys
import time

import pytest

# Counts in memory, which others see, up to `n`: 2^62 is never reached.
KERNELS = '''import triton
import triton.language as tl


# tessera: grid(1)
@triton.jit
def count_ref(X, n):
    tl.store(X, n)


# tessera: instance small(X="*i64:16", n="i64")
# tessera: check(X=(0, 1, [8]), n=[LAST])
# tessera: grid(1)
@triton.jit
def count(X, n):
    seen = tl.atomic_add(X, 1)
    while seen < n:
        seen = tl.atomic_add(X, 1)
    tl.store(X, n)
'''
FOREVER = 1 << 62

PYTHON = '''import sys
import torch
torch.ops.load_library(LIBRARY)
torch.set_num_threads(THREADS)
shared = torch.from_file(MEMORY, shared=True, size=8, dtype=torch.int64)
other = torch.zeros(8, dtype=torch.int64)
launch = lambda x, n: torch.ops.tessera.launch(FILE, "count", [x], [n], [GRID], "")
for round in range(2):
    shared.zero_()
    try:
        launch(shared, 1 << 62)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    launch(other, 5)
    print("then", other[0].item(), flush=True)
    input()
'''


def processor_seconds(pid):
    """Of the process and its children."""
    total, todo = 0, [pid]
    while todo:
        one = todo.pop()
        try:
            with open(f"/proc/{one}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            with open(f"/proc/{one}/task/{one}/children") as file:
                todo += [int(child) for child in file.read().split()]
        except OSError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class TestInterrupt:

    @pytest.fixture(autouse=True)
    def prepare(self, tmp_path, cleanups):
        self.folder, self.cleanups = str(tmp_path), cleanups
        self.file = self.write("count.py", KERNELS.replace("LAST", str(FOREVER)))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def start(self, command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, start_new_session=True)
        self.cleanups.callback(process.communicate)
        self.cleanups.callback(process.kill)
        return process

    def wait_until(self, process, condition, what):
        deadline = time.monotonic() + 240
        while not condition():
            if process.poll() is not None:
                pytest.fail(f"{what}: ended with {process.returncode}: {process.communicate()}")
            assert time.monotonic() < deadline, what
            time.sleep(0.02)

    def python(self, threads, grid):
        memory = os.path.join(self.folder, "memory")
        with open(memory, "wb") as file:
            file.write(bytes(64))
        text = PYTHON
        for name, value in (("LIBRARY", os.environ["LIBTESSERA_TORCH"]), ("MEMORY", memory), ("FILE", self.file),
                            ("THREADS", threads), ("GRID", grid)):
            text = text.replace(name, repr(value))
        process = self.start([sys.executable, self.write("endless.py", text)])

        def counted():
            with open(memory, "rb") as file:
                return struct.unpack("q", file.read(8))[0]

        for _ in range(2):
            # The second round's counter begins again at zero.
            self.wait_until(process, lambda: 0 < counted() < FOREVER, "the kernel never ran")
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            said = process.stdout.readline()
            assert said == "interrupted\n", said or process.stderr.read()
            assert time.monotonic() - start < 30
            assert process.stdout.readline() == "then 5\n"
            with open(memory, "r+b") as file:
                file.write(bytes(8))
            process.stdin.write("\n")
            process.stdin.flush()
        assert process.wait(120) == 0, process.stderr.read()

    def test_python_on_one_thread(self):
        self.python(threads=1, grid=1)

    def test_python_on_all_threads(self):
        self.python(threads=2, grid=4)

    def program(self, *arguments):
        process = self.start([os.environ["PROGRAM"], *arguments])
        # Much more than to start and to read a kernel from the cache.
        self.wait_until(process, lambda: processor_seconds(process.pid) > 3, "the kernel does not run")
        return process

    def press(self, process):
        """Ctrl-C in a terminal is for all of the group."""
        os.killpg(process.pid, signal.SIGINT)
        start = time.monotonic()
        assert process.wait(60) == -signal.SIGINT
        assert time.monotonic() - start < 30

    def test_run(self):
        finite = [os.environ["PROGRAM"], "run", self.file, "--arg"]
        subprocess.run([*finite, "n=3"], check=True, stdout=subprocess.DEVNULL)
        self.press(self.program("run", self.file, "--arg", f"n={FOREVER}"))

    def test_check(self):
        good = self.write("good.py", KERNELS.replace("LAST", "3"))
        subprocess.run([os.environ["PROGRAM"], "check", good], check=True, stdout=subprocess.DEVNULL)
        self.press(self.program("check", self.file))

    def test_check_told_alone(self):
        # `kill -INT` of the process that the shell knows: its child ends as well.
        process = self.program("check", self.file)
        with open(f"/proc/{process.pid}/task/{process.pid}/children") as file:
            children = [int(child) for child in file.read().split()]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == -signal.SIGINT
        deadline = time.monotonic() + 30
        while any(alive(child) for child in children):
            assert time.monotonic() < deadline, "the child still runs"
            time.sleep(0.02)
