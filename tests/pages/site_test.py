# tests/pages/site_test.py - the documentation as a site: complete, without a warning; errors name the page.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Run by the Python that has MkDocs. The pages are read by html.parser, not by what wrote them."""
import html.parser
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import pytest
from repository import ROOT


def build(folder, site):
    """(Exit status, output)."""
    run = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)], cwd=folder,
                         capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    said = (run.stdout + run.stderr).splitlines()
    return run.returncode, "\n".join(line for line in said if line and not line.startswith("INFO"))


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.ids = [], [], set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if "id" in given:
            self.ids.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") == "stylesheet":
            self.loaded.append(given["href"])


class TestOurSite:
    @classmethod
    def setup_class(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.site = pathlib.Path(cls.scratch.name) / "site"
        cls.status, cls.said = build(ROOT, cls.site)
        cls.pages = {path: Page(path) for path in cls.site.rglob("*.html")}

    @classmethod
    def teardown_class(cls):
        cls.scratch.cleanup()

    def test_is_built_without_a_warning(self):
        assert (self.status, self.said) == (0, "")

    def test_every_page_of_docs_is_there(self):
        for page in (ROOT / "docs").rglob("*.md"):
            name = page.relative_to(ROOT / "docs").with_suffix(".html")
            name = name.with_name("index.html") if name.stem == "README" else name
            assert (self.site / name).exists(), name

    def test_generated_pages(self):
        """The text of the sources where the tools are installed; links to the sources lead to the pages."""
        tile, passes = ((self.site / name).read_text() for name in ("dialect/tile.html", "compiler/passes.html"))
        assert ("tile.addptr" if shutil.which("mlir-tblgen-22") else "mlir-tblgen is not installed") in tile
        built = (pathlib.Path(os.environ.get("TESSERA_BUILD", ROOT / "build/release")) / "bin/tessera-opt").exists()
        assert ("tessera-dot-instructions" if built else "the compiler was not built") in passes
        assert ("dialect/tile.html") in self.pages[self.site / "architecture.html"].links
        assert ("passes.html") in self.pages[self.site / "compiler/pipeline.html"].links

    def test_every_link_leads_somewhere(self):
        count = 0
        for path, page in self.pages.items():
            if path.name == "404.html":
                continue  # its links are from the root of a server
            for link in page.links + page.loaded:
                url = urllib.parse.urlsplit(link)
                if url.scheme or url.netloc:
                    continue
                target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
                target = target / "index.html" if target.is_dir() else target
                assert target.exists(), f"{path.relative_to(self.site)}: {link}"
                if url.fragment and target in self.pages:
                    assert url.fragment in self.pages[target].ids, f"{path.relative_to(self.site)}: {link}"
                count += 1
        assert count > 1000

    def test_nothing_is_fetched(self):
        for path, page in self.pages.items():
            for url in page.loaded:
                assert not urllib.parse.urlsplit(url).netloc, f"{path.relative_to(self.site)}: {url}"

    def test_lines_of_shown_files(self):
        page = next(p for path, p in self.pages.items() if path.match("language/builtins.html"))
        lines = [link for link in page.links if "#L-" in link]  # which are there: test_every_link_leads_somewhere
        assert len(lines) > 50


class TestMistakes:
    """A small site with the settings of ours."""

    @pytest.fixture(autouse=True)
    def site(self, tmp_path):
        self.root = tmp_path
        settings = (ROOT / "mkdocs.yml").read_text()
        self.write("mkdocs.yml", settings[:settings.index("nav:\n  - Quick")] + "nav:\n  - index.md\n  - contributing.md\n  - a/b.md\n")
        (self.root / "scripts/lib").mkdir(parents=True)
        for name in ("site_hooks.py", "generated_pages.py"):
            shutil.copy(ROOT / "scripts/lib" / name, self.root / "scripts/lib")
        self.write("README.md", "# R\n\n[b](docs/a/b.md#part), [code](kernels/k.py), `[no](link.md)`\n\n```\n[no](link.md)\n```\n")
        self.write("CONTRIBUTING.md", "# C\n\n[home](README.md), [kernels](kernels)\n")
        self.write("docs/a/b.md", "# B\n\n## Part\n\n[line](../../kernels/k.py#L2) and [home](../../README.md)\n")
        self.write("kernels/k.py", "x = 1\ny = '<b>'\n")
        subprocess.run(["git", "init", "-q", str(self.root)], check=True)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def expect(self, part):
        status, said = build(self.root, self.root / "build/site")
        assert status != 0
        assert part in said

    def test_links_to_the_repository(self):
        assert build(self.root, self.root / "build/site") == (0, "")
        site = self.root / "build/site"
        assert "source/kernels/k.py.html" in Page(site / "index.html").links
        assert "../source/kernels/k.py.html#L-2" in Page(site / "a/b.html").links
        assert "../index.html" in Page(site / "a/b.html").links
        assert "source/kernels/index.html" in Page(site / "contributing.html").links
        assert "k.py" in (site / "source/kernels/index.html").read_text()
        assert "<b>" not in (site / "source/kernels/k.py.html").read_text()

    def test_no_such_page(self):
        self.write("docs/a/b.md", "# B\n\n## Part\n\n[gone](../c.md)\n")
        self.expect("c.md")

    def test_no_such_file(self):
        self.write("docs/a/b.md", "# B\n\n## Part\n\n[gone](../../kernels/none.py)\n")
        self.expect("none.py")

    def test_no_such_heading(self):
        self.write("docs/a/b.md", "# B\n\n## Another\n")
        self.expect("part")

    def test_a_page_that_no_menu_has(self):
        self.write("docs/c.md", "# C\n")
        self.expect("c.md")
