# tests/helpers/two_nodes.py - two nodes with a network between them: network and host-name namespaces joined by a pair of veth devices.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Needs `ip` (iproute2), `unshare` and `nsenter`. A user other than root gets the namespaces inside a user namespace."""
import os
import subprocess

ROOT_USER = os.geteuid() == 0
ADDRESSES = ("192.168.77.1", "192.168.77.2")


class Node:
    """A network namespace and a host name. A process that reads standard input keeps them; it ends with this program."""

    def __init__(self, name, inside=()):
        self.name = name
        unshare = ["unshare", "--net", "--uts"] if ROOT_USER or inside else ["unshare", "--map-root-user", "--net", "--uts"]
        script = 'hostname "$0" && echo ready && exec cat'
        self.holder = subprocess.Popen([*inside, *unshare, "sh", "-c", script, name],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout.readline() == "ready\n", "no network namespace: this test needs root or user namespaces"

    def enter(self):
        user = [] if ROOT_USER else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self.holder.pid), *user, "--net", "--uts"]

    def run(self, *command):
        subprocess.run([*self.enter(), *command], check=True)

    def start(self, command, log, environment):
        with open(log, "w", encoding="utf-8") as file:
            return subprocess.Popen([*self.enter(), *map(str, command)], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                    start_new_session=True, env=environment)

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()


def two_nodes():
    """Returns two nodes, whose addresses are ADDRESSES and whose devices are veth0 and veth1."""
    first = Node("node-a")
    second = Node("node-b", () if ROOT_USER else first.enter()[:5])
    first.run("ip", "link", "add", "veth0", "type", "veth", "peer", "name", "veth1", "netns", str(second.holder.pid))
    for number, node in enumerate((first, second)):
        node.run("ip", "addr", "add", ADDRESSES[number] + "/24", "dev", "veth%d" % number)
        node.run("ip", "link", "set", "lo", "up")
        node.run("ip", "link", "set", "veth%d" % number, "up")
    return first, second
