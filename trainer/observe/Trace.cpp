// trainer/observe/Trace.cpp - collects spans and prints them as Chrome's trace
// events.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "trainer/observe/Trace.h"

#include "support/Error.h"
#include "support/File.h"

#include <ATen/record_function.h>
#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <mutex>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>

namespace tessera::trainer {
namespace {

using Time = Trace::Clock::time_point;

const char *categoryOf(const at::RecordFunction &f) {
  if (f.scope() == at::RecordScope::BACKWARD_FUNCTION)
    return "backward";
  if (f.scope() != at::RecordScope::USER_SCOPE)
    return "operation";
  return std::string_view(f.name()).starts_with("kernel ") ? "kernel" : "part";
}

/// Returns microseconds, the unit of the format, with three decimals.
std::string microseconds(Trace::Clock::duration d) {
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(d);
  return fmt::format("{}.{:03}", ns.count() / 1000, ns.count() % 1000);
}

using nlohmann::json;

std::string dumped(const json &value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// Returns the arguments of a launch's span, from its request.
json configurationOf(const json &request, size_t listed) {
  const json &options = request.at("options");
  json constexprs = json::object();
  for (const json &argument : request.at("args"))
    if (argument.at("kind") == "constexpr")
      constexprs[argument.at("name").get<std::string>()] = argument.at("value");
  return {{"target", request.at("target")},
          {"num_warps", options.at("num_warps")},
          {"num_stages", options.at("num_stages")},
          {"constexprs", constexprs},
          {"listed", listed}};
}

std::vector<json> parsed(const std::vector<std::string> &texts) {
  std::vector<json> all;
  for (const std::string &text : texts)
    all.push_back(json::parse(text));
  return all;
}

} // namespace

struct Trace::Recorder {
  struct Span {
    std::string name;
    const char *category;
    Time begin, end;
    pid_t thread;
    int64_t launch = -1; ///< Index in the list of launches, or -1.
  };
  /// State between the start and the end of a span. It owns the recorder,
  /// because a span may end after finish().
  struct Open : at::ObserverContext {
    std::shared_ptr<Recorder> recorder;
    Time begin;
  };

  /// The recorder for the callbacks of at::RecordFunction, which are stateless.
  static inline std::atomic<std::shared_ptr<Recorder>> active;

  static std::unique_ptr<at::ObserverContext>
  opened(const at::RecordFunction & /*f*/) {
    auto open = std::make_unique<Open>();
    open->recorder = active.load();
    open->begin = Clock::now();
    return open;
  }
  static void closed(const at::RecordFunction &f,
                     at::ObserverContext *context) {
    const auto *open = static_cast<const Open *>(context);
    if (!open->recorder)
      return;
    Span span{f.name(), categoryOf(f), open->begin, Clock::now(), gettid()};
    if (!f.outputs().empty() && f.scope() == at::RecordScope::USER_SCOPE)
      span.launch = f.outputs()[0].toInt();
    open->recorder->add(std::move(span));
  }

  void add(Span span) {
    const std::lock_guard lock(mutex);
    spans.push_back(std::move(span));
  }
  void endPhase(Time now) {
    if (phase)
      add({phase, "phase", phaseBegin, now, gettid()});
    phase = nullptr;
  }
  /// Returns the JSON of the trace. `launches` are the requests of all
  /// launches.
  std::string text(const std::vector<json> &launches) const;

  const Time start = Clock::now();
  at::CallbackHandle callback = 0, ranges = 0;
  int64_t step = 0; ///< Current step; 0: none.
  Time stepBegin;
  bool inPhases = false; ///< True after the start of the step's first phase.
  const char *phase = nullptr;
  Time phaseBegin;
  mutable std::mutex mutex;
  std::vector<Span> spans;
};

std::string Trace::Recorder::text(const std::vector<json> &launches) const {
  const std::lock_guard lock(mutex);
  std::string text = "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n";
  text += fmt::format("{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": "
                      "{}, \"args\": {{\"name\": \"tessera train\"}}}}",
                      getpid());
  std::vector<std::string> arguments;
  for (size_t i = 0; i < launches.size(); ++i)
    arguments.push_back(", \"args\": " +
                        dumped(configurationOf(launches[i], i)));
  for (const Span &s : spans)
    text += fmt::format(
        ",\n{{\"ph\": \"X\", \"name\": {}, \"cat\": \"{}\", \"pid\": {}, "
        "\"tid\": {}, \"ts\": {}, \"dur\": {}{}}}",
        dumped(s.name), s.category, getpid(), s.thread,
        microseconds(s.begin - start), microseconds(s.end - s.begin),
        s.launch < 0 ? "" : arguments.at(size_t(s.launch)));
  return text + "\n]}\n";
}

Trace::Trace(std::string file, StepRange steps, models::Kernels &kernels,
             std::string target, bool nvtx)
    : file(std::move(file)), steps(steps), kernels(kernels),
      target(std::move(target)) {
  if (nvtx)
    ranges.emplace();
}

Trace::~Trace() { finish(); }

std::string Trace::beginStep(int64_t number) {
  if (ranges)
    ranges->beginStep(number);
  if (number > steps.last)
    return finish();
  if (number >= steps.first && !recorder) {
    recorder = std::make_shared<Recorder>();
    Recorder::active.store(recorder);
    kernels.beginList();
    const at::RecordFunctionCallback tell(&Recorder::opened, &Recorder::closed);
    recorder->callback =
        at::addGlobalCallback(at::RecordFunctionCallback(tell).scopes(
            {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
    // Only user ranges need outputs: a launch has its index in the list as
    // output. For torch operations, outputs would be copied.
    recorder->ranges =
        at::addGlobalCallback(at::RecordFunctionCallback(tell)
                                  .scopes({at::RecordScope::USER_SCOPE})
                                  .needsOutputs(true));
  }
  if (recorder) {
    recorder->step = number;
    recorder->stepBegin = Clock::now();
    recorder->inPhases = false;
  }
  return {};
}

void Trace::phase(const char *name, Clock::time_point now) {
  if (ranges)
    ranges->phase(name);
  if (!recorder)
    return;
  recorder->endPhase(now);
  const bool first = recorder->step && !recorder->inPhases;
  recorder->phaseBegin = first ? recorder->stepBegin : now;
  recorder->phase = name;
  recorder->inPhases = true;
}

void Trace::endStep(Clock::time_point now) {
  if (ranges)
    ranges->endStep();
  if (!recorder || !recorder->step)
    return;
  recorder->endPhase(now);
  recorder->add({fmt::format("step {}", recorder->step), "step",
                 recorder->stepBegin, now, gettid()});
  recorder->step = 0;
}

std::string Trace::finish() {
  if (!recorder)
    return {};
  at::removeCallback(recorder->callback);
  at::removeCallback(recorder->ranges);
  Recorder::active.store(nullptr);
  const std::shared_ptr<Recorder> done = std::exchange(recorder, nullptr);
  const std::vector<json> ran = parsed(kernels.listed("")),
                          other = target.empty()
                                      ? std::vector<json>()
                                      : parsed(kernels.listed(target));
  kernels.endList();
  try {
    if (!target.empty()) {
      json list = json::array();
      for (size_t i = 0; i < ran.size(); ++i)
        list.push_back({{"ran", ran[i]}, {"for_target", other.at(i)}});
      const auto folder = std::filesystem::path(file).parent_path();
      writeFile(folder / "kernels.json", dumped(list));
    }
    writeFile(file, done->text(ran));
  } catch (const Error &e) {
    return fmt::format("WARNING: no trace: {}", e.message);
  }
  return "wrote " + file;
}

} // namespace tessera::trainer
