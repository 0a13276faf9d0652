"""tests/unit/codegen/gpu/blocks.py PAGE TEMPLATE - the template with each @NAME@ replaced by a block of code of a page.

A block begins with ```LANGUAGE NAME. A name that the page lacks, or a block that the template leaves out although its name has the same
first word as others there, is an error. SPDX-License-Identifier: Apache-2.0
"""
import re
import sys

page, template = (open(path, encoding="utf-8").read() for path in sys.argv[1:3])
blocks = dict(re.findall(r"^```\w+ ([\w-]+)\n(.*?)^```$", page, re.M | re.S))
marks = re.findall(r"@([\w-]+)@", template)
for name in marks:
    if name not in blocks:
        sys.exit(f"{sys.argv[1]} has no block of code with the name {name}")
for name in blocks:
    if name.split("-")[0] in {mark.split("-")[0] for mark in marks} and name not in marks:
        sys.exit(f"{sys.argv[2]} leaves out the block {name} of {sys.argv[1]}")
print(re.sub(r"@([\w-]+)@", lambda match: blocks[match.group(1)].rstrip("\n"), template), end="")
