// trainer/parallel/Network.cpp - lists network interfaces and sets timeouts of
// sockets.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/Network.h"

#include "support/Descriptors.h"
#include "support/Error.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sstream>
#include <sys/socket.h>

namespace tessera::trainer {
namespace {

std::string textOf(const sockaddr *address) {
  char text[INET_ADDRSTRLEN] = {};
  const auto *in = reinterpret_cast<const sockaddr_in *>(address);
  ::inet_ntop(AF_INET, &in->sin_addr, text, sizeof text);
  return text;
}

/// True if NCCL would use the interface `name` with this list.
bool ncclUses(std::string list, const std::string &name) {
  const bool others = list.starts_with("^");
  list.erase(0, others);
  const bool exact = list.starts_with("=");
  list.erase(0, exact);
  std::istringstream entries(list);
  for (std::string entry; std::getline(entries, entry, ',');)
    if (exact ? name == entry : name.starts_with(entry))
      return !others;
  return others;
}

void setNumber(int socket, int level, int option, int64_t value) {
  const int number = int(std::max<int64_t>(1, value));
  ::setsockopt(socket, level, option, &number, sizeof number);
}

} // namespace

std::vector<NetworkInterface> networkInterfaces() {
  ifaddrs *first = nullptr;
  if (::getifaddrs(&first) != 0)
    return {};
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs *)> owner(first,
                                                            ::freeifaddrs);
  std::vector<NetworkInterface> all;
  for (const ifaddrs *i = first; i; i = i->ifa_next)
    if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
        (i->ifa_flags & IFF_UP))
      all.push_back({i->ifa_name, textOf(i->ifa_addr),
                     (i->ifa_flags & IFF_LOOPBACK) != 0});
  return all;
}

void requireInterface(const char *name, const char *value, bool lists,
                      const std::string &node) {
  if (!value || !*value)
    return;
  std::vector<std::string> known;
  for (const NetworkInterface &i : networkInterfaces()) {
    if (lists ? ncclUses(value, i.name) : i.name == value)
      return;
    known.push_back(fmt::format("{} ({})", i.name, i.address));
  }
  throw Error(fmt::format("{}={} names no network interface of node {}", name,
                          value, node),
              fmt::format("set it to an interface that reaches the other "
                          "nodes, or unset it; this node has {}",
                          fmt::join(known, ", ")));
}

std::string addressTowards(const std::string &host) {
  addrinfo wanted = {}, *found = nullptr;
  wanted.ai_family = AF_INET;
  wanted.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(host.c_str(), "9", &wanted, &found) != 0)
    return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo *)> owner(found,
                                                              ::freeaddrinfo);
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in own = {};
  socklen_t size = sizeof own;
  // A datagram socket sends nothing when it is connected.
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::getsockname(socket.get(), reinterpret_cast<sockaddr *>(&own), &size))
    return {};
  const std::string address = textOf(reinterpret_cast<sockaddr *>(&own));
  if (!address.starts_with("127."))
    return address;
  for (const NetworkInterface &i : networkInterfaces())
    if (!i.loopback)
      return i.address;
  return {};
}

void watchConnections(std::chrono::seconds limit) {
  std::error_code none;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd", none)) {
    const int socket = std::atoi(entry.path().filename().c_str());
    sockaddr_storage other = {};
    socklen_t size = sizeof other;
    if (::getpeername(socket, reinterpret_cast<sockaddr *>(&other), &size) ||
        (other.ss_family != AF_INET && other.ss_family != AF_INET6))
      continue;
    // An idle connection is probed after half of the limit, then four times. An
    // unacknowledged send ends after the limit.
    setNumber(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    setNumber(socket, IPPROTO_TCP, TCP_KEEPIDLE, limit.count() / 2);
    setNumber(socket, IPPROTO_TCP, TCP_KEEPINTVL, limit.count() / 8);
    setNumber(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
    setNumber(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, limit.count() * 1000);
  }
}

} // namespace tessera::trainer
