"""Times of configurations on disk, for autotune(cache_results=True): files
autotune/HASH.json in the folder of compiled kernels.

Copyright the tessera authors. SPDX-License-Identifier: Apache-2.0
"""
from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import tempfile
from pathlib import Path
from typing import Any

import torch


def folder() -> Path:
    if named := os.environ.get("TESSERA_CACHE_DIR"):
        return Path(named)
    if home := os.environ.get("XDG_CACHE_HOME"):
        return Path(home) / "tessera"
    return Path.home() / ".cache" / "tessera"


def machine() -> str:
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{platform.node()} {platform.machine()} {torch.get_num_threads()} {os.environ.get('TESSERA_DEVICE', 'cpu')}"


def path_of(jit: Any, key: tuple[Any, ...], configs: list[Any]) -> Path | None:
    """The file of a kernel, a key and configurations on this machine. None
    where nothing is kept: without a key, and for configurations with hooks,
    which no file can name."""
    if not key or any(config.pre_hook for config in configs):
        return None
    parts = [*jit.source(), jit.__name__, machine(), repr(key), *map(str, configs)]
    return folder() / "autotune" / (hashlib.sha256("\0".join(parts).encode()).hexdigest() + ".json")


def read(path: Path, configs: list[Any]) -> dict[Any, Any] | None:
    """The times of all the configurations that ran; None where the file is
    missing, unreadable, or writable by another user."""
    try:
        with path.open(encoding="utf-8") as file:
            found = os.fstat(file.fileno())
            if found.st_uid not in (os.getuid(), 0) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                return None
            times = json.load(file)
        if not all(isinstance(one, (int, float)) for value in times.values()
                   for one in (value if isinstance(value, list) else [value])):
            return None
        return {configs[int(at)]: value for at, value in times.items()} or None
    except (OSError, ValueError, LookupError, AttributeError):
        return None


def write(path: Path, configs: list[Any], times: dict[Any, Any]) -> None:
    """Keeps the times; a folder that cannot be written is not an error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".times")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({str(at): times[config] for at, config in enumerate(configs) if config in times}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except OSError:
        pass
