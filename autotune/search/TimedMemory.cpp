// autotune/search/TimedMemory.cpp - memory of recorded launches that are timed.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "autotune/search/TimedMemory.h"

#include <cstring>

namespace tessera::tune {

TimedMemory::TimedMemory(const cases::LoadedCase &loaded) {
  for (const cases::CaseArgument &argument : loaded.recorded.arguments) {
    if (argument.kind != cases::ArgumentKind::Pointer)
      continue;
    const cases::StoredTensor stored =
        cases::tensorOf(loaded, loaded.before, "before.safetensors", argument);
    Argument one{
        {},
        cases::makeBuffer(argument, stored,
                          "before.safetensors: tensor `" + argument.name + "`"),
        ""};
    one.memory.name = argument.name;
    one.memory.begin = one.buffer.data();
    one.memory.bytes = one.buffer.size();
    one.memory.address =
        one.buffer.data() +
        argument.layout.origin() * int64_t(cases::elementBytes(*argument.type));
    one.memory.written = loaded.recorded.isWritten(argument.name);
    if (one.memory.written)
      one.initial = std::string(one.buffer.view());
    held.push_back(std::move(one));
  }
}

std::vector<Arg>
TimedMemory::arguments(const cases::PreparedLaunch &launch) const {
  return cases::boundArguments(launch, memory());
}

std::vector<cases::ArgumentMemory> TimedMemory::memory() const {
  std::vector<cases::ArgumentMemory> list;
  for (const Argument &one : held)
    list.push_back(one.memory);
  return list;
}

void TimedMemory::restore() {
  for (Argument &one : held)
    if (one.memory.written)
      std::memcpy(one.buffer.data(), one.initial.data(), one.initial.size());
}

} // namespace tessera::tune
