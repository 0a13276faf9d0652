"""Finds libtessera_torch.so and loads it into torch.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import os
import stat
from pathlib import Path

TORCH = "2.15"  # lib/ and bin/ are compiled against this release
NAME = "libtessera_torch.so"


def name_for(release: str) -> str:
    """The file of lib/ that is compiled against a release of torch: "libtessera_torch-2.11.so", and NAME for TORCH."""
    return NAME if release == TORCH else NAME.replace(".so", f"-{release}.so")


def releases() -> list[str]:
    """The releases of torch for which this package has a library, ascending."""
    others = (Path(__file__).resolve().parent / "lib").glob(name_for("[0-9]*"))
    return sorted([TORCH, *(place.stem.rpartition("-")[2] for place in others)],
                  key=lambda release: [int(part) for part in release.split(".") if part.isdigit()])


def import_torch() -> str:
    """Returns the release of torch, such as "2.15". Raises ImportError where torch is not there, or is a release without a library."""
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "tessera runs on torch, which this Python does not have\n"
            f"HINT: pip install 'torch=={TORCH}.*'") from error
    release = ".".join(torch.__version__.split(".")[:2])
    if release not in releases():
        raise ImportError(
            f"tessera is built for torch {' and '.join(releases())}, and this Python has torch {torch.__version__}\n"
            f"HINT: pip install 'torch=={TORCH}.*', or build tessera with the torch you have")
    return release


def path(release: str = TORCH) -> Path:
    """The library: what LIBTESSERA_TORCH names, else that of the installed
    package, else that of build/release of the checkout in which this package
    lies. Raises ImportError where there is none."""
    package = Path(__file__).resolve().parent
    named = os.environ.get("LIBTESSERA_TORCH", "")
    places = [Path(named)] if named else [package / "lib" / name_for(release), package.parents[1] / "build/release/lib" / NAME]
    for place in places:
        if place.is_file():
            return place.resolve()
    if named:
        raise ImportError(f"LIBTESSERA_TORCH={named} is not a file\n"
                          f"HINT: set it to the path of {NAME}, such as build/release/lib/{NAME}, or unset it")
    raise ImportError(f"{NAME} is not in " + " or ".join(str(place.parent) for place in places) + "\n"
                      "HINT: in a checkout, run scripts/build release tessera_ops tessera-worker; "
                      "an installed package that lacks it must be installed again")


def require_trusted(library: Path) -> None:
    """Raises ImportError if a user who cannot change this package can change
    the library (docs/trust.md)."""
    package = Path(__file__).resolve()
    own = package.stat()
    for place in (library, *library.parents):
        if place in package.parents:  # who can change this folder can change the package
            return
        info = place.stat()
        writers = info.st_mode & 0o022
        if info.st_gid == own.st_gid or not own.st_mode & 0o020:
            writers &= ~own.st_mode
        if place != library and info.st_mode & stat.S_ISVTX:  # as /tmp: an entry is replaced by its owner
            writers = 0
        if info.st_uid not in (0, os.geteuid(), own.st_uid):
            raise ImportError(f"{library} is not loaded: {place} belongs to another user (uid {info.st_uid})\n"
                              "HINT: use a copy that you own, in a folder that only you can write to")
        if writers:
            raise ImportError(f"{library} is not loaded: {place} is writable by others\n"
                              f"HINT: if you trust its contents, run: chmod go-w {place}")


def load() -> Path:
    """Registers the ops of torch.ops.tessera and returns path(). Raises
    ImportError with what to do where that cannot be."""
    release = import_torch()
    import torch

    library = path(release)
    if not hasattr(torch.ops.tessera, "launch"):  # else a program has loaded it
        require_trusted(library)
        try:
            torch.ops.load_library(str(library))
        except OSError as error:
            raise ImportError(f"{library} cannot be loaded: {error}\n"
                              "HINT: the message names what is wrong; build tessera on this machine where a "
                              "library of the system is too old") from error
    return library
