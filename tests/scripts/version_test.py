"""tests/scripts/version_test.py - scripts/checks/version.py finds a version that is not that of CMakeLists.txt.

SPDX-License-Identifier: Apache-2.0
"""
import re

from repository import load

check = load("scripts/checks/version.py")


def test_declared_is_the_version_of_project():
    assert check.declared("cmake_minimum_required(VERSION 3.25)\nproject(tessera VERSION 1.20.3 LANGUAGES C CXX)\n") == "1.20.3"
    assert check.declared("cmake_minimum_required(VERSION 3.25)\n") is None


def test_a_second_assignment_is_an_error():
    for text in ('__version__ = "0.2.0"\n', 'version = "0.2.0"\n'):
        assert len(check.file_errors("python/tessera/__init__.py", "\n" + text, "0.2.0")) == 1, text
    assert check.file_errors("python/tessera/__init__.py", "__version__ = version()\n", "0.2.0") == []


def test_another_version_in_a_name_is_an_error():
    for text in ("tessera_0.1.0_amd64.deb", "libtessera.so.0.1", "find_package(tessera 0.1 REQUIRED)", "tessera-torch_0.1.0_amd64.deb"):
        [error] = check.file_errors("docs/cpp.md", "\n\n" + text, "0.2.0")
        assert re.search(r"^docs/cpp\.md:3: names version 0\.1(\.0)?, and CMakeLists\.txt has 0\.2\.0$", error)


def test_the_declared_version_passes():
    text = "tessera_0.2.0_amd64.deb libtessera.so.0.2 find_package(tessera 0.2 REQUIRED) libtessera_torch.so"
    assert check.file_errors("docs/cpp.md", text, "0.2.0") == []


def test_a_wheel_of_another_version_is_an_error():
    lock = "torch==2.15.0 --hash=sha256:ab\ntriton==3.6.0 --hash=sha256:cd\n"
    pattern = r'^TORCH = "(.*?)"'
    for version in ("2.15", "2.15.0", "2"):
        assert check.wheel_errors("a.py", f'\nTORCH = "{version}"\n', pattern, "torch", lock) == []
    for version in ("2.11", "2.1", "2.15.1"):
        assert check.wheel_errors("a.py", f'\nTORCH = "{version}"\n', pattern, "torch", lock) == [
            f"a.py:2: names torch {version}, and scripts/deps.lock has 2.15.0"]
    assert "does not name the version of torch" in check.wheel_errors("a.py", "", pattern, "torch", lock)[0]


def test_a_section_has_another_version_of_a_wheel():
    lock = "# [triton-3.9] a newer release\n[full]\ntriton==3.6.0 --hash=sha256:cd\n\n[triton-3.9]\ntriton==3.9.0 --hash=sha256:ef\n"
    pattern = r'^VERSION = "(.*?)"'
    assert check.wheel_errors("a.py", 'VERSION = "3.9.0"\n', pattern, "triton-3.9", lock) == []
    assert check.wheel_errors("a.py", 'VERSION = "3.6.0"\n', pattern, "triton-3.9", lock) == [
        "a.py:1: names triton 3.6.0, and scripts/deps.lock has 3.9.0"]
    assert check.wheel_errors("a.py", 'VERSION = "3.6.0"\n', pattern, "triton", lock) == []
