// ops/launch/Launch.h - one launch of a kernel on tensors.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"
#include "ops/attention/HeadSlices.h"
#include "ops/launch/JitKernel.h"
#include "ops/launch/TensorDevice.h"
#include "runtime/Kernel.h"
#include "runtime/launch/InlineVector.h"
#include "runtime/launch/TensorExtent.h"

#include <ATen/core/Tensor.h>
#include <algorithm>
#include <c10/core/Scalar.h>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::runtime {

// The tensor's memory, first to last element: a kernel may touch no more of its
// storage. Throws Error for a type that kernels do not take.
Pointer pointerTo(const at::Tensor &tensor);

// Collects the arguments of a launch, in the order of docs/kernels.md or by
// name, and runs it. Tile sizes are those of the kernel's configuration. A
// launch that was made before allocates nothing: the lists lie in the object,
// and the kernel is one PreparedLaunch a file, name and device. CUDA tensors
// run on torch's current stream of their GPU, and nothing is waited for.
class Launch {
public:
  // The texts live until run() is over.
  // `constexprs` is as of ConstexprText.h and holds for the launch.
  Launch(std::string_view file, std::string_view kernel,
         std::string_view constexprs = {})
      : file(file), name(kernel), constexprs(constexprs) {}
  explicit Launch(const JitKernel &source)
      : name(source.kernel.name()), source(&source) {}
  Launch(const Launch &) = delete;

  // The tensor lives until run() is over: a temporary is kept.
  Launch &tensor(const at::Tensor &tensor);
  Launch &tensor(at::Tensor &&tensor);
  Launch &integer(int64_t value);
  Launch &real(double value);
  // A bool, integer or floating-point number. Throws c10::ValueError for a
  // complex one.
  Launch &number(const c10::Scalar &value);
  // Python's None.
  Launch &none();
  // Token and head strides of a packed tensor.
  Launch &strides(const at::Tensor &tensor);
  // A tensor whose size depends on the tiles: its place now, itself once tile()
  // is known.
  Launch &scratch(at::ScalarType type);
  // `read`: another kernel reads what this one leaves there.
  Launch &bindScratch(const at::Tensor &tensor, bool read = true);

  // The same by name, in any order; the names live until run() is over. A
  // launch names all of its arguments or none. A name that the kernel does not
  // have, a missing one and one that is given twice are errors of tile() and
  // run().
  Launch &tensor(std::string_view parameter, const at::Tensor &tensor);
  Launch &integer(std::string_view parameter, int64_t value);
  Launch &real(std::string_view parameter, double value);
  Launch &scratch(std::string_view parameter, at::ScalarType type);
  // A tuple with the fields ptr, token and head: the tensor, and the strides of
  // its first two dimensions.
  Launch &rows(std::string_view parameter, const at::Tensor &tensor);

  // The name lives until run() is over.
  Launch &constant(std::string_view name, int64_t value);
  // A constant and its next power of two.
  Launch &padded(std::string_view name, std::string_view paddedName,
                 int64_t value);
  // The size of a key head: D, and DP + DT columns as headSlices() has them.
  Launch &keyHead(int64_t size);

  // Tokens of the longest sequence: tuned configurations go by it.
  Launch &sequence(int64_t tokens);

  // A tile size of the configuration; all arguments must be there.
  int64_t tile(std::string_view name);

  // Does nothing when a dimension is 0.
  void run(int64_t x, int64_t y = 1, int64_t z = 1);
  // Compiles or loads what run() needs, and launches nothing.
  void prepare();
  // What the compiler is asked for by run().
  language::CompileRequest compileRequest();

private:
  // "scale", or the field of a tuple: "q" and "ptr".
  struct ArgumentName {
    std::string_view parameter, field;

    bool is(std::string_view name) const;
    std::string text() const;
  };

  const PreparedLaunch &prepared();
  Launch &named(std::string_view parameter, std::string_view field = {});
  void bindNames();
  void moveArgument(size_t from, size_t to);
  // Throws ArgumentError for the first name that is wrong.
  [[noreturn]] void
  reportNames(const std::vector<std::string> &parameters) const;

  const std::string_view file, name, constexprs;
  const JitKernel *const source = nullptr; // in place of the texts
  TensorDevice device;
  const PreparedLaunch *kernel = nullptr; // once prepared() was called
  InlineVector<Arg, 40> args;
  InlineVector<ArgumentName, 40> names; // of `args`; empty: by position
  bool bound = false;                   // `args` are in the kernel's order
  InlineVector<Dimension, 24> dimensions;
  int64_t longest = 0; // sequence()
  size_t scratchPlace = 0;
  std::vector<at::Tensor> kept;
  std::vector<TensorExtent> extents; // while launches are recorded
};

// Tiles of `size` entries for packed sequences of `total` entries, as find_tile
// of the kernels numbers them: never too few, whatever the lengths.
inline int64_t tileCount(int64_t total, int64_t size, int64_t sequences) {
  return total / size + sequences;
}

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace tessera::runtime
