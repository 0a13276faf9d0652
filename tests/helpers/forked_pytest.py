# tests/helpers/forked_pytest.py - runs pytest in a copy of a process that has already imported torch.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""To import torch takes a processor two seconds, and the list of tests has over a hundred entries that do. scripts/run-tests therefore
starts

    forked_pytest.py --serve SOCKET

which imports torch once. An entry runs forked_pytest.py with pytest's arguments. If PYTEST_SERVER_SOCKET names the socket, the server
forks a process with the entry's arguments, environment, working directory and standard streams, and the entry ends with its exit
status. Without a server, and if torch would read another environment when it is loaded, the entry runs pytest in its own process."""
import atexit
import json
import os
import select
import signal
import socket
import struct
import sys

VARIABLE = "PYTEST_SERVER_SOCKET"
# Read when torch, or a library that it loads, is loaded.
AT_IMPORT = ("LD_", "PYTHON", "OMP_", "GOMP_", "MKL_", "KMP_", "OPENBLAS_", "TORCH_", "CUDA_", "GLIBC_", "MALLOC_")


def read_at_import(environment):
    return {name: value for name, value in environment.items() if name.startswith(AT_IMPORT)}


def receive(connection, size):
    data = b""
    while len(data) < size and (more := connection.recv(size - len(data))):
        data += more
    return data


def ask(path, arguments):
    """The exit status of pytest in a fork of the server; None without a server for this environment."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
        except OSError:
            return None
        wanted = json.dumps({"arguments": arguments, "environment": dict(os.environ), "folder": os.getcwd()}).encode()
        socket.send_fds(connection, [struct.pack("I", len(wanted))], [0, 1, 2])
        connection.sendall(wanted)
        answer = receive(connection, 1)
        if answer != b"y":
            return None
        status = receive(connection, 4)
    if len(status) < 4:
        print(f"forked_pytest: the server at {path} ended before the tests did", file=sys.stderr)
        return 1
    return struct.unpack("i", status)[0]


def run(request, streams):
    """Becomes the process of an entry; does not return."""
    import pytest
    os.setpgid(0, 0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv = ["pytest", *request["arguments"]]
    sys.path[0] = request["folder"]  # as python -m pytest
    status = 1
    try:
        status = int(pytest.main(request["arguments"]))
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def kill_group(child):
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:  # it has not made its group yet
        os.kill(child, signal.SIGKILL)


def watch(connection, child):
    """Sends the exit status of `child`. Kills its process group if the entry ends first, as after a timeout."""
    ended = os.pidfd_open(child)
    ready, _, _ = select.select([ended, connection], [], [])
    if ended not in ready:
        kill_group(child)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    try:
        connection.sendall(struct.pack("i", code if code >= 0 else 128 - code))
    except OSError:
        pass  # the entry has ended


def handle(connection):
    header, streams, _, _ = socket.recv_fds(connection, 4, 3)
    request = json.loads(receive(connection, struct.unpack("I", header)[0]))
    if read_at_import(request["environment"]) != read_at_import(os.environ):
        return connection.sendall(b"n")
    connection.sendall(b"y")
    child = os.fork()
    if child == 0:
        connection.close()
        run(request, streams)
    for stream in streams:
        os.close(stream)
    watch(connection, child)


def serve(path):
    import pytest  # noqa: F401
    import torch  # noqa: F401
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(64)
        while True:
            connection, _ = server.accept()
            if os.fork() == 0:
                server.close()
                try:
                    handle(connection)
                finally:
                    os._exit(0)
            connection.close()
            while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG):
                pass


def main(arguments):
    if arguments[:1] == ["--serve"]:
        return serve(arguments[1])
    path = os.environ.pop(VARIABLE, None)
    status = ask(path, arguments) if path else None
    if status is None:
        os.execv(sys.executable, [sys.executable, "-m", "pytest", *arguments])
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
