# scripts/lib/source_code.py - the text of a source without what cannot change its behavior, for the hashes of scripts/results.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import io
import re
import tokenize

C_LIKE = (".cpp", ".h", ".td", ".def", ".cu", ".c", ".inc")
C_TOKENS = re.compile(r'R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|//[^\n]*|/\*(?:.|\n)*?\*/')


def c_code(text):
    text = C_TOKENS.sub(lambda found: " " if found[0].startswith(("//", "/*")) else found[0], text)
    return re.sub(r"^\s*#\s*include[^\n]*", "", text, flags=re.M)


def python_code(text):
    """Without comments and docstrings. `# tessera:` comments are part of a kernel."""
    kept, starts_line = [], True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if token.string.startswith("# tessera:"):
                kept.append(token.string)
            continue
        if token.type == tokenize.STRING and starts_line:
            continue
        if token.type not in (tokenize.NEWLINE, tokenize.NL):
            kept.append(token.string)
        starts_line = token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    return " ".join(kept)


def code(path, text):
    """The text of a source that can change what it does, in a form that depends on neither layout nor comments."""
    if path.endswith(C_LIKE):
        text = c_code(text)
    elif path.endswith(".py") or text.startswith("#!/usr/bin/env python3"):
        try:
            text = python_code(text)
        except (tokenize.TokenError, SyntaxError):
            pass
    elif path.endswith((".yaml", ".txt", ".cmake", ".lock", ".sh")) or text.startswith("#!"):
        text = re.sub(r"^\s*#[^\n]*", "", text, flags=re.M)
    return " ".join(text.split())
