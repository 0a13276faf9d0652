# tests/python/namespaces_test.py - the ops of the namespaces tessera and tessera_internal are those that docs/torch-ops.md names.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re

import torch

torch.ops.load_library(os.environ["LIBTESSERA_TORCH"])
PUBLIC, INTERNAL = (pathlib.Path(__file__).parents[2] / "docs/torch-ops.md").read_text().split("## Internal ops")


def ops_of(namespace):
    """Op -> its schema."""
    return {schema.name.split("::")[1]: schema for schema in torch._C._jit_get_all_schemas()
            if schema.name.split("::")[0] == namespace}


def test_public_ops_are_documented():
    """The page has a row or a paragraph that starts with the op's signature. Autograd calls OP_forward and OP_backward."""
    signatures = dict(re.findall(r"^(?:\| )?`([a-z]\w*)\((.*?)\)[`,]", PUBLIC, re.M))
    ops = ops_of("tessera")
    parts = {name for name in ops if re.sub("_(forward|backward)$", "", name) in ops.keys() - {name}}
    assert parts
    assert ops.keys() - parts == signatures.keys()
    for name, text in signatures.items():
        if text != "...":
            arguments = [part.split("=")[0].strip() for part in text.split(",")] if text else []
            assert arguments == [argument.name for argument in ops[name].arguments], name


def test_internal_ops_are_listed():
    table = "".join(line.split("|")[1] for line in INTERNAL.splitlines() if line.startswith("| `"))
    assert ops_of("tessera_internal").keys() == set(re.findall(r"`(\w+)", table))


def test_a_message_names_the_namespace():
    for call, message in ((lambda: torch.ops.tessera_internal.end_listing(False), "tessera_internal::end_listing: no launches"),
                          (lambda: torch.ops.tessera_internal.jit_launch(-1, [], [], 1, 1, 1), "tessera_internal::jit_launch: no kernel -1"),
                          (lambda: torch.ops.tessera.rms_norm(torch.zeros(4), torch.zeros(3)), "tessera::rms_norm: ")):
        try:
            call()
        except ValueError as error:
            assert str(error).startswith(message), error
        else:
            raise AssertionError(message)
