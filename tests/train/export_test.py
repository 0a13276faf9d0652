# tests/train/export_test.py - `tessera export` and train.init_from next to torch and to Llama's own formula.
# SPDX-License-Identifier: Apache-2.0
"""torch.load reads the dictionary; the Llama below, in Hugging Face's layout of a head, has the logits of the model with our own
names; and a run that begins with any of the files has the weights bit for bit."""
import io
import json
import subprocess
import zipfile

import pytest
import torch
import torch_losses as plain
from dense_model import TRAIN, attend

SWIGLU = ("model.mlp=swiglu", "kernels=torch")


def export(folder, run, *more):
    return subprocess.run([TRAIN, "export", "--run", str(folder / run), *map(str, more)],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def weights(folder, run, step):
    return plain.tensors(folder / run / ("ckpt/step_%08d/model.safetensors" % step))


def turned_in_halves(x, base):
    """Llama's rotary positions of [T, heads, d]: channel i turns with channel i + d / 2."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[0])[:, None, None] * base ** (-torch.arange(half) / half)
    a, b = x[..., :half], x[..., half:]
    return torch.cat((a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()), -1)


def llama(w, tokens):
    x = w["model.embed_tokens.weight"][tokens]
    for i in range(plain.LAYERS):
        at = {name.split(".", 3)[3]: value for name, value in w.items() if name.startswith("model.layers.%d." % i)}
        y = plain.norm(x, at["input_layernorm.weight"])
        q, k, v = ((y @ at["self_attn.%s_proj.weight" % part].T).reshape(len(tokens), -1, plain.SIZE) for part in "qkv")
        output = attend(turned_in_halves(q, 10000.0), turned_in_halves(k, 10000.0), v)
        x = x + output.reshape(len(tokens), -1) @ at["self_attn.o_proj.weight"].T
        y = plain.norm(x, at["post_attention_layernorm.weight"])
        x = x + (torch.nn.functional.silu(y @ at["mlp.gate_proj.weight"].T) * (y @ at["mlp.up_proj.weight"].T)) @ at["mlp.down_proj.weight"].T
    return plain.norm(x, w["model.norm.weight"]) @ w["lm_head.weight"].T


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained run `llama`, exported under both lists of names, and a run `relu` of another model."""
    made = tmp_path_factory.mktemp("export")
    (made / "text").write_bytes(plain.text(40000))
    plain.run(made, "llama", "dense", "fp32", 20, "train.lr=0.003", *SWIGLU)
    plain.run(made, "relu", "dense", "fp32", 1, "kernels=torch")
    for done in (export(made, "llama", made / "hf.safetensors", "--names", "hf"), export(made, "llama", made / "own.pt")):
        assert done.returncode == 0, done.stderr
    return made


def test_llama(folder):
    """The mean loss of held-out text equals the one that the run recorded."""
    w = plain.tensors(folder / "hf.safetensors")
    text = plain.text(40000)
    held = text[len(text) - len(text) // 20:]
    tokens = torch.tensor(list(held[:plain.LENGTH + 1]))
    loss = torch.nn.functional.cross_entropy(llama(w, tokens[:-1]), tokens[1:]).item() / 0.6931471805599453
    told = json.loads((folder / "llama/metrics.json").read_text())["val_bpb"]
    assert abs(loss - told) < 2e-5 * told, "loss %.7f, the run recorded %.7f" % (loss, told)


def begins_with(folder, name, file, *settings):
    """A run of one step without a rate ends with the weights it began with."""
    plain.run(folder, name, "dense", "fp32", 1, "train.lr=0", "train.init_from=" + str(file), "train.seed=5", *settings)
    return weights(folder, name, 1)


@pytest.mark.parametrize("file, more", (("own.pt", ()), ("own.safetensors", ()), ("hf.pt", ("--names", "hf"))), ids=("pt", "safetensors", "hf"))
def test_round_trip(folder, file, more):
    w = weights(folder, "llama", 20)
    done = export(folder, "llama", folder / file, *more)
    assert done.returncode == 0, file + ": " + done.stderr
    again = begins_with(folder, "from_" + file, folder / file, *SWIGLU)
    assert all(torch.equal(w[name], again[name]) for name in w) and len(w) == len(again), file + ": other weights"


def test_torch_reads_the_dictionary(folder):
    w, loaded = weights(folder, "llama", 20), torch.load(folder / "own.pt", weights_only=True)
    assert list(loaded) and all(torch.equal(w[name], loaded[name]) for name in w) and len(loaded) == len(w), "torch.load"


def test_dictionaries_of_torch(folder):
    w = weights(folder, "llama", 20)
    # What torch.save writes, in another type.
    torch.save({name: value.bfloat16() for name, value in w.items()}, folder / "half.pt")
    again = begins_with(folder, "from_half", folder / "half.pt", *SWIGLU)
    assert all(torch.equal(value.bfloat16().float(), again[name]) for name, value in w.items()), "half.pt"
    # A module's own dictionary, which is ordered and has a version in addition to its tensors.
    module = torch.nn.Module()
    for name, value in w.items():
        at = module
        for part in name.split(".")[:-1]:
            if part not in dict(at.named_children()):
                at.add_module(part, torch.nn.Module())
            at = dict(at.named_children())[part]
        at.register_parameter(name.split(".")[-1], torch.nn.Parameter(value))
    torch.save(module.state_dict(), folder / "module.pt")
    again = begins_with(folder, "from_module", folder / "module.pt", *SWIGLU)
    assert all(torch.equal(value, again[name]) for name, value in w.items()), "module.pt"


def archive(pickled, data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file:
        for name, content in (("data.pkl", pickled), ("version", b"3"), ("data/0", data)):
            file.writestr("archive/" + name, content)
    return out.getvalue()


def archive_of_one_tensor(elements, rows):
    tensor = (b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000"
              b"X\x03\x00\x00\x00cpuK" + bytes([elements]) + b"tQK\x00K" + bytes([rows]) + b"\x85K\x01\x85\x89}tR")
    return archive(b"\x80\x02}X\x01\x00\x00\x00a" + tensor + b"s.", bytes(4 * elements))


def archive_of_a_call():
    """Python's own reader would run it."""
    return archive(b"\x80\x02}X\x01\x00\x00\x00acos\ngetcwd\n)Rs.", b"")


def test_refused_exports(folder):
    for done, part in ((export(folder, "relu", folder / "x.safetensors", "--names", "hf"), "is not a Llama"),
                       (export(folder, "relu", folder / "x.bin"), "ends in .pt or .safetensors")):
        assert done.returncode == 1 and part in done.stderr and "HINT" in done.stderr, "%s: %s" % (part, done.stderr)


def test_refused_files(folder):
    torch.save([1, 2], folder / "list.pt")
    torch.save({"model": {"norm": torch.ones(3)}}, folder / "nested.pt")
    torch.save({"norm": torch.ones(3)}, folder / "old.pt", _use_new_zipfile_serialization=False)
    whole = (folder / "own.pt").read_bytes()
    (folder / "half_of.pt").write_bytes(whole[:len(whole) // 2])
    # A pickle whose tensor is larger than its elements.
    (folder / "large.pt").write_bytes(archive_of_one_tensor(elements=4, rows=5))
    (folder / "calls.pt").write_bytes(archive_of_a_call())
    export(folder, "relu", folder / "relu.pt")
    broken = torch.load(folder / "relu.pt", weights_only=True)
    broken["norm"][3] = float("nan")
    torch.save(broken, folder / "nan.pt")
    for file, part in (("nan.pt", "norm has elements that are infinite or not a number"), ("own.pt", "blocks.0.mlp.gated"),
                       ("hf.safetensors", "has a Llama's weights"),
                       ("list.pt", "is not a dictionary of tensors"),
                       ("nested.pt", "model is not a tensor"), ("old.pt", "is not a dictionary of tensors"), ("half_of.pt", "is not a dictionary of tensors"),
                       ("large.pt", "larger than its elements"), ("calls.pt", "a is not a tensor"), ("text", "text"), ("none.pt", "none.pt")):
        done = subprocess.run([TRAIN, "train", "attention=dense", "kernels=torch", "panel=false",
                               "data.path=" + str(folder / "text"), "out=" + str(folder / "refused"), "model.dim=%d" % plain.DIM,
                               "model.layers=%d" % plain.LAYERS, "model.heads=%d" % plain.HEADS, "model.kv_heads=%d" % plain.GROUPS,
                               "model.key_dim=%d" % plain.SIZE, "model.value_dim=%d" % plain.SIZE, "model.mlp_dim=%d" % plain.HIDDEN,
                               "train.seq_len=128", "train.steps=1", "train.init_from=" + str(folder / file)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode == 1 and part in done.stderr and "HINT" in done.stderr, "%s: %s" % (file, done.stderr)
        assert not (folder / "refused/metrics.jsonl").exists(), file + ": a run began"


@pytest.mark.parametrize("table", ("model.value_embeddings=1", "model.bigram_embeddings=97"))
def test_llama_has_no_tables(folder, table):
    """Each table alone: the names of Hugging Face have no place for it."""
    name = table.partition("=")[0]
    plain.run(folder, name, "dense", "fp32", 1, table, *SWIGLU)
    done = export(folder, name, folder / "tables.safetensors", "--names", "hf")
    assert done.returncode == 1 and name in done.stderr and not (folder / "tables.safetensors").exists()
