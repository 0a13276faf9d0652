# scripts/lib/prose_text.py - the sentences of a source or a page: comments, string literals and paragraphs, for scripts/checks/prose.py.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""A block is text that a person reads as one: adjacent lines of comment, adjacent string literals, or a page. It is a list of pieces
(line, text), so that a phrase is found across the end of a line and has the number of the line where it starts."""
import bisect
import itertools
import re

C_LIKE = (".cpp", ".h", ".td", ".def", ".c", ".cu", ".js", ".css", ".mlir")
HASH = (".cmake", ".sh", ".yaml", ".yml", ".toml", ".txt")
STRING = r'"(?:\\.|[^"\\\n])*"'
# A number with separators precedes the character literals: 10'000 opens none.
C_TOKEN = re.compile(r'R"(\w*)\((?:.|\n)*?\)\1"|' + STRING + r"|\b\d[\da-fA-FxX]*(?:'[\da-fA-F]+)+|'(?:\\.|[^'\\\n])+'|//[^\n]*|/\*(?:.|\n)*?\*/"
                     r"|(?:description|summary)\s*=\s*\[\{(?:.|\n)*?\}\]")
PY_TOKEN = re.compile(r'#[^\n]*|[rbfuRBFU]{0,2}(?:"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|' + STRING + r"|'(?:\\.|[^'\\\n])*')")
HASH_TOKEN = re.compile(r"(?:^|(?<=\s))#[^\n]*|" + STRING, re.M)
CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|^(?: {4}|\t)[^\n]*$", re.M | re.S)
# A name in backticks may go over the end of a line.
NAME = re.compile(r"`[^`\n]*\n?[^`\n]*`|\]\([^)\n]*\)|<!--.*?-->", re.S)


def blank(found):
    """Spaces of the same length, so that offsets and lines stay."""
    return re.sub(r"[^\n]", " ", found[0])


def comments(found):
    """A block of code of a page: its comments are sentences, the rest is blank."""
    return "".join(re.sub(r"^((?:(?!(?:^|\s)(?:#|//)\s).)*)", blank, line) for line in found[0].splitlines(keepends=True))


class Block:
    def __init__(self, pieces):
        self.text = NAME.sub(blank, "".join(text for _, text in pieces))
        self.starts = list(itertools.accumulate((len(text) for _, text in pieces), initial=0))[:-1]
        self.lines = [line for line, _ in pieces]

    def line(self, offset):
        piece = bisect.bisect_right(self.starts, offset) - 1
        return self.lines[piece] + self.text.count("\n", self.starts[piece], offset)


def _comment(token):
    """The words of a comment, without its marks."""
    return re.sub(r"(?m)^[ \t]*(?:///?<?|#+:?|/\*+|\*(?!/))", " ", token).replace("*/", "  ") + "\n"


def _string(token):
    """The words of a string literal. Empty for a text without two words: a key, a path, an option."""
    text = re.sub(r"\\[nt]", "  ", token)
    return text if re.search(r"[A-Za-z,.;:)]\s+[A-Za-z(`]", text) else ""


def _string_body(token):
    body = re.sub(r'^[rbfuRBFU]{0,2}("""|\'\'\'|R"\w*\(|"|\')', "", token)
    return re.sub(r'("""|\'\'\'|\)\w*"|"|\')$', "", body)


def _of_tokens(text, pattern, comments):
    blocks, pieces, kind, end = [], [], None, 0
    breaks = [found.start() for found in re.finditer("\n", text)]

    def close():
        nonlocal pieces
        if pieces and (kind == "comment" or _string("".join(part for _, part in pieces))):
            blocks.append(Block(pieces))
        pieces = []

    for found in pattern.finditer(text):
        token = found[0]
        now = "comment" if token.startswith(comments) else "string" if re.match(r"[\w]*[\"']", token) else "text"
        if now == "string" and token[0].isdigit():
            continue  # a number with separators
        if now != kind or text[end:found.start()].strip() or text.count("\n", end, found.start()) > 1:
            close()
        kind, end = now, found.end()
        words = _comment(token) if now == "comment" else re.sub(r"\\[nt]", "  ", _string_body(token)) if now == "string" else token
        pieces.append((bisect.bisect_left(breaks, found.start()) + 1, words))
    close()
    return blocks


def blocks(path, text):
    """The blocks of a file; none for a kind of file that has no sentences."""
    if path.endswith(".md"):
        return [Block([(1, CODE.sub(comments, text))])]
    if path.endswith(C_LIKE):
        return _of_tokens(text, C_TOKEN, ("//", "/*"))
    if path.endswith((".py", ".pyi")) or text.startswith("#!/usr/bin/env python3"):
        return _of_tokens(text, PY_TOKEN, ("#",))
    if path.endswith(HASH) or text.startswith("#!") or path.rpartition("/")[2] in ("Makefile", "Dockerfile"):
        return _of_tokens(text, HASH_TOKEN, ("#",))
    return []
