# tests/cluster/sbatch_test.py - examples/cluster/train.sbatch with programs that start tasks as srun does, on this machine.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess

import pytest
from repository import BUILD, ROOT

FILE = ROOT / "examples/cluster/train.sbatch"
SRUN = """#!/bin/bash
echo "$MASTER_ADDR $MASTER_PORT" >"$TESTED/address"
while [[ $1 == --* ]]; do echo "$1" >>"$TESTED/options"; shift; done
for ((rank = 0; rank < SLURM_NTASKS; ++rank)); do
  SLURM_PROCID=$rank SLURM_LOCALID=$((rank % 2)) "$@" >"$TESTED/task$rank" 2>&1 & tasks+=($!)
done
for task in "${tasks[@]}"; do wait "$task" || status=$?; done
exit ${status:-0}
"""
SCONTROL = '#!/bin/bash\n[[ "$*" == "show hostnames 127.0.0.[1-2]" ]] && printf "127.0.0.1\\n127.0.0.2\\n"\n'


@pytest.fixture
def job(tmp_path):
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": "%s:%s" % (tmp_path, os.environ["PATH"]), "TESTED": str(tmp_path), "SLURM_JOB_ID": "4242",
                   "SLURM_JOB_NODELIST": "127.0.0.[1-2]", "SLURM_NTASKS": "2", "SLURM_NNODES": "2"}
    environment.pop("TESSERA", None)

    def start(*arguments, **more):
        return subprocess.run(["bash", FILE, *arguments], cwd=tmp_path, env={**environment, **more}, capture_output=True, text=True)
    return start


def test_syntax_and_directives():
    subprocess.run(["bash", "-n", FILE], check=True)
    lines = FILE.read_text().splitlines()
    given = dict(re.fullmatch(r"#SBATCH --([a-z-]+)=(\S+)", line).groups() for line in lines if line.startswith("#SBATCH"))
    # sbatch ignores directives after the first command.
    first = next(number for number, line in enumerate(lines) if line and not line.startswith("#"))
    assert not [line for line in lines[first:] if line.startswith("#SBATCH")]
    assert given["ntasks-per-node"] == given["gpus-per-node"]
    assert given["signal"] == "TERM@300"


def test_the_tasks_train_as_one_run(job, tmp_path):
    (tmp_path / "text").write_text("the tile is laid upon stone. " * 2000)
    done = job("kernels=torch", "panel=false", "threads=1", "model.dim=16", "model.n_layers=1", "model.n_heads=2", "model.n_kv_groups=1",
               "model.d_k=16", "model.d_v=16", "model.mlp_dim=32", "attention=dense", "train.seq_len=32", "train.batch_size=2",
               "train.steps=3", "train.warmup=1", "train.final_windows=2", "data.path=text", "out=run", TESSERA=str(BUILD / "bin/tessera"))
    assert done.returncode == 0, done.stderr + (tmp_path / "task0").read_text() + (tmp_path / "task1").read_text()
    assert (tmp_path / "address").read_text() == "127.0.0.1 24242\n"
    assert (tmp_path / "options").read_text().split() == ["--kill-on-bad-exit=1", "--label"]
    assert "step 3/3" in (tmp_path / "task0").read_text() and "step" not in (tmp_path / "task1").read_text()
    assert '"processes": 2' in (tmp_path / "run/env.json").read_text()
    assert (tmp_path / "run/ckpt/step_00000003/DONE").exists()


def test_the_program_of_path_is_the_default(job, tmp_path):
    (tmp_path / "tessera").write_text('#!/bin/bash\necho "$@"\nexit 7\n')
    (tmp_path / "tessera").chmod(0o755)
    assert job("--config", "a b.yaml").returncode == 7
    assert (tmp_path / "task1").read_text() == "train --config a b.yaml\n"


def test_a_job_without_nodes_ends(job, tmp_path):
    assert job(SLURM_JOB_NODELIST="other").returncode != 0
    assert not (tmp_path / "options").exists()
