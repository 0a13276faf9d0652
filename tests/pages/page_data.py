# tests/pages/page_data.py - the pages of `tessera inspect`, made and read for tests.
# SPDX-License-Identifier: Apache-2.0
import html.parser
import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# A kernel with a helper and a masked loop, one with products, one without either.
KERNELS = [("kernels/nsa/select_fwd.py", "select_fwd_paper_bf16"), ("kernels/tutorials/matmul.py", "matmul_f16"),
           ("kernels/nn/rmsnorm_fwd.py", "rmsnorm_fwd_quick_f32")]


class Parts(html.parser.HTMLParser):
    """The text of the data element, the resources that the page names, and whether tags are closed."""

    def __init__(self):
        super().__init__()
        self.data, self.loads, self.open, self.inside = "", [], [], False

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.loads += [attributes[name] for name in ("src", "href", "action") if name in attributes]
        if tag not in ("meta", "link", "br", "input"):
            self.open.append(tag)
        self.inside = attributes.get("id") == "data"

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> does not close what is open"
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.data += data


# What every page begins with, whichever verb wrote it.
HEAD = re.compile(r"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>([^\n]*)</title>
<style>
/\* tools/inspect/page.css .*?</style>
</head>
<body>
<noscript>[^\n]*</noscript>
<header><h1>([^\n]*)</h1><p id="summary"></p></header>
""", re.S)


def read_page(path):
    """The data of a page, which must be complete HTML that loads nothing."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    parts = Parts()
    parts.feed(text)
    parts.close()
    head = HEAD.match(text)
    assert head and head[1] == head[2] and "@" not in head[1], f"another head: {text[:600]}"
    assert not parts.open, f"not closed: {parts.open}"
    assert not parts.loads, f"the page loads {parts.loads}"
    code = text.replace(parts.data, "").replace("'http://www.w3.org/2000/svg'", "")  # a name, nothing is fetched
    assert not re.search(r"@import|url\(|https?:", code), "the page loads something"
    return json.loads(parts.data)


def run(program, arguments, check=True):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=ROOT)
    if check and done.returncode:
        raise AssertionError(f"{' '.join(arguments)}: {done.stderr}")
    return done


def pane(side, name):
    return next(each for each in side["panes"] if each["id"] == name)
