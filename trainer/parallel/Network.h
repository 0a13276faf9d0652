// trainer/parallel/Network.h - network interfaces of a node, and the detection
// of nodes that no longer answer.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace tessera::trainer {

/// A network interface with its IPv4 address.
struct NetworkInterface {
  std::string name, address;
  bool loopback = false;
};

/// Returns the interfaces of this node that are up and have an IPv4 address.
std::vector<NetworkInterface> networkInterfaces();

/// Throws tessera::Error if no interface of this node matches the environment
/// variable `name`, which is unset or contains `value`. `lists` accepts NCCL's
/// syntax: prefixes separated by commas, "=eth0" for an exact name, and "^" for
/// all other interfaces.
void requireInterface(const char *name, const char *value, bool lists,
                      const std::string &node);

/// Returns the local address from which packets to `host` are sent. If it is a
/// loopback address, because a node's own name often resolves to one, returns
/// the address of another interface. Returns an empty text if the node has no
/// such address or the name does not resolve.
std::string addressTowards(const std::string &host);

/// Makes the kernel close the TCP connections of this process whose other node
/// has not answered for `limit`. Without this, a process that waits for data
/// from a node without power or network waits until the operation's timeout.
void watchConnections(std::chrono::seconds limit);

} // namespace tessera::trainer
