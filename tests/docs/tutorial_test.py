# tests/docs/tutorial_test.py - runs every fenced block of docs/tutorial, in order, in one folder.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""    ```python write=FILE   becomes the file
    ```diff apply=FILE     replaces the only occurrence of the lines with " " and "-"
    ```sh [exit=N]         runs under `sh -e`
    ```text                lines that the run before it printed, numbers aside
A block without such a word is an error, so that none goes untested."""
import os
import re
import subprocess

from repository import BUILD, ROOT

PAGES = [ROOT / "docs/tutorial/README.md", ROOT / "docs/tutorial/attention.md"]
BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.M | re.S)


def shape(line):
    """The line with every number and gap made equal."""
    line = re.sub(r"(?<![\w])[-+]?(\d+(\.\d+)?(e[-+]?\d+)?|nan)(?![\w])", "#", line)
    return " ".join(line.split())


def apply(path, body):
    lines = [l if l else " " for l in body.splitlines()]
    old = "\n".join(l[1:] for l in lines if l[0] in " -")
    new = "\n".join(l[1:] for l in lines if l[0] in " +")
    text = path.read_text()
    if text.count(old) != 1:
        return f"the old lines occur {text.count(old)} times in {path.name}"
    path.write_text(text.replace(old, new))


def run(folder, language, options, body, state):
    words = dict(word.split("=", 1) for word in options.split())
    if language == "python" and "write" in words:
        (folder / words["write"]).write_text(body)
    elif language == "diff" and "apply" in words:
        return apply(folder / words["apply"], body)
    elif language == "sh":
        done = subprocess.run(["sh", "-e", "-c", body], cwd=folder, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        state["output"] = done.stdout
        if done.returncode != int(words.get("exit", 0)):
            return f"exit status {done.returncode}\n{done.stdout}"
    elif language == "text":
        printed = [shape(line) for line in state["output"].splitlines()]
        for line in body.splitlines():
            if not any(shape(line) in other for other in printed):
                return f"not printed: {line}\n{state['output']}"
    else:
        return "what is this block for? see the head of this file"


def test_blocks(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{BUILD / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TESSERA_CACHE_DIR", str(tmp_path / "cache"))
    count, state = 0, {"output": ""}
    for page in PAGES:
        text = page.read_text()
        blocks = list(BLOCK.finditer(text))
        for block in blocks:
            problem = run(tmp_path, block[1], block[2], block[3], state)
            assert not problem, f"{page}:{text.count(chr(10), 0, block.start()) + 1}: {problem}"
        assert text.count("```") == 2 * len(blocks)
        count += len(blocks)
    assert count > 20 and sorted(page.name for page in PAGES) == sorted(path.name for path in PAGES[0].parent.glob("*.md"))
