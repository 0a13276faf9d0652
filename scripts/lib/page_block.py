"""scripts/lib/page_block.py - the blocks of pages that scripts/checks makes from committed figures, between two marks.

SPDX-License-Identifier: Apache-2.0
"""
import sys


def replaced(page, name, begin, end, block):
    """The page's text and the text with this block; None, with a message, if a mark is missing."""
    text = page.read_text(encoding="utf-8")
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        return print("check: %s lacks the lines %s and %s" % (name, begin, end))
    return text, text.split(begin)[0] + block + text.split(end)[1]


def settle(stale, problem):
    """Writes the texts of {path: text} with --fix; else prints the problem. Returns the exit status."""
    if stale and "--fix" not in sys.argv:
        print("check: %s: run scripts/check --fix" % problem)
        return 1
    for path, text in stale.items():
        path.write_text(text, encoding="utf-8")
    return 0
