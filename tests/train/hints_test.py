# tests/train/hints_test.py - the hints of errors of a run and of the commands that read its folder.
# SPDX-License-Identifier: Apache-2.0
"""Each hint names a step that the user can take: with this command, in this folder, and under this limit."""
import os
import shutil
import signal
import subprocess
import time

import pytest
import torch_losses as plain

PROGRAM = os.environ["PROGRAM"]
SETTINGS = ("attention=dense", "kernels=torch", "panel=false", "threads=1", "model.dim=32", "model.layers=1", "model.heads=2", "model.kv_heads=1",
            "model.key_dim=16", "model.value_dim=16", "model.mlp_dim=64", "train.seq_len=64", "train.batch_size=2", "train.final_windows=1")


def tessera(folder, *arguments, limit="unlimited"):
    """Runs `tessera` in the folder; `limit` is that of file sizes, in KiB."""
    script = 'ulimit -f "$1"; shift; exec "$@"'
    return subprocess.run(["bash", "-c", script, "bash", str(limit), PROGRAM, *map(str, arguments)], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def settings(out, steps, *more):
    return ("train", "data.path=text", "out=" + out, "train.steps=%d" % steps, *SETTINGS, *more)


def damage(checkpoint):
    file = checkpoint / "model.safetensors"
    file.write_bytes(file.read_bytes() + b"x")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a text and a finished run with the checkpoints 2, 4, 5 and 6."""
    made = tmp_path_factory.mktemp("hints")
    (made / "text").write_bytes(plain.text(20000))
    done = tessera(made, *settings("run", 6, "train.save_every=1", "train.keep=2", "train.milestone_every=2"))
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def folder(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "a")
    return tmp_path / "a"


def test_milestones(folder):
    """The two newest checkpoints stay, and each multiple of train.milestone_every."""
    names = sorted(path.name for path in (folder / "run/ckpt").iterdir())
    assert names == ["step_%08d" % step for step in (2, 4, 5, 6)]


def test_a_finished_run_ends_with_status_0(folder):
    """Also under another spelling of its folder's name."""
    for out in ("run", "./run", str(folder / "run")):
        done = tessera(folder, *settings(out, 6, "train.save_every=1", "train.keep=2", "train.milestone_every=2"))
        assert done.returncode == 0, done.stderr
        for part in ("is finished", "a larger train.steps continues it", "resume=never trains it again"):
            assert part in done.stderr, done.stderr
    assert not (folder / "run/previous-1").exists()
    # The weights of its last steps are lost, and a warning names the checkpoint that is damaged.
    damage(folder / "run/ckpt/step_00000006")
    done = tessera(folder, *settings("run", 6, "train.save_every=1", "train.keep=2", "train.milestone_every=2"))
    assert done.returncode == 0, done.stderr
    assert "WARNING: the results are those of step 6, whose checkpoint is damaged; the newest intact one is of step 5" in done.stderr, done.stderr


READERS = (("export", "weights.pt"), ("generate", "--tokens", "1"), ("evaluate", "--needle", "--trials", "1", "--depths", "1"))


@pytest.mark.parametrize("arguments", READERS, ids=("export", "generate", "evaluate"))
def test_all_checkpoints_damaged(folder, arguments):
    for checkpoint in (folder / "run/ckpt").iterdir():
        damage(checkpoint)
    done = tessera(folder, arguments[0], "--run", "run", *arguments[1:])
    assert done.returncode == 1, done.stdout
    hint = done.stderr.split("HINT: ")[1]
    assert "bring one of them back from a copy" in hint and "tessera train" in hint, done.stderr
    assert "out=FOLDER" not in hint and not hint.startswith("resume=never"), done.stderr


@pytest.mark.parametrize("arguments", (READERS[0], READERS[2]), ids=("export", "evaluate"))
def test_the_result_of_an_older_checkpoint_is_marked(folder, arguments):
    damage(folder / "run/ckpt/step_00000006")
    done = tessera(folder, arguments[0], "--run", "run", *arguments[1:])
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    assert last == "NOTE: the weights are those of step 5: run/ckpt/step_00000006 is damaged", done.stdout


def test_a_folder_without_checkpoints(folder):
    none = tessera(folder, "export", "--run", "nowhere", "weights.pt")
    assert "no checkpoint in nowhere: the folder does not exist" in none.stderr and "--run" in none.stderr.split("HINT: ")[1], none.stderr
    (folder / "empty").mkdir()
    empty = tessera(folder, "export", "--run", "empty", "weights.pt")
    assert "no checkpoint in empty" in empty.stderr and "train.save_every" in empty.stderr.split("HINT: ")[1], empty.stderr


@pytest.mark.parametrize("what, message, hint", (
    (("run/metrics.jsonl",), "run/metrics.jsonl is a file of a training run", "tessera report run"),
    (("run/ckpt/step_00000006",), "run/ckpt/step_00000006 is not a run folder", "tessera report run"),
    (("run", "nowhere"), "nowhere does not exist", "name the folders of runs"),
    (("text",), "text is not PTX", "a folder of a training run")), ids=("file", "checkpoint", "absent", "text"))
def test_report(folder, what, message, hint):
    done = tessera(folder, "report", *what)
    assert done.returncode == 1
    assert message in done.stderr and hint in done.stderr.split("HINT: ")[1], done.stderr


@pytest.mark.parametrize("arguments", (settings("other", 2), ("export", "--run", "run", "weights.pt"), ("report", "run"),
                                       ("data", "prepare", "text", "--out", "shards")), ids=("train", "export", "report", "data"))
def test_limit_of_file_sizes(folder, arguments):
    done = tessera(folder, *arguments, limit=8)
    assert done.returncode == 1, "%s\n%s" % (done.returncode, done.stderr)
    assert "File too large" in done.stderr, done.stderr
    hint = done.stderr.split("HINT: ")[1]
    assert "8 KiB" in hint and "ulimit -f" in hint, done.stderr


@pytest.mark.parametrize("arguments", (("train", "--colour"), ("generate", "--tokens")), ids=" ".join)
def test_wrong_options_end_with_2(folder, arguments):
    done = tessera(folder, *arguments)
    assert done.returncode == 2 and done.stderr, (done.returncode, done.stdout)


def test_prepare_names_a_missing_file(folder):
    done = tessera(folder, "data", "prepare", "missing", "--out", "shards")
    assert done.returncode == 1
    assert "missing does not exist" in done.stderr and "data.path" not in done.stderr, done.stderr


def test_another_model_than_the_checkpoint(folder):
    """The file is not damaged: the hint must not be to remove it."""
    done = tessera(folder, "generate", "--run", "run", "--prompt", "a", "model.dim=16")
    assert done.returncode == 1
    assert "does not fit the model: embedding is F32 [256, 32], the model's is F32 [256, 16]" in done.stderr
    assert "HINT: use the model's settings of the run" in done.stderr


def test_errors_of_torch_have_no_stack(folder):
    own = "attention.kernel=none.py", "attention.fwd=f", "attention.bwd=g"
    done = tessera(folder, *(one for one in settings("own", 2, *own) if one not in ("attention=dense", "kernels=torch")))
    assert done.returncode == 1 and "error: no kernel file none.py" in done.stderr
    assert "Exception raised from" not in done.stderr and "frame #" not in done.stderr


def test_preflight(folder):
    done = tessera(folder, "preflight", "--steps", "4", *settings("other", 1000)[1:])
    assert done.returncode in (0, 1), done.stderr
    assert "the steps of tessera preflight are made" in done.stderr, done.stderr
    # The folder of these steps is removed.
    assert "the same command" not in done.stderr, done.stderr


def start(folder, *more):
    """A run of many steps, of which it has made one, and its log."""
    log = folder / "log"
    with log.open("wb") as file:
        run = subprocess.Popen([PROGRAM, *settings("long", 10 ** 6, "train.save_every=0", "train.log_every=1000000", *more)], cwd=folder, stderr=file)
    wait(run, log, "step 1/")
    return run, log


def wait(run, log, part):
    while part not in log.read_text():
        assert run.poll() is None, log.read_text()
        time.sleep(0.02)


def test_a_stopped_run_prints_how_it_continues(folder):
    run, log = start(folder, "resume=never")
    run.send_signal(signal.SIGTERM)
    assert run.wait() == 143
    assert "the same command without resume=never continues there" in log.read_text(), log.read_text()


def test_stacks_have_symbols(folder):
    """Functions of the program have their names, although it exports none."""
    run, log = start(folder)
    run.send_signal(signal.SIGUSR1)
    wait(run, log, "__libc_start_main")
    run.send_signal(signal.SIGTERM)
    assert run.wait() == 143
    stack = log.read_text().split("SIGUSR1: ")[1]
    for name in ("tessera::trainer::train", "main"):
        assert "tessera-train(%s)[0x" % name in stack, stack


def test_doctor_of_the_package(tmp_path):
    """The program of a wheel is in the package's folder bin: it has neither a checkout nor a build."""
    package = tmp_path / "tessera"
    (package / "bin").mkdir(parents=True)
    shutil.copy(PROGRAM, package / "bin/tessera")
    (package / "_programs.py").write_text("")
    train = package / "bin/tessera-train"
    train.write_text("#!/bin/sh\necho libtorch_cpu.so is not there >&2\nexit 127\n")
    train.chmod(0o755)
    done = subprocess.run([package / "bin/tessera", "doctor"], cwd=tmp_path, capture_output=True, text=True, check=False,
                          env={**os.environ, "TESSERA_DEPS": str(tmp_path / "none")})
    assert done.returncode == 1, done.stdout
    for part in ("pip install --force-reinstall --no-deps tessera-kernels", "libtorch_cpu.so is not there; pip install 'torch=="):
        assert part in done.stdout, done.stdout
    for part in ("scripts/setup", "build the target", "cmake", "tessera-torch"):
        assert part not in done.stdout, done.stdout
