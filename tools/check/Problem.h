// tools/check/Problem.h - makes arguments for a kernel from its hints and the
// names of its parameters.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/launch/Describe.h"
#include "tools/check/Tensor.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tessera::tools {

using runtime::Description;
using runtime::Sizes;

// One line of the shape list.
struct Shape {
  // Sizes that the hint check(...) fixes or varies, and for packed sequences T
  // (tokens), S (longest sequence), B (sequences) and H (key/value heads).
  Sizes sizes;
  // Tensors by name whose shape the caller sets.
  std::map<std::string, std::vector<int64_t>> tensors;
  std::vector<int64_t> lengths; // of the sequences; empty: not packed
  std::string text;             // "64+0+47 H=2"
  std::string remark;           // what the shape does not cover
  // Reason for the length of the longest sequence; empty if the file sets it.
  std::string reason;
  // Compares gradients along directions only, because individual elements take
  // long.
  bool directionsOnly = false;
};

// Returns the shape of packed sequences of these lengths.
Shape packedShape(std::vector<int64_t> lengths, int64_t heads);

// Returns the shapes to try: for a kernel with a parameter CU, sequences whose
// lengths no tile divides; otherwise the lists of the hint check(...). Throws
// Error.
std::vector<Shape> shapesOf(const Description &kernel,
                            const language::Instance &instance);

// Returns the shapes for comparing gradients: sequences longer than the windows
// and tiles in the constexprs, and one that has every class of tile, or the
// author's check(lengths=...). For other kernels, returns the second entries of
// the lists. Throws Error.
std::vector<Shape> gradientShapesOf(const Description &kernel,
                                    const language::Instance &instance);

// Tensors by parameter name; the field ptr of a tuple q is `Q`.
using Tensors = std::map<std::string, Tensor>;

// Returns "Q" for the parameter q.ptr, and other names unchanged.
std::string tensorName(std::string parameter);

// The data that the launches of one instance and shape share. docs/authoring.md
// explains the names and hints.
class Problem {
public:
  // Allocates and fills the tensors. Throws Error if the file does not
  // determine an argument.
  Problem(std::shared_ptr<const Description> kernel,
          const language::Instance &instance, const Shape &shape);

  const Shape &shape() const { return given; }
  // Returns the tensors of the kernel's pointer parameters. Floats are normal
  // random numbers. If the kernel takes strides, they are wider than packed
  // ones.
  const Tensors &tensors() const { return made; }
  // Returns a tensor with the conventional shape of a name, or nullopt for
  // other names.
  std::optional<Tensor> conventional(const std::string &name, DType type) const;

  // Makes launches use these constexprs, warps and stages instead of the
  // instance's.
  void setTiles(const language::Value::Config &config);

  // Sets the device of the kernel and of those in `others`. All other kernels,
  // especially references, run on the cpu.
  void setDevice(const std::string &name,
                 std::vector<const Description *> others = {});

  // Makes launches pass this value for the parameter.
  void setScalar(const std::string &name, Arg value) { scalars[name] = value; }

  // Returns the arguments of a kernel of the file, found by name. Throws Error
  // for an unknown parameter.
  std::vector<Arg> arguments(const Description &other,
                             const Tensors &tensors) const;
  // Returns the instance's constexprs that the kernel also has.
  Constexprs constexprs(const Description &other) const;
  // Launches the kernel over `over`, or else over the grid of its hint. Throws
  // Error if it wrote outside a tensor.
  void run(const Description &other, const Tensors &tensors,
           const std::optional<Grid> &over = std::nullopt) const;
  // Returns the compile request of that launch without running it.
  LaunchRequest request(const Description &other, const Tensors &tensors) const;

private:
  void readCheck();
  void makeTensors();
  Tensor tensorFor(const language::Argument &argument, DType type);
  // Evaluates a hint's shape of a tensor: "[N, 4]".
  language::Value shapeOf(const std::string &name,
                          const language::Expr &spec) const;
  Tensor strided(const std::string &name, DType type,
                 std::vector<int64_t> shape) const;
  std::optional<std::vector<int64_t>>
  conventionalShape(const std::string &name) const;
  Arg scalar(const Description &other, const std::string &name,
             const Tensors &tensors) const;
  int64_t size(const std::string &name, const std::string &wantedBy) const;

  std::shared_ptr<const Description> kernel;
  const language::Instance &instance;
  Shape given;
  Sizes sizes; // the shape's and the integer constexprs
  std::map<std::string, Arg> scalars;
  std::string device = "cpu";
  std::vector<const Description *> onDevice;
  Constexprs tiles;
  std::optional<int64_t> tileWarps, tileStages;
  std::map<std::string, const language::Expr *> tensorSpecs;
  Tensors made;
};

} // namespace tessera::tools
