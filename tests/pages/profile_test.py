# tests/pages/profile_test.py - the folder of `tessera profile`: its page against its trace, each launch against the page it leads to, errors, and
# leftover files.
# SPDX-License-Identifier: Apache-2.0
import collections
import json
import os
import signal
import subprocess
import time

from page_data import ROOT, read_page, run

TINY = ["profile", "--config", "configs/sim_smoke.yaml", "train.steps=100"]
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::addbmm", "aten::mv", "aten::addmv", "aten::dot",
            "tessera_internal::product"}


def near(a, b, bound=1e-6):
    return abs(a - b) <= bound + 1e-9 * abs(b)


def covered(spans):
    """Milliseconds that at least one of the spans covers: between neighbouring ends, all or nothing."""
    ends = sorted([(event["ts"], 1) for event in spans] + [(event["ts"] + event["dur"], -1) for event in spans])
    sum_, open_, before = 0.0, 0, 0.0
    for at, change in ends:
        sum_ += (at - before) if open_ else 0.0
        open_, before = open_ + change, at
    return sum_ / 1e3


def complete(folder):
    """Events of the trace with a length, and those of steps."""
    with open(os.path.join(folder, "trace.json"), encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    return events, [event for event in events if event["cat"] == "step"]


def within(event, step):
    return event["ts"] >= step["ts"] - 2e-3 and event["ts"] + event["dur"] <= step["ts"] + step["dur"] + 2e-3


def check_steps(data, events, steps, numbers):
    assert [step["name"] for step in steps] == [f"step {number}" for number in numbers]
    assert [row["name"] for row in data["steps"]] == [step["name"] for step in steps]
    for row, step in zip(data["steps"], steps):
        phases = collections.Counter()
        for event in events:
            if event["cat"] == "phase" and within(event, step):
                phases[event["name"]] += event["dur"] / 1e3
        assert set(phases) == set(row["phases"]) >= {"data", "forward", "backward", "update", "other", "log"}, row
        assert all(near(row["phases"][name], ms) for name, ms in phases.items()), (row, phases)
        assert near(row["ms"], step["dur"] / 1e3)
        # Each phase is cut to a nanosecond.
        assert near(sum(row["phases"].values()), row["ms"], 1e-4), row
    assert near(data["total_ms"], sum(row["ms"] for row in data["steps"]))
    for row in data["phases"]:
        assert near(row["ms"], sum(step["phases"].get(row["name"], 0) for step in data["steps"])), row
        inside = [event for event in events if event["cat"] == "kernel" and any(
            within(event, phase) for phase in events if phase["cat"] == "phase" and phase["name"] == row["name"])]
        assert near(row["kernels_ms"], covered(inside), 1e-4), row
    assert next(row for row in data["phases"] if row["name"] == "backward")["kernels_ms"] > 0


def check_shares(data, events, steps):
    inside = [event for event in events if any(within(event, step) for step in steps)]
    launches = [event for event in inside if event["cat"] == "kernel"]
    products = [event for event in inside if event["name"] in PRODUCTS]
    assert launches and products
    assert near(data["kernels_ms"], covered(launches), 1e-4)
    assert near(data["gemms_ms"], covered(launches + products) - covered(launches), 1e-4)
    assert near(data["kernels_ms"] + data["gemms_ms"] + data["outside_ms"], data["total_ms"])
    # Own times: without what an operation calls on its thread.
    own = {row["name"]: row for row in data["operations"]}
    for name in ("aten::mm", "aten::linear", "aten::matmul"):
        mine = [event for event in inside if event["name"] == name]
        called = [event for event in inside if event["cat"] not in ("step", "phase") and event["name"] != name
                  and any(event["tid"] == outer["tid"] and within(event, outer) for outer in mine)]
        assert name not in own or near(own[name]["ms"], covered(mine) - covered(called), 1e-3), name
    assert own["aten::mm"]["calls"] == sum(event["name"] == "aten::mm" for event in inside)
    assert [row["ms"] for row in data["operations"]] == sorted((row["ms"] for row in data["operations"]), reverse=True)


def check_kernels(folder, data, events, steps, target):
    """Each launch leads to a page of its kernel, for the target, with the constexprs that tiles do not change."""
    rows = {row["listed"]: row for row in data["kernels"]}
    launches = [event for event in events if event["cat"] == "kernel" and any(within(event, step) for step in steps)]
    assert len({event["name"] for event in launches}) > 15
    pages = {}
    for event in launches:
        args = event["args"]
        path = args["page"]
        if path not in pages:
            pages[path] = read_page(os.path.join(folder, path))["sides"][0]
        side = pages[path]
        assert event["name"] == "kernel " + side["kernel"], (event, side["kernel"])
        assert args["page_target"] == side["target"] == target
        assert args["target"].startswith("cpu:") and args["num_warps"] >= 1 and args["num_stages"] >= 1
        shown = dict(side["configuration"])
        for name in {"D", "DP", "R", "INVERSE", "EP"} & set(args["constexprs"]):
            assert shown[name] == str(args["constexprs"][name]), (event, shown)
        row = rows[args["listed"]]
        assert row["page"] == path and row["name"] == side["kernel"] and row["file"].startswith("kernels/"), row
        for name, value in args["constexprs"].items():
            assert f"{name}={value}" in row["configuration"].split(" "), (row, name)
        assert f"num_warps={shown['num_warps']}" in row["shown"].split(" ") and not row["why"]
    # Two rotations: forward and its inverse are two specializations with a page each.
    assert {"kernels/rope.html", "kernels/rope-2.html"} <= set(pages)
    assert pages["kernels/rope.html"]["configuration"] != pages["kernels/rope-2.html"]["configuration"]
    assert set(os.listdir(os.path.join(folder, "kernels"))) == {os.path.basename(path) for path in pages}
    for listed, row in rows.items():
        mine = [event for event in launches if event["args"]["listed"] == listed]
        assert row["launches"] == len(mine) and near(row["ms"], sum(event["dur"] for event in mine) / 1e3), row
    assert sum(row["launches"] for row in data["kernels"]) == len(launches)


def test_profile(program, folder):
    out = os.path.join(folder, "out")
    done = run(program, [*TINY, "-o", out])
    assert sorted(os.listdir(out)) == ["index.html", "kernels", "trace.json"]
    assert "step 3 to step 5" in done.stdout and done.stdout.count("\n") == 10, done.stdout
    data = read_page(os.path.join(out, "index.html"))
    events, steps = complete(out)
    check_steps(data, events, steps, [3, 4, 5])
    check_shares(data, events, steps)
    check_kernels(out, data, events, steps, "sm_80")
    assert data["run"]["device"].startswith("cpu:") and data["run"]["pages"] == "sm_80" and not data["run"]["host"]
    # A second one is not written over the first.
    before = os.stat(os.path.join(out, "index.html")).st_mtime_ns
    done = run(program, [*TINY, "-o", out], check=False)
    assert done.returncode == 1 and "is there already" in done.stderr and "HINT: " in done.stderr, done.stderr
    assert os.stat(os.path.join(out, "index.html")).st_mtime_ns == before
    assert os.listdir(folder) == ["out"]


def test_gpu(program, folder):
    """On a simulated GPU the pages are for that GPU, of the very code that ran."""
    out = os.path.join(folder, "gpu")
    environment = {**os.environ, "TESSERA_DEVICE": "sim:sm_90"}
    done = subprocess.run([program, *TINY, "--steps", "1", "--warm-up", "0", "-o", out], capture_output=True, text=True, cwd=ROOT,
                          env=environment)
    assert done.returncode == 0, done.stderr
    data = read_page(os.path.join(out, "index.html"))
    assert data["run"]["device"] == data["run"]["pages"] == "sm_90" and data["run"]["host"]
    for row in data["kernels"]:
        assert row["page"] and sorted(row["configuration"].split(" ")) == sorted(row["shown"].split(" ")), row
    assert os.listdir(folder) == ["gpu"]


def test_no_page(program, folder):
    """A tile that no GPU has room for: its launches are listed with the reason for the missing page."""
    out = os.path.join(folder, "wide")
    done = run(program, ["profile", "--config", "configs/dilated_window.yaml", "attention.constexprs=W=32, STEP=4, BM=512",
                         "train.seq_len=64", "--steps", "1", "--warm-up", "0", "--target", "sm_86", "-o", out])
    rows = {row["name"]: row for row in read_page(os.path.join(out, "index.html"))["kernels"]}
    wide = rows["dilated_window_bwd_dkdv"]
    assert wide["launches"] == 2 and wide["page"] == "" and "shared memory" in wide["why"], wide
    assert not os.path.exists(os.path.join(out, "kernels", "dilated_window_bwd_dkdv.html"))
    for name in ("rmsnorm_fwd", "attn_delta"):
        assert rows[name]["page"] == f"kernels/{name}.html" and rows[name]["why"] == ""
        assert read_page(os.path.join(out, "kernels", name + ".html"))["sides"][0]["target"] == "sm_86"
    assert "no page" in done.stderr, done.stderr
    events, _ = complete(out)
    launches = [event for event in events if event["name"] == "kernel dilated_window_bwd_dkdv"]
    assert launches and all("page" not in event["args"] and event["args"]["num_warps"] for event in launches)
    assert os.listdir(folder) == ["wide"]


def test_torch_alone(program, folder):
    out = os.path.join(folder, "torch")
    run(program, [*TINY, "kernels=torch", "--steps", "2", "--warm-up", "0", "-o", out])
    data = read_page(os.path.join(out, "index.html"))
    assert data["kernels"] == [] and data["kernels_ms"] == 0 and data["gemms_ms"] > 0 and len(data["steps"]) == 2
    assert os.listdir(os.path.join(out, "kernels")) == []
    assert os.listdir(folder) == ["torch"]


def test_mistakes(program, folder):
    out = os.path.join(folder, "none")
    for arguments, words in ((["--config", "configs/none.yaml"], ["configs/none.yaml"]),
                             (["--config", "configs/sim_smoke.yaml"], ["ends after 3 steps", "train.steps=5"]),
                             ([*TINY[1:], "--target", "sm_7"], ["sm_7", "sm_80"]),
                             ([*TINY[1:], "train.lrr=1"], ["train.lrr", "train.lr"]),
                             ([*TINY[1:], "data.path=/nowhere"], ["/nowhere", "name a text file"])):
        done = run(program, ["profile", *arguments, "-o", out], check=False)
        assert done.returncode == 1 and "HINT: " in done.stderr, (arguments, done.stderr)
        assert all(word in done.stderr for word in words), (arguments, done.stderr)
    done = run(program, [*TINY, "-o", os.path.join(ROOT, "README.md", "x")], check=False)
    assert done.returncode == 1 and "HINT: " in done.stderr and "README.md" in done.stderr, done.stderr
    assert os.listdir(folder) == []


def test_interrupt(program, folder):
    """Ctrl-C while the run is made: neither the folder nor the run stays, nor a process of it."""
    out, scratch = os.path.join(folder, "cut"), os.path.join(folder, "scratch")
    os.mkdir(scratch)
    child = subprocess.Popen([program, *TINY, "train.steps=1000000", "--warm-up", "90000", "-o", out], stderr=subprocess.PIPE,
                             text=True, cwd=ROOT, env={**os.environ, "TMPDIR": scratch})
    metrics = None
    while metrics is None and child.poll() is None:  # until the run has made a step
        metrics = next((os.path.join(at, "metrics.jsonl") for at, _, files in os.walk(scratch) if "metrics.jsonl" in files), None)
        time.sleep(0.05)
    assert metrics, child.stderr.read()
    assert any(name.startswith("cut.tmp-") for name in os.listdir(folder))
    child.send_signal(signal.SIGINT)
    errors = child.communicate(timeout=60)[1]
    assert child.returncode == 1 and "interrupted" in errors, (child.returncode, errors)
    assert os.listdir(scratch) == [] and os.listdir(folder) == ["scratch"]
