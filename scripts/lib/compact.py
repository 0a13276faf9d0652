# scripts/lib/compact.py - the form of the JSON files of bench/results: one record on each line.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A value is written on one line if it is short and contains no list of records; otherwise each of its members starts a line."""
import json

LONGEST = 2000  # characters of a value that is written on one line


def has_records(value):
    """True if the value contains a list of more than one object."""
    if isinstance(value, dict):
        return any(map(has_records, value.values()))
    if isinstance(value, list):
        return len(value) > 1 and all(isinstance(item, dict) for item in value) or any(map(has_records, value))
    return False


def lines(value, depth, expand=False):
    """The text of a value whose members are indented by `depth`."""
    short = json.dumps(value)
    if not isinstance(value, (dict, list)) or not value or not (expand or len(short) > LONGEST or has_records(value)):
        return short
    if isinstance(value, list) and not any(isinstance(item, (dict, list)) for item in value):
        return short  # numbers or words
    inner, outer = "\n" + " " * depth, "\n" + " " * (depth - 1)
    if isinstance(value, list):
        return "[" + inner + ("," + inner).join(lines(item, depth + 1) for item in value) + outer + "]"
    members = [json.dumps(key) + ": " + lines(item, depth + 1) for key, item in value.items()]
    return "{" + inner + ("," + inner).join(members) + outer + "}"


def without(value, path):
    """Removes the field that `path` names, a list of keys, from the value and from each item of a list on the way."""
    if isinstance(value, list):
        for item in value:
            without(item, path)
    elif isinstance(value, dict) and path[0] in value:
        if len(path) == 1:
            del value[path[0]]
        else:
            without(value[path[0]], path[1:])


def dumps(value, omit=()):
    """The text of a result; `omit` names fields that it does not have, such as "rows.ours.stack"."""
    for path in omit:
        without(value, path.split("."))
    return lines(value, 1, expand=True) + "\n"


def compacted(name, text, omit=()):
    """The text of the file `name` in this form; a file that is not JSON or JSON lines keeps its text."""
    if name.endswith(".json"):
        return dumps(json.loads(text), omit)
    if name.endswith(".jsonl"):
        records = [json.loads(line) for line in text.splitlines()]
        for record in records:
            for path in omit:
                without(record, path.split("."))
        return "".join(json.dumps(record) + "\n" for record in records)
    return text
