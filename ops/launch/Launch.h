// ops/launch/Launch.h - launches a kernel on tensors.
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

// Returns the tensor's memory from first to last element, which bounds the
// kernel's accesses. Throws Error for a type that kernels do not support.
Pointer pointerTo(const at::Tensor &tensor);

// Collects the arguments of a launch, in the order of docs/kernel-reference.md
// or by name, and runs it. Tile sizes come from the kernel's configuration. A
// repeated launch allocates no memory: the lists are members of this object,
// and one PreparedLaunch exists per file, name and device. CUDA launches are
// enqueued on torch's current stream of the tensors' GPU; the host does not
// wait.
class Launch {
public:
  // The texts must outlive run(). `constexprs` has the syntax of
  // ConstexprText.h and applies to the launch.
  Launch(std::string_view file, std::string_view kernel,
         std::string_view constexprs = {})
      : file(file), name(kernel), constexprs(constexprs) {}
  explicit Launch(const JitKernel &source)
      : name(source.kernel.name()), source(&source) {}
  Launch(const Launch &) = delete;

  // Adds a tensor, which must outlive run(); a temporary is stored.
  Launch &tensor(const at::Tensor &tensor);
  Launch &tensor(at::Tensor &&tensor);
  Launch &integer(int64_t value);
  Launch &real(double value);
  // Adds a bool, integer or floating-point number. Throws c10::ValueError for a
  // complex number.
  Launch &number(const c10::Scalar &value);
  // Adds Python's None.
  Launch &none();
  // Adds the token and head strides of a packed tensor.
  Launch &strides(const at::Tensor &tensor);
  // Reserves the position of a tensor whose size depends on the tiles;
  // bindScratch() sets it after tile().
  Launch &scratch(at::ScalarType type);
  // `read`: another kernel reads the tensor afterwards.
  Launch &bindScratch(const at::Tensor &tensor, bool read = true);

  // Adds an argument by name, in any order; the names must outlive run(). A
  // launch names all of its arguments or none. tile() and run() report unknown,
  // missing and repeated names.
  Launch &tensor(std::string_view parameter, const at::Tensor &tensor);
  Launch &integer(std::string_view parameter, int64_t value);
  Launch &real(std::string_view parameter, double value);
  Launch &scratch(std::string_view parameter, at::ScalarType type);
  // Adds a tuple with the fields ptr, token and head: the tensor and the
  // strides of its first two dimensions.
  Launch &rows(std::string_view parameter, const at::Tensor &tensor);

  // Sets a constexpr. The name must outlive run().
  Launch &constant(std::string_view name, int64_t value);
  // Sets a constexpr and its next power of two.
  Launch &padded(std::string_view name, std::string_view paddedName,
                 int64_t value);
  // Sets the size of a key head: D, and DP + DT columns as headSlices() splits
  // it.
  Launch &keyHead(int64_t size);

  // Sets the tokens of the longest sequence, which select tuned configurations.
  Launch &sequence(int64_t tokens);

  // Returns a tile size of the configuration. All arguments must be set.
  int64_t tile(std::string_view name);

  // Launches the kernel. Does nothing if a dimension is 0.
  void run(int64_t x, int64_t y = 1, int64_t z = 1);
  // Compiles or loads the code that run() needs, without a launch.
  void prepare();
  // Returns the request that run() would send to the compiler.
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
  // Throws ArgumentError for the first invalid name.
  [[noreturn]] void
  reportNames(const std::vector<std::string> &parameters) const;

  const std::string_view file, name, constexprs;
  const JitKernel *const source = nullptr; // used instead of the texts
  TensorDevice device;
  const PreparedLaunch *kernel = nullptr; // set by prepared()
  InlineVector<Arg, 40> args;
  InlineVector<ArgumentName, 40> names; // of `args`; empty: by position
  bool bound = false;                   // `args` are in the kernel's order
  InlineVector<Dimension, 24> dimensions;
  int64_t longest = 0; // sequence()
  size_t scratchPlace = 0;
  std::vector<at::Tensor> kept;
  std::vector<TensorExtent> extents; // while launches are recorded
};

// Returns an upper bound on the tiles of `size` entries for packed sequences of
// `total` entries, as the kernels' find_tile numbers them.
inline int64_t tileCount(int64_t total, int64_t size, int64_t sequences) {
  return total / size + sequences;
}

inline int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace tessera::runtime
