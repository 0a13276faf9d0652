// trainer/parallel/DataParallel.cpp - collectives of torch's c10d, by Gloo on
// CPUs and NCCL on GPUs.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/parallel/DataParallel.h"

#include "ops/launch/CudaPlugin.h"
#include "support/Error.h"
#include "support/Text.h"
#include "trainer/optim/AdamW.h"
#include "trainer/parallel/Network.h"

#include <ATen/ATen.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace tessera::trainer {
namespace {

using namespace std::chrono_literals;

/// Time for processes to join a collective. It is long, because process 0
/// evaluates alone while the others wait.
constexpr auto answerTime = 60min;

/// Returns the time for processes to connect.
std::chrono::milliseconds meetingTime(const World &world) {
  return std::chrono::milliseconds(int64_t(world.timeout * 1000));
}

/// Returns the node and the address of process 0 for runs of several machines.
std::string placeOf(const World &world) {
  return world.local() ? ""
                       : fmt::format(" on node {} (MASTER_ADDR={}, "
                                     "MASTER_PORT={})",
                                     world.node, world.host, world.port);
}

/// Runs `work`. Rethrows exceptions of torch as tessera::Error with `hint`.
template <typename F>
auto explained(const World &world, const char *what, const char *hint,
               const F &work) {
  const auto fail = [&](const std::string &why) {
    // Gloo's advice is for developers of Gloo.
    const std::string line = firstLine(why);
    throw Error(fmt::format("process {} of {}{} {}: {}", world.rank, world.size,
                            placeOf(world), what,
                            line.substr(0, line.find(". This is typically"))),
                hint);
  };
  try {
    return work();
  } catch (const Error &) {
    throw;
  } catch (const c10::Error &e) {
    fail(e.what_without_backtrace());
  } catch (const std::exception &e) {
    fail(e.what());
  }
  return decltype(work())();
}

constexpr const char *cannotMeet =
    "every process has to be started, and MASTER_ADDR and MASTER_PORT to be "
    "those of process 0 in each; a port that is taken needs another one. Check "
    "that this node reaches the address (route, firewall) and that "
    "GLOO_SOCKET_IFNAME, if it is set, names an interface that does";
constexpr const char *lost =
    "one of them has ended or hangs; its own message says why. The same "
    "command continues from the newest checkpoint, with any number of "
    "processes";

c10::intrusive_ptr<c10d::Store> storeOf(const World &world) {
  c10::intrusive_ptr<c10d::Store> store;
  if (!world.file.empty()) {
    store = c10::make_intrusive<c10d::FileStore>(world.file, int(world.size));
  } else {
    c10d::TCPStoreOptions options;
    options.port = world.port;
    options.isServer = world.first() && !world.storeIsThere;
    options.timeout = meetingTime(world);
    if (!world.storeIsThere)
      options.numWorkers = size_t(world.size);
    store = c10::make_intrusive<c10d::TCPStore>(world.host, options);
  }
  store->setTimeout(meetingTime(world));
  return c10::make_intrusive<c10d::PrefixStore>("tessera/" + world.attempt,
                                                store);
}

/// Returns Gloo's device: the interface that GLOO_SOCKET_IFNAME names, or the
/// one that reaches process 0. Gloo's default is the address of the node's own
/// name, which is often a loopback address.
auto deviceOf(const World &world) {
  using Gloo = c10d::ProcessGroupGloo;
  if (const char *name = std::getenv("GLOO_SOCKET_IFNAME")) {
    requireInterface("GLOO_SOCKET_IFNAME", name, /*lists=*/false, world.node);
    return Gloo::createDeviceForInterface(name);
  }
  const std::string address =
      world.local() ? "127.0.0.1" : addressTowards(world.host);
  return address.empty() ? Gloo::createDefaultDevice()
                         : Gloo::createDeviceForHostname(address);
}

} // namespace

struct DataParallel::Group {
  Group(const World &world, bool nccl) : world(world) {
    if (nccl)
      requireInterface("NCCL_SOCKET_IFNAME", std::getenv("NCCL_SOCKET_IFNAME"),
                       /*lists=*/true, world.node);
    explained(world, "cannot meet the others", cannotMeet, [&] {
      const auto store = storeOf(world);
      auto options = c10d::ProcessGroupGloo::Options::create();
      options->timeout = meetingTime(world);
      options->devices.push_back(deviceOf(world));
      host = c10::make_intrusive<c10d::ProcessGroupGloo>(
          store, int(world.rank), int(world.size), options);
      host->setTimeout(answerTime);
      watchConnections(
          std::chrono::ceil<std::chrono::seconds>(meetingTime(world)));
      if (nccl)
        gpus = runtime::requireCudaPlugin("NCCL").nccl(
            c10::make_intrusive<c10d::PrefixStore>("nccl", store),
            int(world.rank), int(world.size), answerTime);
    });
  }

  /// True if a backend can send the tensor without a copy in host memory.
  bool direct(const at::Tensor &values) const {
    return values.is_cpu() || gpus;
  }
  c10d::Backend &backendOf(const at::Tensor &values) const {
    return values.is_cpu() ? *host : *gpus;
  }

  using Works = std::vector<c10::intrusive_ptr<c10d::Work>>;
  /// Waits for all operations that `start` appends to its argument.
  template <typename F>
  void finish(const F &start) {
    explained(world, "has lost the others", lost, [&] {
      Works works;
      start(works);
      for (const auto &work : works)
        work->wait();
    });
  }

  /// An average in progress. `wired` is the tensor that is sent: `values`
  /// itself, or a rounded or host copy.
  struct Average {
    at::Tensor values, wired;
    c10::intrusive_ptr<c10d::Work> work;
  };

  World world;
  c10::intrusive_ptr<c10d::Backend> host; ///< Gloo.
  c10::intrusive_ptr<c10d::Backend> gpus; ///< NCCL; null if it is not used.
  std::vector<Average> averages;
};

DataParallel::DataParallel(const World &world, Precision wire,
                           c10::Device device, ExchangeBackend backend)
    : world(world), wire(wire) {
  if (world.size == 1)
    return;
  if (backend == ExchangeBackend::Nccl && device.is_cpu())
    throw Error("runtime.ddp_backend is nccl, but the run computes on the CPU",
                "set runtime.ddp_backend=auto, or runtime.device=cuda");
  const bool nccl = !device.is_cpu() && backend != ExchangeBackend::Gloo;
  if (nccl) // fail before the other processes wait for this one
    runtime::requireCudaPlugin("runtime.ddp_backend=nccl");
  group = std::make_unique<Group>(world, nccl);
}

DataParallel::~DataParallel() = default;

void DataParallel::beginAverage(const at::Tensor &values) {
  if (!group)
    return;
  const at::NoGradGuard noGrad;
  explained(world, "has lost the others", lost, [&] {
    // Divide before rounding. Otherwise the sum could overflow fp16.
    at::Tensor wired =
        wire == Precision::Fp32
            ? values
            : (values / double(world.size)).to(computeType(wire));
    if (!group->direct(wired))
      wired = wired.cpu();
    std::vector<at::Tensor> all = {wired};
    group->averages.push_back(
        {values, wired, group->backendOf(wired).allreduce(all)});
  });
}

void DataParallel::finishAverages() {
  if (!group)
    return;
  const at::NoGradGuard noGrad;
  explained(world, "has lost the others", lost, [&] {
    for (const Group::Average &average : group->averages) {
      average.work->wait();
      if (!average.wired.is_same(average.values))
        average.values.copy_(average.wired);
      if (wire == Precision::Fp32)
        average.values.div_(double(world.size));
    }
  });
  group->averages.clear();
}

template <typename F>
void DataParallel::inPieces(const at::Tensor &whole, const at::Tensor &part,
                            const F &move) {
  constexpr int64_t piece = 1 << 22; // elements
  const int64_t n = part.size(0);
  const bool direct = group->direct(part);
  const auto sent = [&](const at::Tensor &place) {
    return direct ? place : place.cpu();
  };
  for (int64_t a = 0; a < n; a += piece) {
    const int64_t b = std::min(a + piece, n);
    std::vector<at::Tensor> places, moved;
    if (whole.defined())
      for (int64_t r = 0; r < world.size; ++r) {
        places.push_back(whole.slice(0, r * n + a, r * n + b));
        moved.push_back(sent(places.back()));
      }
    const at::Tensor ownPlace = part.slice(0, a, b);
    std::vector<at::Tensor> own = {sent(ownPlace)};
    std::vector<std::vector<at::Tensor>> all;
    if (whole.defined())
      all.push_back(moved);
    group->finish([&](Group::Works &works) {
      works.push_back(move(group->backendOf(own[0]), all, own));
    });
    if (direct)
      continue;
    ownPlace.copy_(own[0]);
    for (size_t r = 0; r < places.size(); ++r)
      places[r].copy_(moved[r]);
  }
}

void DataParallel::allGather(const at::Tensor &whole) {
  if (!group)
    return;
  const at::NoGradGuard noGrad;
  const int64_t n = whole.size(0) / world.size;
  inPieces(whole, whole.slice(0, world.rank * n, (world.rank + 1) * n),
           [](c10d::Backend &backend, auto &all, auto &own) {
             return backend.allgather(all, own);
           });
}

void DataParallel::gather(const at::Tensor &part, const at::Tensor &whole) {
  if (!group)
    return;
  const at::NoGradGuard noGrad;
  inPieces(first() ? whole : at::Tensor(), part,
           [](c10d::Backend &backend, auto &all, auto &own) {
             return backend.gather(all, own);
           });
}

void DataParallel::scatter(const at::Tensor &whole, const at::Tensor &part) {
  if (!group)
    return;
  const at::NoGradGuard noGrad;
  inPieces(first() ? whole : at::Tensor(), part,
           [](c10d::Backend &backend, auto &all, auto &own) {
             return backend.scatter(own, all);
           });
}

std::vector<double> DataParallel::sum(const std::vector<double> &values) {
  if (!group)
    return values;
  std::vector<at::Tensor> sums = {at::tensor(values, at::kDouble)};
  group->finish([&](Group::Works &works) {
    works.push_back(group->host->allreduce(sums));
  });
  const double *data = sums[0].const_data_ptr<double>();
  return {data, data + values.size()};
}

void DataParallel::fromFirst(at::Tensor &values) {
  if (!group)
    return;
  const at::NoGradGuard noGrad;
  std::vector<at::Tensor> all = {group->direct(values) ? values : values.cpu()};
  group->finish([&](Group::Works &works) {
    works.push_back(group->backendOf(all[0]).broadcast(all));
  });
  if (!all[0].is_same(values))
    values.copy_(all[0]);
}

std::string DataParallel::fromFirst(const std::string &text) {
  if (!group)
    return text;
  at::Tensor size = at::full({1}, int64_t(text.size()), at::kLong);
  fromFirst(size);
  const int64_t count = size.item<int64_t>();
  at::Tensor bytes = at::zeros({std::max<int64_t>(1, count)}, at::kByte);
  if (first())
    std::memcpy(bytes.data_ptr(), text.data(), text.size());
  fromFirst(bytes);
  return {static_cast<const char *>(bytes.const_data_ptr()), size_t(count)};
}

std::vector<std::string> DataParallel::fromAll(const std::string &text) {
  if (!group)
    return {text};
  std::vector<double> counts(size_t(world.size));
  counts[size_t(world.rank)] = double(text.size());
  counts = sum(counts);
  const auto most = int64_t(*std::max_element(counts.begin(), counts.end()));
  const int64_t width = std::max<int64_t>(1, most);
  at::Tensor bytes = at::zeros({world.size * width}, at::kByte);
  char *const data = static_cast<char *>(bytes.data_ptr());
  std::memcpy(data + world.rank * width, text.data(), text.size());
  allGather(bytes);
  std::vector<std::string> texts;
  for (size_t r = 0; r < counts.size(); ++r)
    texts.emplace_back(data + int64_t(r) * width, size_t(counts[r]));
  return texts;
}

} // namespace tessera::trainer
