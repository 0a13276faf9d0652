# scripts/lib/site_hooks.py - what MkDocs needs to show docs/ as it stands in the repository (mkdocs.yml).
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""README.md and CONTRIBUTING.md are pages of the site. A link from a page to another file of the repository leads to a page that shows
the file, with the lines that `#L29` means; one to a folder, to a list of its files. So the site has no link out of itself that
could go stale, and needs no server of the repository. scripts/lib/generated_pages.py makes two more pages; a link to the
source of one of them leads to that page."""
import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path

from mkdocs.structure.files import File
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound

sys.path.append(str(Path(__file__).resolve().parent))
import generated_pages  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCED = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$|`[^`\n]*`)", re.M | re.S)
PAGES = {"index.md": "README.md", "contributing.md": "CONTRIBUTING.md"}  # of the repository's root
MOST = 100_000  # characters of a file that are shown


def tracked():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
    return set(listed.stdout.splitlines())


class Site:
    def __init__(self, config):
        self.docs = Path(config.docs_dir).resolve()
        self.files = tracked()
        self.folders = {str(parent) for name in self.files for parent in Path(name).parents if str(parent) != "."}
        self.generated = {source: page for page, source in generated_pages.SOURCES.items() if source in self.files or source in self.folders}
        self.shown = {}  # page -> file or folder of the repository

    def linked(self, page, url):
        """The URL on the site for `url`, a link of docs/<page>."""
        if re.match(r"[a-z]+:|#|/", url):
            return url
        path, _, anchor = url.partition("#")
        base = "." if page in PAGES else "docs"
        target = posixpath.normpath(posixpath.join(base, posixpath.dirname(page), path))
        inside = posixpath.relpath(target, "docs")
        if inside.endswith((".md", ".png", ".svg")) and not inside.startswith(".."):
            found = inside
        elif target in self.generated:
            found = self.generated[target]
        elif target in PAGES.values():
            found = next(page for page, name in PAGES.items() if name == target)
        elif target in self.files or target in self.folders:
            found = "source/" + target + ("/index.md" if target in self.folders else ".md")
            self.shown[found] = target
        else:
            return url  # MkDocs reports that the file does not exist
        line = re.fullmatch(r"L(\d+)(-L\d+)?", anchor)
        if line:
            anchor = f"L-{line[1]}"
        return posixpath.relpath(found, posixpath.dirname(page) or ".") + ("#" + anchor if anchor else "")

    def rewritten(self, page, markdown):
        """Links outside of code."""
        parts = FENCED.split(markdown)
        parts[::2] = [LINK.sub(lambda m: m[1] + self.linked(page, m[2]) + m[3], part) for part in parts[::2]]
        return "".join(parts)

    def page_of(self, target):
        if target in self.folders:
            inside = sorted({name[len(target) + 1:].split("/")[0] for name in self.files if name.startswith(target + "/")})
            return f"# {target}/\n\n" + "".join(f"- `{name}`\n" for name in inside)
        text = (ROOT / target).read_text(errors="replace")
        note = ""
        if len(text) > MOST:
            text, note = text[:MOST].rsplit("\n", 1)[0], f"\n\nThe first {MOST:,} of {len(text):,} characters.\n"
        try:
            lexer = get_lexer_for_filename(target)
        except ClassNotFound:
            lexer = TextLexer()
        code = highlight(text, lexer, HtmlFormatter(lineanchors="L", wrapcode=True))
        return f"# {target}\n{note}\n{code}\n"


def on_files(files, config):
    site = Site(config)
    pages = {file.src_uri: (site.docs / file.src_uri).read_text() for file in files.documentation_pages()}
    pages |= {page: (ROOT / name).read_text() for page, name in PAGES.items()}
    pages |= generated_pages.pages()
    for file in [file for file in files if not file.is_documentation_page() and not file.src_uri.endswith((".png", ".svg"))
                 and os.path.exists(site.docs / file.src_uri)]:
        files.remove(file)  # shown as a page where something leads to it
    for name, text in pages.items():
        if name in files.src_uris:
            files.remove(files.get_file_from_path(name))
        files.append(File.generated(config, name, content=site.rewritten(name, text)))
    for name, target in site.shown.items():
        file = File.generated(config, name, content=site.page_of(target))
        file.inclusion = type(file.inclusion).NOT_IN_NAV
        files.append(file)
    return files
