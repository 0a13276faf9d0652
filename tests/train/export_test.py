# tests/train/export_test.py - `tessera export` and train.init_from next to torch and to Llama's own formula.
# SPDX-License-Identifier: Apache-2.0
"""torch.load reads the dictionary; the Llama below, in Hugging Face's layout of a head, has the logits of the model with our own
names; and a run that begins with any of the files has the weights bit for bit."""
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import torch

import torch_losses as plain
import hellaswag_test as ours

SWIGLU = ("model.mlp=swiglu", "kernels=torch")
failures = []


def expect(what, good):
    if not good:
        failures.append(what)


def export(folder, run, *more):
    return subprocess.run([os.environ["TESSERA_TRAIN"], "export", "--run", str(folder / run), *map(str, more)],
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
        output = ours.attend(turned_in_halves(q, 10000.0), turned_in_halves(k, 10000.0), v)
        x = x + output.reshape(len(tokens), -1) @ at["self_attn.o_proj.weight"].T
        y = plain.norm(x, at["post_attention_layernorm.weight"])
        x = x + (torch.nn.functional.silu(y @ at["mlp.gate_proj.weight"].T) * (y @ at["mlp.up_proj.weight"].T)) @ at["mlp.down_proj.weight"].T
    return plain.norm(x, w["model.norm.weight"]) @ w["lm_head.weight"].T


def check_llama(folder):
    """The mean loss of held-out text is what the run says of it."""
    plain.run(folder, "llama", "dense", "fp32", 20, "train.lr=0.003", *SWIGLU)
    done = export(folder, "llama", folder / "hf.safetensors", "--names", "hf")
    expect(done.stderr, done.returncode == 0)
    w = plain.tensors(folder / "hf.safetensors")
    text = plain.text(40000)
    held = text[len(text) - len(text) // 20:]
    tokens = torch.tensor(list(held[:plain.LENGTH + 1]))
    loss = torch.nn.functional.cross_entropy(llama(w, tokens[:-1]), tokens[1:]).item() / 0.6931471805599453
    told = json.loads((folder / "llama/metrics.json").read_text())["val_bpb"]
    expect("loss %.7f, the run says %.7f" % (loss, told), abs(loss - told) < 2e-5 * told)


def begins_with(folder, name, file, *settings):
    """A run of one step without a rate ends with the weights it began with."""
    plain.run(folder, name, "dense", "fp32", 1, "train.lr=0", "train.init_from=" + str(file), "train.seed=5", *settings)
    return weights(folder, name, 1)


def check_round_trips(folder):
    w = weights(folder, "llama", 20)
    for file, more in (("own.pt", ()), ("own.safetensors", ()), ("hf.pt", ("--names", "hf"))):
        done = export(folder, "llama", folder / file, *more)
        expect(file + ": " + done.stderr, done.returncode == 0)
        again = begins_with(folder, "from_" + file, folder / file, *SWIGLU)
        expect(file + ": other weights", all(torch.equal(w[name], again[name]) for name in w) and len(w) == len(again))
    loaded = torch.load(folder / "own.pt", weights_only=True)
    expect("torch.load", list(loaded) and all(torch.equal(w[name], loaded[name]) for name in w) and len(loaded) == len(w))
    # What torch.save writes, in another type.
    torch.save({name: value.bfloat16() for name, value in w.items()}, folder / "half.pt")
    again = begins_with(folder, "from_half", folder / "half.pt", *SWIGLU)
    expect("half.pt", all(torch.equal(value.bfloat16().float(), again[name]) for name, value in w.items()))
    # A module's own dictionary, which is ordered and has a version beside its tensors.
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
    expect("module.pt", all(torch.equal(value, again[name]) for name, value in w.items()))


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


def check_refusals(folder):
    plain.run(folder, "relu", "dense", "fp32", 1, "kernels=torch")
    for done, part in ((export(folder, "relu", folder / "x.safetensors", "--names", "hf"), "is no Llama"),
                       (export(folder, "relu", folder / "x.bin"), "ends in .pt or .safetensors")):
        expect("%s: %s" % (part, done.stderr), done.returncode == 1 and part in done.stderr and "HINT" in done.stderr)
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
                       ("list.pt", "is no dictionary of tensors"),
                       ("nested.pt", "model is not a tensor"), ("old.pt", "is no dictionary of tensors"), ("half_of.pt", "is no dictionary of tensors"),
                       ("large.pt", "larger than its elements"), ("calls.pt", "a is not a tensor"), ("text", "text"), ("none.pt", "none.pt")):
        done = subprocess.run([os.environ["TESSERA_TRAIN"], "train", "attention=dense", "kernels=torch", "panel=false",
                               "data.path=" + str(folder / "text"), "out=" + str(folder / "refused"), "model.dim=%d" % plain.DIM,
                               "model.layers=%d" % plain.LAYERS, "model.heads=%d" % plain.HEADS, "model.kv_heads=%d" % plain.GROUPS,
                               "model.key_dim=%d" % plain.SIZE, "model.value_dim=%d" % plain.SIZE, "model.mlp_dim=%d" % plain.HIDDEN,
                               "train.seq_len=128", "train.steps=1", "train.init_from=" + str(folder / file)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        expect("%s: %s" % (file, done.stderr), done.returncode == 1 and part in done.stderr and "HINT" in done.stderr)
        expect(file + ": a run began", not (folder / "refused/metrics.jsonl").exists())


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text").write_bytes(plain.text(40000))
        check_llama(folder)
        check_round_trips(folder)
        check_refusals(folder)
    for failure in failures[:20]:
        print(failure)
    print("%d failures" % len(failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
