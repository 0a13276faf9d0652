// tests/simcuda/Streams.cpp - streams, events and graphs of the simulated
// driver.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/simcuda/SimCuda.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace simcuda {

bool capturing() {
  for (Gpu *gpu : gpus())
    for (const Stream *stream : gpu->streams)
      if (stream->capture && !stream->invalidated)
        return true;
  return false;
}

int submit(Stream &stream, Work work) {
  if (stream.invalidated)
    return captureInvalidated;
  if (stream.capture) {
    stream.capture->work.push_back(std::move(work));
    return 0;
  }
  Gpu &gpu = *stream.gpu;
  if (gpu.fault)
    return gpu.fault;
  // The default stream and those that block it take turns.
  if (&stream == &gpu.defaultStream) {
    for (Stream *other : gpu.streams)
      if (other->blocking)
        drain(*other);
  } else if (stream.blocking) {
    drain(gpu.defaultStream);
  }
  stream.waiting.push_back(std::move(work));
  return 0;
}

int drain(Stream &stream) {
  Gpu &gpu = *stream.gpu;
  while (!stream.waiting.empty()) {
    const Work work = std::move(stream.waiting.front());
    stream.waiting.pop_front();
    if (!gpu.fault)
      if (const int result = work(); !gpu.fault)
        gpu.fault = result;
  }
  return gpu.fault;
}

int drainAll(Gpu &gpu) {
  drain(gpu.defaultStream);
  for (Stream *stream : gpu.streams)
    drain(*stream);
  return gpu.fault;
}

} // namespace simcuda

using namespace simcuda;

namespace {

struct Event {
  Stream *on = nullptr; // where it was recorded last
  long recorded = 0, reached = 0;
  double at = 0; // microseconds of its GPU's launches when it was reached
};

int wait(Event &event) {
  if (event.on && event.reached < event.recorded)
    return drain(*event.on);
  return 0;
}

Stream *streamOf(void *handle) {
  return handle      ? static_cast<Stream *>(handle)
         : current() ? &current()->defaultStream
                     : nullptr;
}

} // namespace

EXPORT int cuStreamCreate(void **stream, unsigned flags) {
  const Call call("cuStreamCreate");
  if (call.result || !current())
    return call.result ? call.result : invalidContext;
  auto *made = new Stream;
  made->gpu = current();
  made->blocking = !(flags & 1); // CU_STREAM_NON_BLOCKING
  made->gpu->streams.push_back(made);
  *stream = made;
  return 0;
}
EXPORT int cuStreamDestroy_v2(void *handle) {
  const Call call("cuStreamDestroy");
  auto *stream = static_cast<Stream *>(handle);
  drain(*stream);
  std::erase(stream->gpu->streams, stream);
  delete stream;
  return call.result;
}
EXPORT int cuStreamSynchronize(void *handle) {
  const Call call("cuStreamSynchronize", false);
  Stream *stream = streamOf(handle);
  return call.result ? call.result : stream ? drain(*stream) : invalidContext;
}
EXPORT int cuStreamQuery(void *handle) {
  const Call call("cuStreamQuery", false);
  Stream *stream = streamOf(handle);
  return call.result               ? call.result
         : !stream                 ? invalidContext
         : stream->waiting.empty() ? stream->gpu->fault
                                   : notReady;
}
EXPORT int cuStreamWaitEvent(void *stream, void *event, unsigned) {
  const Call call("cuStreamWaitEvent");
  return call.result ? call.result : submit(*streamOf(stream), [event] {
    return wait(*static_cast<Event *>(event));
  });
}

EXPORT int cuLaunchHostFunc(void *stream, void (*function)(void *),
                            void *data) {
  const Call call("cuLaunchHostFunc");
  return call.result ? call.result : submit(*streamOf(stream), [=] {
    function(data);
    return 0;
  });
}

EXPORT int cuStreamBeginCapture_v2(void *stream, int) {
  const Call call("cuStreamBeginCapture");
  if (call.result || !stream) // not of the default stream
    return call.result ? call.result : captureUnsupported;
  auto *of = static_cast<Stream *>(stream);
  if (of->capture)
    return captureUnsupported;
  of->capture = new Graph;
  of->invalidated = false;
  return 0;
}
EXPORT int cuStreamEndCapture(void *stream, void **graph) {
  const Call call("cuStreamEndCapture");
  auto *of = static_cast<Stream *>(stream);
  if (!of || !of->capture)
    return captureUnmatched;
  Graph *captured = std::exchange(of->capture, nullptr);
  if (std::exchange(of->invalidated, false)) {
    delete captured;
    *graph = nullptr;
    return captureInvalidated;
  }
  *graph = captured;
  return call.result;
}
EXPORT int cuStreamIsCapturing(void *stream, int *status) {
  const Call call("cuStreamIsCapturing");
  const Stream *of = streamOf(stream);
  if (!of)
    return invalidContext;
  *status = !of->capture ? 0 : of->invalidated ? 2 : 1;
  return call.result;
}
EXPORT int cuGraphGetNodes(void *graph, void **, size_t *count) {
  *count = static_cast<Graph *>(graph)->work.size();
  return 0;
}
EXPORT int cuGraphInstantiateWithFlags(void **executable, void *graph,
                                       unsigned long long) {
  const Call call("cuGraphInstantiate");
  *executable = new Graph(*static_cast<Graph *>(graph));
  return call.result;
}
EXPORT int cuGraphLaunch(void *executable, void *stream) {
  const Call call("cuGraphLaunch");
  int result = call.result;
  for (const Work &work : static_cast<Graph *>(executable)->work)
    if (!result)
      result = submit(*streamOf(stream), work);
  return result;
}
EXPORT int cuGraphDestroy(void *graph) {
  delete static_cast<Graph *>(graph);
  return 0;
}
EXPORT int cuGraphExecDestroy(void *executable) {
  simcuda::drainAll(*current());
  delete static_cast<Graph *>(executable);
  return 0;
}

EXPORT int cuEventCreate(void **event, unsigned) {
  const Call call("cuEventCreate");
  *event = new Event;
  return call.result;
}
EXPORT int cuEventRecord(void *handle, void *stream) {
  const Call call("cuEventRecord");
  auto *event = static_cast<Event *>(handle);
  event->on = streamOf(stream);
  const long number = ++event->recorded;
  return call.result ? call.result : submit(*event->on, [event, number] {
    event->reached = std::max(event->reached, number);
    event->at = event->on->gpu->passed;
    return 0;
  });
}
EXPORT int cuEventSynchronize(void *event) {
  const Call call("cuEventSynchronize", false);
  return call.result ? call.result : wait(*static_cast<Event *>(event));
}
EXPORT int cuEventQuery(void *handle) {
  const auto &event = *static_cast<Event *>(handle);
  return event.reached < event.recorded ? notReady : 0;
}
EXPORT int cuEventElapsedTime(float *passed, void *from, void *to) {
  const double us = timesByKernel() ? static_cast<Event *>(to)->at -
                                          static_cast<Event *>(from)->at
                                    : microsecondsOf("");
  *passed = float(us / 1000);
  return 0;
}
EXPORT int cuEventDestroy_v2(void *handle) {
  const Call call("cuEventDestroy");
  auto *event = static_cast<Event *>(handle);
  const int result = wait(*event);
  delete event;
  return call.result ? call.result : result;
}
