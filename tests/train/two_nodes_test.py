# tests/train/two_nodes_test.py - a run on two nodes, which are network namespaces: torchrun, folders that are not shared, lost nodes, refusals.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest
from repository import BUILD, ROOT
from two_nodes import ADDRESSES, two_nodes

TORCHRUN = pathlib.Path(sys.executable).parent / "torchrun"
TRAIN = BUILD / "bin/tessera-train"
PORT = 29500  # the namespaces of a test have all ports for themselves
SETTINGS = ["kernels=torch", "panel=false", "threads=1", "model.dim=32", "model.n_layers=1", "model.n_heads=2", "model.n_kv_groups=1",
            "model.d_k=16", "model.d_v=16", "model.mlp_dim=64", "nsa.l=8", "nsa.d=4", "nsa.l_sel=16", "nsa.n_sel=4", "nsa.w=16",
            "train.seq_len=64", "train.log_every=1", "train.save_every=4", "train.final_windows=4", "data.path=text", "out=run"]
LIMIT = 120  # seconds


class Cluster:
    """Two nodes with the working directories a and b, or the same one if they share a file system."""

    def __init__(self, folder, shared):
        self.nodes = two_nodes()
        self.folders = [folder / ("shared" if shared else name) for name in ("a", "b")]
        words = random.Random(1).choices(["the ", "tile ", "of ", "stone\n", "is ", "laid ", "upon ", "floor, "], k=9000)
        for place in self.folders:
            place.mkdir(exist_ok=True)
            (place / "text").write_text("".join(words))
        self.processes, self.logs, self.folder = [], [folder / "log0", folder / "log1"], folder

    def start(self, command, environments=({}, {}), ranks=(0, 1)):
        """Starts command(node, rank) on both nodes. `ranks` are those of node-a and node-b."""
        self.processes = []
        for number, node in enumerate(self.nodes):
            inside = ["env", "--chdir", self.folders[number], *command(number, ranks[number])]
            self.processes.append(node.start(inside, self.logs[number], {**os.environ, **environments[number]}))

    def train(self, *more, on_second=(), program=(TRAIN, TRAIN), ranks=(0, 1), address=ADDRESSES[0], environments=({}, {})):
        """Starts both processes with the variables that torchrun sets. `on_second` are further settings of node-b."""
        variables = [{"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": address, "MASTER_PORT": str(PORT), **more_of}
                     for rank, more_of in zip(ranks, environments)]
        self.start(lambda node, rank: [program[node], "train", *SETTINGS, "train.batch_size=4", *more, *(on_second if node else ())],
                   variables, ranks)

    def end(self, limit=LIMIT):
        """Waits for both and returns their exit statuses and logs."""
        until = time.monotonic() + limit
        statuses = [process.wait(max(0.1, until - time.monotonic())) for process in self.processes]
        return statuses, [log.read_text() for log in self.logs]

    def wait_for(self, number, file):
        until = time.monotonic() + LIMIT
        while not (self.folders[number] / file).exists():
            assert time.monotonic() < until and self.processes[number].poll() is None, self.logs[number].read_text()
            time.sleep(0.02)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        for node in self.nodes:
            node.close()


@pytest.fixture(params=[True])
def cluster(tmp_path, request):
    made = Cluster(tmp_path, request.param)
    yield made
    made.close()


shared = pytest.mark.parametrize("cluster", [True], indirect=True, ids=["shared"])
apart = pytest.mark.parametrize("cluster", [False], indirect=True, ids=["apart"])


def losses(run):
    return {record["step"]: record["bpb"] for record in map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
            if "bpb" in record}


def single(folder, *more):
    """The losses of a run of one process with the same global batch."""
    subprocess.run([TRAIN, "train", *SETTINGS, "train.batch_size=4", "out=single", *more], cwd=folder, check=True, capture_output=True)
    return losses(folder / "single")


def refused(cluster, *parts, limit=LIMIT):
    """Both processes end with status 1 and one of them prints `parts`."""
    statuses, logs = cluster.end(limit)
    assert statuses == [1, 1], logs
    said = "\n".join(logs)
    for part in parts:
        assert part in said, said
    return logs


@shared
def test_torchrun_trains_and_resumes_on_two_nodes(cluster):
    def command(steps):
        return lambda node, rank: [TORCHRUN, "--nnodes", 2, "--nproc-per-node", 1, "--node-rank", rank, "--master-addr", ADDRESSES[0],
                                   "--master-port", PORT, "--no-python", TRAIN, "train", *SETTINGS, "train.batch_size=4",
                                   "train.warmup=2", "train.steps=%d" % steps]
    for steps in (6, 12):
        cluster.start(command(steps))
        statuses, logs = cluster.end()
        assert statuses == [0, 0], logs
    assert "at step 6" in "".join(logs), logs
    run = cluster.folders[0] / "run"
    for name in ("config.json", "env.json", "metrics.json", "metrics.jsonl", "heartbeat_rank0.jsonl", "heartbeat_rank1.jsonl",
                 "ckpt/step_00000012/DONE"):
        assert (run / name).exists(), name
    for steps in (6, 12):
        wanted = single(cluster.folders[0], "train.warmup=2", "train.steps=%d" % steps)
    found = losses(run)
    assert sorted(found) == sorted(wanted) == list(range(1, 13))
    for step in found:
        assert found[step] == pytest.approx(wanted[step], rel=1e-6), step


@apart
def test_folders_that_are_not_shared(cluster):
    """Only the node of process 0 has checkpoints; a start with another order of nodes is refused instead of beginning again."""
    cluster.train("train.steps=4")
    assert cluster.end()[0] == [0, 0]
    a, b = (folder / "run" for folder in cluster.folders)
    assert (a / "ckpt/step_00000004/DONE").exists() and not (b / "ckpt").exists()
    cluster.train("train.steps=8", ranks=(1, 0), address=ADDRESSES[1])
    refused(cluster, "process 1 on node node-a has newer checkpoints in run (step 4) than process 0 on node node-b (none)",
            "a file system that all nodes share")
    assert not (b / "ckpt").exists()
    cluster.train("train.steps=8")
    statuses, logs = cluster.end()
    assert statuses == [0, 0] and "at step 4" in logs[0], logs


@shared
def test_the_other_node_ends_when_a_process_is_killed(cluster):
    cluster.train("train.steps=100000")
    cluster.wait_for(0, "run/ckpt/step_00000004/DONE")
    killed = time.monotonic()
    os.killpg(cluster.processes[1].pid, signal.SIGKILL)
    (first, _), logs = cluster.end()
    assert first == 1 and time.monotonic() - killed < 20
    assert "process 0 of 2 on node node-a (MASTER_ADDR=192.168.77.1, MASTER_PORT=29500) has lost the others" in logs[0], logs


@shared
def test_both_nodes_end_when_the_network_is_lost(cluster):
    """No packet ends the connection, as when a node loses its power."""
    cluster.train("train.steps=100000", "runtime.network_timeout=4")
    cluster.wait_for(0, "run/ckpt/step_00000004/DONE")
    cluster.nodes[1].run("ip", "link", "set", "veth1", "down")
    logs = refused(cluster, limit=40)
    assert all("has lost the others" in log for log in logs), logs


@shared
def test_an_address_that_is_not_reachable(cluster):
    cluster.train("runtime.network_timeout=3", address="192.168.77.9")
    logs = refused(cluster, limit=40)
    for number, log in enumerate(logs):
        assert "process %d of 2 on node node-%s (MASTER_ADDR=192.168.77.9, MASTER_PORT=29500) cannot meet the others" % (number, "ab"[number]) in log
        assert "reaches the address (route, firewall)" in log


@shared
def test_an_interface_that_does_not_exist(cluster):
    cluster.train("runtime.network_timeout=3", environments=({}, {"GLOO_SOCKET_IFNAME": "eth7"}))
    refused(cluster, "GLOO_SOCKET_IFNAME=eth7 names no network interface of node node-b", "this node has lo (127.0.0.1), veth1 (192.168.77.2)",
            limit=40)


@shared
def test_an_interface_that_does_not_reach_the_other_node(cluster):
    cluster.train("runtime.network_timeout=3", environments=({"GLOO_SOCKET_IFNAME": "lo"}, {"GLOO_SOCKET_IFNAME": "veth1"}))
    refused(cluster, "cannot meet the others", "GLOO_SOCKET_IFNAME", limit=40)


@shared
def test_other_settings_are_refused(cluster):
    cluster.train("train.steps=4", on_second=["train.lr=0.25", "train.seed=9"])
    logs = refused(cluster)
    for log in logs:
        assert "process 1 on node node-b has other settings than process 0 on node node-a: train.lr=0.25 (process 0: " in log, log
        assert "train.seed=9 (process 0: " in log, log
    assert not (cluster.folders[0] / "run/config.json").exists()


@shared
def test_other_kernel_files_are_refused(cluster):
    copy = cluster.folder / "other/kernels"
    shutil.copytree(ROOT / "kernels", copy)
    file = copy / "nn/rope.py"
    file.write_text(file.read_text().replace("# SPDX", "# Edited on one node.\n# SPDX", 1))
    cluster.train("kernels=tessera", "train.steps=4", environments=({}, {"TESSERA_KERNELS": str(copy)}))
    for log in refused(cluster):
        assert "process 1 on node node-b has other texts of kernel files than process 0 on node node-a: nn/rope.py" in log, log
    assert not (cluster.folders[0] / "run/config.json").exists()


@shared
def test_another_build_is_refused(cluster):
    other = cluster.folder / "build/bin/tessera-train"
    other.parent.mkdir(parents=True)
    (cluster.folder / "build/lib").symlink_to(BUILD / "lib")  # where the program searches its libraries
    shutil.copy(TRAIN, other)
    with open(other, "ab") as file:
        file.write(b"\0")  # after the sections: the program works, but its hash is another one
    cluster.train("train.steps=4", program=(TRAIN, other))
    for log in refused(cluster):
        assert "process 1 on node node-b runs another build than process 0 on node node-a: program " in log, log
