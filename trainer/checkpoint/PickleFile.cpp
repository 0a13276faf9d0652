// trainer/checkpoint/PickleFile.cpp - a reader of the pickles that hold
// tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// torch's C++ reader returns None for an OrderedDict, the type of state_dict().
// Opcodes are those of Python's pickletools.
#include "trainer/checkpoint/PickleFile.h"

#include "support/Descriptors.h"
#include "support/Error.h"
#include "support/File.h"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <sys/stat.h>
#include <torch/csrc/jit/serialization/pickler.h>

namespace tessera::trainer {
namespace {

[[noreturn]] void refusePickle(const std::string &file,
                               const std::string &why) {
  throw Error(fmt::format("{} is not a dictionary of tensors: {}", file, why),
              "torch.save(model.state_dict(), FILE) writes one; what holds it "
              "must be opened first, as torch.load(FILE)[\"model\"]");
}

// Limits on the memory and time that a small file can cause. A checkpoint of
// 100,000 tensors has about 4 million operations and 6 levels of nesting.
constexpr size_t mostOperations = size_t(1) << 24;
constexpr int deepest = 64;
constexpr size_t longestName = 1000; // of a module or of a global in it
constexpr size_t mostDimensions = 64;

struct PickleValue;

/// The items of a sequence, or alternating keys and values of a dictionary.
struct PickleItems {
  std::vector<PickleValue> values;
  int depth = 1;
};

struct PickleValue {
  enum Kind { None, Integer, Text, Sequence, Dict, Global, Tensor, Other };
  Kind kind = None;
  int64_t integer = 0;
  /// A text, the name of a global, or the name of the global that created the
  /// value. Copies share it, because two bytes of a file can repeat a long
  /// text.
  std::shared_ptr<const std::string> string;
  /// Owned by the reader. A later opcode may add to items, and items may
  /// contain themselves.
  PickleItems *items = nullptr;
  at::Tensor tensor;

  const std::string &text() const {
    static const std::string empty;
    return string ? *string : empty;
  }
};

/// The pickle virtual machine: a stack, marks in it, and memoized values.
class PickleReader {
public:
  PickleReader(const std::string &file,
               caffe2::serialize::PyTorchStreamReader &archive)
      : file(file), archive(archive), unread(std::filesystem::file_size(file)),
        program(record("data.pkl")) {}

  /// Runs the pickle and returns its value, which the reader must outlive.
  PickleValue run() {
    for (;;) {
      const uint8_t opcode = byte();
      if (opcode == '.')
        return pop();
      if (++operations > mostOperations)
        refusePickle(file, fmt::format("its pickle has more than {} operations",
                                       mostOperations));
      if (!constant(opcode) && !container(opcode) && !named(opcode))
        refusePickle(file, fmt::format("its pickle has the opcode {:#04x}",
                                       int(opcode)));
    }
  }

private:
  using Kind = PickleValue::Kind;

  std::string record(const std::string &name) {
    // torch.save stores each record once and uncompressed. Other files could
    // expand far beyond their size, so they are refused.
    const size_t length = archive.getRecordSize(name);
    if (length > unread)
      refusePickle(file, fmt::format("its records have more bytes than it, as "
                                     "of {}",
                                     name));
    unread -= length;
    const auto [data, size] = archive.getRecord(name);
    return {static_cast<const char *>(data.get()), size};
  }

  std::string bytes(uint64_t count) {
    if (count > program.size() - at)
      refusePickle(file, "its pickle is cut off");
    at += count;
    return program.substr(at - count, count);
  }
  uint8_t byte() { return uint8_t(bytes(1)[0]); }
  uint64_t number(int length) {
    uint64_t value = 0;
    for (int i = 0; i < length; ++i)
      value |= uint64_t(byte()) << (8 * i);
    return value;
  }
  std::string line() {
    const size_t end = program.find('\n', at);
    const std::string text = bytes(std::min(end, program.size()) - at);
    bytes(1);
    return text;
  }

  void push(PickleValue value) { stack.push_back(std::move(value)); }
  void push(Kind kind, int64_t integer = 0) {
    push({kind, integer, nullptr, nullptr, {}});
  }
  void push(Kind kind, std::string text) {
    push({kind,
          0,
          std::make_shared<const std::string>(std::move(text)),
          nullptr,
          {}});
  }
  void push(Kind kind, std::vector<PickleValue> given) {
    push({kind, 0, nullptr, newItems(std::move(given)), {}});
  }
  PickleItems *newItems(std::vector<PickleValue> given) {
    containers.emplace_back();
    addTo(containers.back(), std::move(given));
    return &containers.back();
  }
  void addTo(PickleItems &items, std::vector<PickleValue> given) {
    for (PickleValue &value : given) {
      if (value.items)
        items.depth = std::max(items.depth, value.items->depth + 1);
      items.values.push_back(std::move(value));
    }
    if (items.depth > deepest)
      refusePickle(
          file, fmt::format("its pickle is nested more than {} deep", deepest));
  }
  PickleValue pop() { return popMany(1)[0]; }
  std::vector<PickleValue> popMany(size_t count) {
    if (count > stack.size())
      refusePickle(file, "its pickle takes what is not there");
    const auto from = stack.end() - std::ptrdiff_t(count);
    std::vector<PickleValue> taken(std::make_move_iterator(from),
                                   std::make_move_iterator(stack.end()));
    stack.erase(from, stack.end());
    return taken;
  }
  /// Pops all values above the last mark.
  std::vector<PickleValue> popToMark() {
    if (marks.empty() || marks.back() > stack.size())
      refusePickle(file, "its pickle has no mark");
    const size_t count = stack.size() - marks.back();
    marks.pop_back();
    return popMany(count);
  }
  /// Appends values to the list or dictionary on top of the stack.
  void append(std::vector<PickleValue> values) {
    PickleValue of = pop();
    if (!of.items)
      refusePickle(file, "its pickle adds to a value without items");
    addTo(*of.items, std::move(values));
    push(std::move(of));
  }

  bool constant(uint8_t opcode) {
    switch (opcode) {
    case 0x80: // PROTO
      byte();
      return true;
    case 0x95: // FRAME
      number(8);
      return true;
    case 'N':
      push(Kind::None);
      return true;
    case 0x88: // NEWTRUE
    case 0x89: // NEWFALSE
      push(Kind::Integer, opcode == 0x88);
      return true;
    case 'J':
      push(Kind::Integer, int32_t(number(4)));
      return true;
    case 'K':
      push(Kind::Integer, int64_t(number(1)));
      return true;
    case 'M':
      push(Kind::Integer, int64_t(number(2)));
      return true;
    case 0x8a: { // LONG1
      const int length = byte();
      if (length > 8)
        refusePickle(file, "its pickle has a number of more than 64 bits");
      uint64_t value = number(length);
      if (length && length < 8 && value >> (8 * length - 1))
        value |= ~uint64_t(0) << (8 * length);
      push(Kind::Integer, int64_t(value));
      return true;
    }
    case 'G':
      number(8);
      push(Kind::Other, std::string("a float"));
      return true;
    case 0x8c: // SHORT_BINUNICODE
      push(Kind::Text, bytes(number(1)));
      return true;
    case 'X':
      push(Kind::Text, bytes(number(4)));
      return true;
    }
    return false;
  }

  bool container(uint8_t opcode) {
    switch (opcode) {
    case '(':
      marks.push_back(stack.size());
      return true;
    case '}':
      push(Kind::Dict, std::vector<PickleValue>());
      return true;
    case ']':
    case ')':
      push(Kind::Sequence, std::vector<PickleValue>());
      return true;
    case 't':
      push(Kind::Sequence, popToMark());
      return true;
    case 0x85: // TUPLE1
    case 0x86: // TUPLE2
    case 0x87: // TUPLE3
      push(Kind::Sequence, popMany(size_t(opcode - 0x84)));
      return true;
    case 'a':
      append(popMany(1));
      return true;
    case 's':
      append(popMany(2));
      return true;
    case 'e':
    case 'u':
      append(popToMark());
      return true;
    case 'b': // BUILD: attributes of an object, which are ignored
      pop();
      return true;
    }
    return false;
  }

  bool named(uint8_t opcode) {
    switch (opcode) {
    case 'q':
    case 'r':
    case 0x94: { // MEMOIZE
      const uint64_t place =
          opcode == 0x94 ? kept.size() : number(opcode == 'q' ? 1 : 4);
      kept[place] = pop();
      push(kept[place]);
      return true;
    }
    case 'h':
    case 'j': {
      const auto found = kept.find(number(opcode == 'h' ? 1 : 4));
      if (found == kept.end())
        refusePickle(file, "its pickle names a value that it lacks");
      push(found->second);
      return true;
    }
    case 'c': {
      const std::string module = line();
      push(Kind::Global, globalName(module, line()));
      return true;
    }
    case 0x93: { // STACK_GLOBAL
      const auto parts = popMany(2);
      push(Kind::Global, globalName(parts[0].text(), parts[1].text()));
      return true;
    }
    case 'R': {
      const auto call = popMany(2);
      static const std::vector<PickleValue> none;
      push(made(call[0].text(), call[1].items ? call[1].items->values : none));
      return true;
    }
    case 'Q':
      push(storage(pop()));
      return true;
    }
    return false;
  }

  std::string globalName(const std::string &module, const std::string &name) {
    if (module.size() > longestName || name.size() > longestName)
      refusePickle(file, fmt::format("its pickle has a global of more than {} "
                                     "bytes",
                                     longestName));
    return module + "." + name;
  }

  PickleValue made(const std::string &function,
                   const std::vector<PickleValue> &args) {
    if (function == "collections.OrderedDict")
      return {Kind::Dict, 0, nullptr, newItems({}), {}};
    if (function == "torch._utils._rebuild_parameter" && !args.empty())
      return args[0];
    if (function == "torch._utils._rebuild_tensor_v2" && args.size() >= 4)
      return {Kind::Tensor, 0, nullptr, nullptr, rebuilt(args)};
    return {Kind::Other,
            0,
            std::make_shared<const std::string>(function),
            nullptr,
            {}};
  }

  std::vector<int64_t> sizes(const PickleValue &value) {
    std::vector<int64_t> all;
    if (!value.items)
      return all;
    if (value.items->values.size() > mostDimensions)
      refusePickle(file, fmt::format("it has a tensor of more than {} "
                                     "dimensions",
                                     mostDimensions));
    for (const PickleValue &item : value.items->values)
      all.push_back(item.integer);
    return all;
  }

  /// Builds a tensor from (storage, first element, shape, strides, ...).
  at::Tensor rebuilt(const std::vector<PickleValue> &args) {
    const at::Tensor &all = args[0].tensor;
    const int64_t first = args[1].integer;
    const std::vector<int64_t> shape = sizes(args[2]), strides = sizes(args[3]);
    if (!all.defined() || first < 0 || shape.size() != strides.size())
      refusePickle(file, "it has a tensor without elements or shape");
    __int128 last = first;
    bool empty = false;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 0 || strides[i] < 0)
        refusePickle(file, "it has a tensor of a negative shape");
      empty = empty || shape[i] == 0;
      last += __int128(shape[i] - 1) * strides[i];
      if (last > all.numel())
        break;
    }
    if (!empty && last >= all.numel())
      refusePickle(file, "it has a tensor larger than its elements");
    return empty ? at::empty(shape, all.options())
                 : all.as_strided(shape, strides, first);
  }

  /// Reads ("storage", type, key, device, number of elements).
  PickleValue storage(const PickleValue &id) {
    static const std::map<std::string, at::ScalarType> types = {
        {"torch.FloatStorage", at::kFloat},
        {"torch.HalfStorage", at::kHalf},
        {"torch.BFloat16Storage", at::kBFloat16},
        {"torch.DoubleStorage", at::kDouble},
        {"torch.LongStorage", at::kLong},
        {"torch.IntStorage", at::kInt},
        {"torch.ByteStorage", at::kByte},
        {"torch.BoolStorage", at::kBool}};
    if (!id.items || id.items->values.size() < 5 ||
        id.items->values[0].text() != "storage")
      refusePickle(file, "its pickle refers to something outside");
    const std::string &type = id.items->values[1].text(),
                      &key = id.items->values[2].text();
    const auto found = types.find(type);
    if (found == types.end())
      refusePickle(file, "it has elements of " + type);
    at::Tensor &tensor = storages[key];
    if (!tensor.defined()) {
      const std::string data = record("data/" + key);
      tensor = at::empty(
          {int64_t(data.size()) / int64_t(c10::elementSize(found->second))},
          found->second);
      std::memcpy(tensor.data_ptr(), data.data(), tensor.nbytes());
    }
    return {Kind::Other, 0, nullptr, nullptr, tensor};
  }

  const std::string &file;
  caffe2::serialize::PyTorchStreamReader &archive;
  uint64_t unread; ///< Bytes that records not read yet can have.
  const std::string program;
  size_t at = 0, operations = 0;
  /// A deque does not move its elements when it grows. It destroys them one by
  /// one, so deep nesting causes no recursion.
  std::deque<PickleItems> containers;
  std::vector<PickleValue> stack;
  std::vector<size_t> marks;
  std::map<uint64_t, PickleValue> kept;
  std::map<std::string, at::Tensor> storages;
};

/// Calls use(value) with the value of the file.
template <typename F>
void withValue(const std::string &file, F use) {
  try {
    caffe2::serialize::PyTorchStreamReader archive(file);
    if (archive.hasRecord("byteorder") &&
        archive.getRecordSize("byteorder") < longestName) {
      const auto [order, size] = archive.getRecord("byteorder");
      if (std::string(static_cast<const char *>(order.get()), size) != "little")
        refusePickle(file, "it was written on a big-endian machine");
    }
    PickleReader reader(file, archive);
    use(reader.run());
  } catch (const c10::Error &e) {
    const std::string why = e.what_without_backtrace();
    refusePickle(file, why.substr(0, why.find('\n')));
  } catch (const std::bad_alloc &) {
    refusePickle(file, "its values do not fit into memory");
  }
}

} // namespace

std::string encodePickle(const std::vector<models::Parameter> &tensors) {
  c10::Dict<std::string, at::Tensor> dictionary;
  for (const models::Parameter &p : tensors)
    dictionary.insert(p.name, p.value.clone());
  // torch::pickle_save also writes the dictionary's type, which
  // torch.load(weights_only=True) refuses.
  std::string names, file;
  torch::jit::Pickler pickler(
      [&](const char *data, size_t size) { names.append(data, size); }, nullptr,
      nullptr, nullptr, nullptr, /*tag_aggregates=*/false);
  pickler.protocol();
  pickler.pushIValue(dictionary);
  pickler.stop();
  caffe2::serialize::PyTorchStreamWriter writer(
      [&](const void *data, size_t size) {
        file.append(static_cast<const char *>(data), size);
        return size;
      });
  writer.writeRecord("data.pkl", names.data(), names.size());
  for (size_t i = 0; i < pickler.tensorData().size(); ++i) {
    const at::Tensor &tensor = pickler.tensorData()[i];
    writer.writeRecord(fmt::format("data/{}", i), tensor.const_data_ptr(),
                       tensor.nbytes());
  }
  writer.writeEndOfFile();
  return file;
}

std::map<std::string, at::Tensor> readPickle(const std::string &file) {
  // open() of a FIFO would block until a writer opens it.
  struct stat info = {};
  const UniqueFd open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!open || ::fstat(open.get(), &info) != 0)
    throw Error("cannot read " + file + ": " + errnoText(errno),
                hintForOpen(errno, "name a file that torch.save wrote"));
  if (!S_ISREG(info.st_mode))
    refusePickle(file, "it is not a regular file");
  std::map<std::string, at::Tensor> all;
  withValue(file, [&](const PickleValue &value) {
    if (value.kind != PickleValue::Dict)
      refusePickle(file, "it holds something else");
    const std::vector<PickleValue> &items = value.items->values;
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
      const PickleValue &key = items[i], &item = items[i + 1];
      if (key.kind != PickleValue::Text || item.kind != PickleValue::Tensor)
        refusePickle(file, key.kind == PickleValue::Text
                               ? key.text() + " is not a tensor"
                               : "a name in it is not a text");
      all.insert_or_assign(key.text(), item.tensor);
    }
  });
  return all;
}

} // namespace tessera::trainer
