# tests/helpers/chroot.py - fills a folder with some Debian packages and nothing else, for tests that run programs in a chroot. Needs root.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import re
import subprocess

from installed import run

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000  # <sched.h>, <sys/mount.h>


def installed_packages():
    """Returns {package: [alternatives of each dependency]} for the packages on this machine, under real and virtual names."""
    packages = {}
    listed = run("dpkg-query", "-W", "-f", "${Package}\t${Provides}\t${Pre-Depends}, ${Depends}\n")
    for name, provides, depends in (line.split("\t") for line in listed.splitlines()):
        wanted = [[re.split(r"[ :(]", choice.strip())[0] for choice in entry.split("|")]
                  for entry in depends.split(",") if entry.strip()]
        packages[name] = wanted
        for virtual in provides.split(","):
            if virtual.strip():
                packages.setdefault(virtual.split()[0], [[name]])
    return packages


def closure(names):
    """Returns the packages `names` and all their direct and indirect dependencies. Raises AssertionError if one is not installed."""
    packages, found, todo = installed_packages(), set(), list(names)
    while todo:
        name = todo.pop()
        if name in found:
            continue
        if name not in packages:
            raise AssertionError("the package %s is not on this machine" % name)
        found.add(name)
        for choices in packages[name]:
            todo.append(next((choice for choice in choices if choice in packages), choices[0]))
    return found


def fill(root, packages):
    """Copies the files of `packages`, without /usr/share/doc, into the empty folder `root`. The layout is that of Debian 12: /bin, /lib,
    /lib64 and /sbin are links into /usr."""
    for folder in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / folder).mkdir(parents=True)
        (root / folder).symlink_to("usr/" + folder)
    for folder in ("dev", "proc", "tmp", "home"):
        (root / folder).mkdir()
    files = set()
    for package in packages:
        listed = subprocess.run(["dpkg", "-L", package], text=True, capture_output=True, check=False).stdout
        files.update(path for path in listed.splitlines()
                     if os.path.lexists(path) and not (os.path.isdir(path) and not os.path.islink(path)))
    names = "\n".join("./" + path.lstrip("/") for path in sorted(files) if not path.startswith("/usr/share/doc/"))
    packed = subprocess.Popen(["tar", "-C", "/", "--no-recursion", "-cf", "-", "-T", "/dev/stdin"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    unpacked = subprocess.Popen(["tar", "-C", str(root), "--keep-directory-symlink", "-xf", "-"], stdin=packed.stdout)
    packed.stdout.close()
    packed.stdin.write(names.encode())
    packed.stdin.close()
    if packed.wait() or unpacked.wait():
        raise AssertionError("the packages' files cannot be copied")
    run("ldconfig", "-r", root)


def mounted(cleanups, root):
    """Mounts /dev and /proc in the folder. `cleanups`, a contextlib.ExitStack, unmounts them when the test ends."""
    for place in ("dev", "proc"):
        run("mount", "--bind", "/" + place, root / place)
        cleanups.callback(run, "umount", "-l", root / place)


def in_namespace():
    """Gives this process a private mount namespace, so that its mounts are invisible to other processes."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        raise OSError(ctypes.get_errno(), "no mount namespace: " + os.strerror(ctypes.get_errno()))
