# tests/cluster/trainjob_test.py - examples/cluster/trainjob.yaml follows the schema of Kubeflow Trainer 2.3's custom resource.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import copy
import json
import pathlib
import re

import pytest
import yaml
from repository import ROOT

STORED = json.loads((pathlib.Path(__file__).parent / "trainjob_schema.json").read_text())
SCHEMA = copy.deepcopy(STORED["top"])
SCHEMA["properties"]["spec"] = {**STORED["spec"], "properties": STORED["properties"]}
# The resource leaves these to Kubernetes; a misspelled key of them would not be found.
SCHEMA["properties"]["metadata"] = {"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "maxLength": 63}, "namespace": {"type": "string"},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}}}}
KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
KNOWN = {"type", "format", "default", "anyOf", "pattern", "required", "properties", "additionalProperties", "items", "maxItems", "minItems",
         "minLength", "maxLength", "minimum", "maximum", "enum", "x-kubernetes-int-or-string"}


def faults(value, schema, place="TrainJob"):
    """What of `value` the schema refuses. The API server rejects unknown keys (kubectl --validate=strict) as this function does."""
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if schema.get("x-kubernetes-int-or-string"):
        if isinstance(value, bool) or not isinstance(value, (int, str)) or not re.search(schema.get("pattern", ""), str(value)):
            yield "%s: %r is not a quantity" % (place, value)
        return
    kind = KINDS[schema["type"]]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        yield "%s: %r is not of type %s" % (place, value, schema["type"])
        return
    if "enum" in schema and value not in schema["enum"]:
        yield "%s: %r is not one of %s" % (place, value, schema["enum"])
    if isinstance(value, str):
        if not re.search(schema.get("pattern", ""), value) or not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", 1 << 30):
            yield "%s: %r has another form" % (place, value)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1 << 30):
            yield "%s: %d items" % (place, len(value))
        for number, item in enumerate(value):
            yield from faults(item, schema["items"], "%s[%d]" % (place, number))
    elif isinstance(value, dict):
        yield from ("%s: %s is missing" % (place, name) for name in schema.get("required", []) if name not in value)
        for name, item in value.items():
            below = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if below is None:
                yield "%s: unknown key %s" % (place, name)
            else:
                yield from faults(item, below, "%s.%s" % (place, name))
    elif not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield "%s: %r is out of range" % (place, value)


@pytest.fixture
def job():
    return yaml.safe_load((ROOT / "examples/cluster/trainjob.yaml").read_text())


def test_follows_the_schema(job):
    assert (job["apiVersion"], job["kind"]) == ("trainer.kubeflow.org/v1alpha1", "TrainJob")
    assert list(faults(job, SCHEMA)) == []


@pytest.mark.parametrize("change, fault", [
    (lambda spec: spec.pop("runtimeRef"), "TrainJob.spec: runtimeRef is missing"),
    (lambda spec: spec["trainer"].update(numProcPerNode="auto"), "numProcPerNode: 'auto' is not of type integer"),
    (lambda spec: spec["trainer"].update(numNode=2), "TrainJob.spec.trainer: unknown key numNode"),
    (lambda spec: spec["trainer"]["resourcesPerNode"]["requests"].update(memory="256 GB"), "'256 GB' is not a quantity"),
    (lambda spec: spec["trainer"]["env"].append({"value": "1"}), "TrainJob.spec.trainer.env[1]: name is missing"),
    (lambda spec: spec.update(podTemplateOverrides=[]), "TrainJob.spec: unknown key podTemplateOverrides"),
    (lambda spec: spec["runtimePatches"][0].pop("manager"), "TrainJob.spec.runtimePatches[0]: manager is missing")])
def test_the_schema_refuses(job, change, fault):
    change(job["spec"])
    assert [text for text in faults(job, SCHEMA) if fault in text]


def test_what_the_controller_checks_too(job):
    """Rules of pkg/runtime/framework/plugins: reserved variables, and patches of containers that the runtime has."""
    trainer = job["spec"]["trainer"]
    assert not [variable for variable in trainer["env"] if variable["name"].startswith("PET_")]
    [patched] = job["spec"]["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    pod = patched["template"]["spec"]["template"]["spec"]
    assert patched["name"] == "node" and [container["name"] for container in pod["containers"]] == ["node"]
    assert "env" not in pod["containers"][0]
    mounts = {mount["name"]: mount["mountPath"] for mount in pod["containers"][0]["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in pod["volumes"]}
    assert trainer["numProcPerNode"] == int(trainer["resourcesPerNode"]["limits"]["nvidia.com/gpu"])


def test_the_command_is_accepted(job, tmp_path):
    """`tessera train --dry-run` with the arguments of the manifest and the number of its processes."""
    from run_tessera import tessera  # noqa: PLC0415
    trainer = job["spec"]["trainer"]
    assert trainer["command"][:3] == ["torchrun", "--no-python", "tessera"]
    (tmp_path / "text").write_text("text " * 20000)
    given = [argument.replace("/shared/data", str(tmp_path / "text")) for argument in trainer["args"]]
    done = tessera(trainer["command"][3], *given, "--nproc", trainer["numNodes"] * trainer["numProcPerNode"], "--dry-run", cwd=ROOT)
    assert done.returncode == 0 and "out                           /shared/runs/m7c_125m" in done.stdout, done.stdout
