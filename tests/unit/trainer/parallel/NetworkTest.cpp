// tests/unit/trainer/parallel/NetworkTest.cpp - interfaces that variables name,
// and addresses from which other nodes are reached.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/Network.h"

#include "support/Error.h"

#include <gtest/gtest.h>

using namespace tessera;
using namespace tessera::trainer;

namespace {

/// Returns "accepted", or message and hint.
std::string ofNccl(const char *value, bool lists = true) {
  try {
    requireInterface("NCCL_SOCKET_IFNAME", value, lists, "node-b");
  } catch (const Error &e) {
    return e.message + " / " + e.hint;
  }
  return "accepted";
}

// Every machine of the tests has the loopback interface lo.
TEST(Network, NcclsListsOfInterfaces) {
  for (const char *good : {"lo", "l", "eth9,lo", "=lo", "=eth9,lo", ""})
    EXPECT_EQ(ofNccl(good), "accepted") << good;
  EXPECT_EQ(ofNccl(nullptr), "accepted");
  EXPECT_EQ(ofNccl("^eth9"), "accepted");
  for (const char *bad : {"loo", "=l", "eth9", "^l,e,w,v,d,b,t,p"}) {
    const std::string said = ofNccl(bad);
    EXPECT_TRUE(said.starts_with(std::string("NCCL_SOCKET_IFNAME=") + bad +
                                 " names no network interface of node node-b"))
        << said;
    EXPECT_NE(said.find("this node has"), std::string::npos) << said;
    EXPECT_NE(said.find("lo (127.0.0.1)"), std::string::npos) << said;
  }
}

TEST(Network, GloosNameIsExact) {
  EXPECT_EQ(ofNccl("lo", /*lists=*/false), "accepted");
  EXPECT_NE(ofNccl("l", /*lists=*/false), "accepted");
}

TEST(Network, ALoopbackAddressIsNotPublished) {
  std::string other;
  for (const NetworkInterface &i : networkInterfaces())
    if (!i.loopback && other.empty())
      other = i.address;
  EXPECT_EQ(addressTowards("127.0.0.1"), other);
  EXPECT_EQ(addressTowards("name.invalid"), "");
}

} // namespace
