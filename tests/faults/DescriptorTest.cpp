// tests/faults/DescriptorTest.cpp - the first launch of a kernel in a process
// that has nearly all its descriptors in use.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/CpuModule.h"
#include "tests/faults/Fixture.h"

#include <fcntl.h>
#include <sys/resource.h>

using namespace tessera;
using namespace tessera::runtime;

namespace {

class Descriptors : public Faults {
protected:
  // While an object lives, that many descriptors are free.
  class Free {
  public:
    explicit Free(size_t count) {
      ::getrlimit(RLIMIT_NOFILE, &before);
      rlimit small = before;
      small.rlim_cur = 64;
      ::setrlimit(RLIMIT_NOFILE, &small);
      for (int fd; (fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0;)
        used.emplace_back(fd);
      used.resize(used.size() - count);
    }
    ~Free() { ::setrlimit(RLIMIT_NOFILE, &before); }

  private:
    rlimit before;
    std::vector<UniqueFd> used;
  };
  // Compiles (or loads from the cache) and loads the code; "" or the error.
  static std::string launch(CompileService &service) {
    try {
      const CpuModule module(service.get(request("k"))->code, "tessera_entry");
      return "";
    } catch (const Error &error) {
      return error.what();
    }
  }
};

} // namespace

TEST_F(Descriptors, AnErrorNamesTheCause) {
  size_t needed[2] = {};
  for (const bool warm : {false, true})
    for (size_t count = 0; count <= 12; ++count) {
      auto own = settings();
      own.cacheFolder = folder.path() / (warm ? "warm" : std::to_string(count));
      if (warm) {
        CompileService before(own);
        ASSERT_EQ(launch(before), "");
      }
      CompileService service(own);
      testing::internal::CaptureStderr();
      std::string failure;
      {
        const Free free(count);
        failure = launch(service);
      }
      testing::internal::GetCapturedStderr();
      if (failure.empty())
        continue;
      needed[warm] = count + 1;
      EXPECT_NE(failure.find("HINT: this process has no free file descriptors "
                             "(its limit is 64)"),
                std::string::npos)
          << count << " free: " << failure;
    }
  EXPECT_LE(needed[0], 4u) << "to compile and load";
  EXPECT_LE(needed[1], 2u) << "to load from the cache";
}
