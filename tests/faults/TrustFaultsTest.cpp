// tests/faults/TrustFaultsTest.cpp - code that another user could have written:
// entries, packs, workers, edited stages, imports.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Program.h"
#include "runtime/cache/Keys.h"
#include "runtime/compile/CompiledFile.h"
#include "runtime/compile/WorkerPool.h"
#include "runtime/launch/FindFile.h"
#include "runtime/pack/Pack.h"
#include "support/Process.h"
#include "tests/faults/Fixture.h"

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace tessera;
using namespace tessera::runtime;
namespace fs = std::filesystem;

namespace {

constexpr uid_t otherUser = 65533;

bool holds(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

class Trusted : public Faults {
protected:
  Trusted() {
    CompileService service(settings());
    service.get(request("k"));
    good = readFile(entry());
  }

  fs::path entry() {
    return Cache(settings().cacheFolder)
        .entryPath(artifactKey(request("k").key(), "build"));
  }

  // A valid entry with other code, which only its owner or mode gives away.
  void forge() {
    std::string reason;
    auto artifact =
        decodeArtifact(good, artifactKey(request("k").key(), "build"), reason);
    ASSERT_TRUE(artifact) << reason;
    artifact->code = "another user's code";
    writeFile(entry(), encodeArtifact(*artifact, artifactKey(request("k").key(),
                                                             "build")));
  }

  // The entry moves to quarantine/, and the kernel is compiled again.
  void checkRefused(const std::string &reason) {
    testing::internal::CaptureStderr();
    CompileService service(settings());
    attempt(service, "k", outcomes);
    countWork(service, outcomes);
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(holds(log, reason)) << log;
    EXPECT_EQ(service.counters().loaded, 0u);
    EXPECT_EQ(service.cache().badEntries(), 1u);
    EXPECT_EQ(readFile(entry()), good);
  }

  std::string packOf(const std::string &name) {
    PackIndex index;
    index.compiler = "build";
    index.command = "tessera pack";
    index.kernels = {{"k.py", "k", sha256Hex(request("k").text), {}}};
    PackEntry packed;
    packed.request = request("k").key();
    packed.target = request("k").target;
    index.entries = {packed};
    CompiledKernel kernel;
    kernel.code = "code";
    writeFile(folder.path() / name,
              encodePack(index, {toKept(request("k"), "build", kernel)}));
    return (folder.path() / name).string();
  }

  template <typename F>
  static std::string errorOf(F body) {
    try {
      body();
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  }

  // A file that Program::loadFile() reads.
  std::string kernelFile(const fs::path &path, const std::string &import) {
    fs::create_directories(path.parent_path());
    writeFile(path, import + "\nimport triton\n@triton.jit\n"
                             "def kernel(X):\n    helper(X)\n");
    return path.string();
  }
  static void helperFile(const fs::path &path) {
    fs::create_directories(path.parent_path());
    writeFile(path, "import triton\n@triton.jit\ndef helper(X):\n    pass\n");
  }
  // Files that a kernel imports are read when one of their names is looked up.
  static void lookUpHelper(const std::string &file) {
    const auto program = language::Program::loadFile(file);
    program->lookup(program->kernel("kernel"), "helper");
  }

  std::string good;
  Outcomes outcomes;
};

class OtherUsers : public Trusted {
protected:
  void SetUp() override { ASSERT_EQ(::geteuid(), 0u) << "needs root"; }
  static void give(const fs::path &path) {
    ASSERT_EQ(::lchown(path.c_str(), otherUser, otherUser), 0);
  }
};

} // namespace

TEST_F(Trusted, EntriesThatOthersWriteTo) {
  for (mode_t bits : {0666, 0660, 0602}) {
    forge();
    ::chmod(entry().c_str(), bits);
    checkRefused("is writable by others");
  }
  fs::rename(entry(), folder.path() / "moved");
  fs::create_symlink(folder.path() / "moved", entry());
  checkRefused("is a symbolic link");
  outcomes.report("entry that others may write to, or a link to one");
}

TEST_F(Trusted, ListAndVerifyNameThem) {
  forge();
  ::chmod(entry().c_str(), 0666);
  Cache cache(settings().cacheFolder);
  const auto entries = cache.list();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_TRUE(entries[0].bad);
  EXPECT_TRUE(holds(entries[0].reason, "is writable by others"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(cache.verify().size(), 1u);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(holds(log, "): moved to ")) << log;
  EXPECT_FALSE(holds(log, "; compiling")) << log;
  EXPECT_FALSE(fs::exists(entry()));
}

TEST_F(Trusted, FoldersAboveTheCache) {
  const fs::path parent = settings().cacheFolder.parent_path();
  ::chmod(parent.c_str(), 0777);
  testing::internal::CaptureStderr();
  {
    CompileService service(settings());
    attempt(service, "k", outcomes);
    countWork(service, outcomes);
    outcomes.count("memory", service.counters().compiled);
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(holds(log, "chmod go-w " + parent.string())) << log;
  ::chmod(parent.c_str(), 01777); // as /tmp
  {
    CompileService service(settings());
    attempt(service, "k", outcomes);
    countWork(service, outcomes);
  }
  ::chmod(parent.c_str(), 0700);
  EXPECT_EQ(outcomes["memory"], 1u);
  EXPECT_EQ(outcomes["loaded"], 1u);
  outcomes.report("folder above the cache that others may write to");
}

TEST_F(Trusted, Packs) {
  const std::string path = packOf("run.tpack");
  EXPECT_NO_THROW(Pack{path});
  ::chmod(path.c_str(), 0666);
  const std::string failure = errorOf([&] { Pack pack(path); });
  EXPECT_TRUE(holds(failure, path + " is writable by others")) << failure;
  EXPECT_TRUE(holds(failure, "HINT: ") && holds(failure, "chmod go-w " + path))
      << failure;
  // tessera pack --show executes nothing of it.
  EXPECT_NO_THROW(Pack(path, MappedFile::Use::Read));
  ::chmod(path.c_str(), 0644);
  fs::create_directory(folder.path() / "shared");
  const std::string shared = packOf("shared/run.tpack");
  ::chmod((folder.path() / "shared").c_str(), 0777);
  EXPECT_TRUE(
      holds(errorOf([&] { Pack pack(shared); }),
            (folder.path() / "shared").string() + " is writable by others"));
}

TEST_F(Trusted, Workers) {
  fs::create_directory(folder.path() / "shared");
  const fs::path worker = folder.path() / "shared/worker";
  fs::copy(TESSERA_FAKE_WORKER, worker);
  ::chmod(worker.c_str(), 0755);
  ::setenv("TESSERA_WORKER", worker.c_str(), 1);
  EXPECT_EQ(findWorker(), worker);
  ::chmod(worker.c_str(), 0757);
  std::string failure = errorOf(findWorker);
  EXPECT_TRUE(holds(failure, worker.string() + " is writable by others"))
      << failure;
  EXPECT_TRUE(holds(failure, "HINT: ")) << failure;
  ::chmod(worker.c_str(), 0755);
  ::chmod(worker.parent_path().c_str(), 0777);
  failure = errorOf(findWorker);
  EXPECT_TRUE(
      holds(failure, worker.parent_path().string() + " is writable by others"))
      << failure;
}

TEST_F(Trusted, EditedStages) {
  auto edited = settings();
  edited.overrideFolder = folder.path() / "stages";
  const fs::path stage = edited.overrideFolder / "k/01-tile.mlir";
  fs::create_directories(stage.parent_path());
  writeFile(stage, "module {}");
  ::chmod(stage.c_str(), 0666);
  CompileService service(edited);
  EXPECT_TRUE(holds(failureOf(service, request("k")),
                    stage.string() + " is writable by others"));
  ::chmod(stage.c_str(), 0644);
  ::chmod(edited.overrideFolder.c_str(), 0777);
  EXPECT_TRUE(holds(failureOf(service, request("k")),
                    edited.overrideFolder.string() + " is writable by others"));
  ::chmod(edited.overrideFolder.c_str(), 0755);
}

// An import is looked up in the folders above the kernel file, too.
TEST_F(Trusted, ImportsFromFoldersThatOthersWriteTo) {
  const fs::path shared = folder.path() / "shared";
  helperFile(shared / "helpers.py");
  for (const char *import :
       {"from helpers import helper", "from ..helpers import helper"}) {
    const std::string file = kernelFile(shared / "mine/k.py", import);
    ::chmod(shared.c_str(), 0755);
    EXPECT_EQ(errorOf([&] { lookUpHelper(file); }), "no error");
    ::chmod(shared.c_str(), 0777);
    const std::string failure = errorOf([&] { lookUpHelper(file); });
    EXPECT_TRUE(holds(failure, "helpers.py` is not imported: " +
                                   shared.string() + " is writable by others"))
        << failure;
    EXPECT_TRUE(holds(failure, "chmod go-w " + shared.string())) << failure;
    ::chmod(shared.c_str(), 01777);
    EXPECT_EQ(errorOf([&] { lookUpHelper(file); }), "no error");
    ::chmod((shared / "helpers.py").c_str(), 0666);
    EXPECT_TRUE(holds(errorOf([&] { lookUpHelper(file); }),
                      "helpers.py is writable by others"));
    ::chmod((shared / "helpers.py").c_str(), 0644);
  }
  // Who can write to the kernel's own folder can replace the kernel file.
  helperFile(shared / "mine/beside.py");
  const std::string file =
      kernelFile(shared / "mine/k.py", "from beside import helper");
  ::chmod((shared / "mine").c_str(), 0777);
  ::chmod(shared.c_str(), 0777);
  EXPECT_EQ(errorOf([&] { lookUpHelper(file); }), "no error");
}

// A name of our kernels that no folder of this build has is looked for in the
// current folder.
TEST_F(Trusted, KernelFilesThatAreLookedFor) {
  const fs::path before = fs::current_path();
  const fs::path file = folder.path() / "kernels/none/helpers.py";
  helperFile(file);
  fs::current_path(folder.path());
  const std::string found = findKernelFile("kernels/none/helpers.py");
  ::chmod(file.parent_path().c_str(), 0777);
  const std::string failure =
      errorOf([] { findKernelFile("kernels/none/helpers.py"); });
  fs::current_path(before);
  EXPECT_EQ(found, fs::canonical(file));
  EXPECT_TRUE(holds(failure, "is writable by others")) << failure;
}

// Another user may own a fixed name in the folder of temporary files.
TEST_F(Trusted, ReproducersOutsideOfTheCache) {
  const fs::path temporary = folder.path() / "tmp",
                 target = folder.path() / "target";
  fs::create_directory(temporary);
  fs::create_directory(target);
  fs::create_directory_symlink(target, temporary / "reproducers");
  const char *before = std::getenv("TMPDIR");
  const std::string old = before ? before : "";
  ::setenv("TMPDIR", temporary.c_str(), 1);
  auto without = settings();
  without.cacheFolder = "/proc/none";
  testing::internal::CaptureStderr();
  CompileService service(without);
  const std::string failure = failureOf(service, request("crash"));
  testing::internal::GetCapturedStderr();
  before ? ::setenv("TMPDIR", old.c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_TRUE(fs::is_empty(target));
  EXPECT_TRUE(holds(failure, temporary.string() + "/tessera-reproducer-"))
      << failure;
}

TEST_F(Trusted, FoldersOfReproducersThatOthersWriteTo) {
  const fs::path reproducers = settings().cacheFolder / "reproducers";
  fs::create_directory(reproducers);
  ::chmod(reproducers.c_str(), 0777);
  testing::internal::CaptureStderr();
  CompileService service(settings());
  const std::string failure = failureOf(service, request("crash"));
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(fs::is_empty(reproducers));
  EXPECT_TRUE(holds(failure, "/tessera-reproducer-")) << failure;
}

// The program also looks for folders next to and above its own folder.
TEST_F(Trusted, FoldersThatAreLookedFor) {
  const fs::path found =
      executablePath().parent_path() / folder.path().filename();
  fs::create_directory(found);
  ::chmod(found.c_str(), 0755);
  EXPECT_EQ(findFolder(found.filename()), found);
  ::chmod(found.c_str(), 0777);
  EXPECT_EQ(findFolder(found.filename()), fs::path());
  fs::remove(found);
}

TEST_F(OtherUsers, TheirEntriesAreNotLoaded) {
  forge();
  give(entry());
  checkRefused("belongs to another user (uid 65533)");
  outcomes.report("entry of another user");
}

TEST_F(OtherUsers, TheirPacksWorkersAndHelpers) {
  const std::string path = packOf("run.tpack");
  give(path);
  EXPECT_TRUE(holds(errorOf([&] { Pack pack(path); }),
                    path + " belongs to another user"));
  const fs::path worker = folder.path() / "worker";
  fs::copy(TESSERA_FAKE_WORKER, worker);
  give(worker);
  ::setenv("TESSERA_WORKER", worker.c_str(), 1);
  EXPECT_TRUE(
      holds(errorOf(findWorker), worker.string() + " belongs to another user"));
  // Another user's file in a folder such as /tmp.
  const fs::path shared = folder.path() / "shared";
  helperFile(shared / "helpers.py");
  give(shared / "helpers.py");
  const std::string file =
      kernelFile(shared / "mine/k.py", "from helpers import helper");
  ::chmod(shared.c_str(), 01777);
  EXPECT_TRUE(holds(errorOf([&] { lookUpHelper(file); }),
                    "helpers.py belongs to another user"));
  // A kernel file and its helper of one user are equally safe.
  give(file);
  EXPECT_EQ(errorOf([&] { lookUpHelper(file); }), "no error");
}
