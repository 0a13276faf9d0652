// tools/check/Problem.h - arguments for a kernel, from its hints and the names
// of its parameters.
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
  // What the hint check(...) fixes or lets run, and for packed sequences T
  // (tokens), S (the longest), B (sequences) and H (key/value heads).
  Sizes sizes;
  // Tensors whose shape the caller says, by name.
  std::map<std::string, std::vector<int64_t>> tensors;
  std::vector<int64_t> lengths; // of the sequences; empty: T, B are not ours
  std::string text;             // "64+0+47 H=2"
  std::string remark;           // what it does not reach
  // Why the longest sequence is as long as it is; empty where the file says it.
  std::string reason;
  // Gradients are compared along directions alone: each one by one takes long.
  bool directionsOnly = false;
};

// Packed sequences of these lengths.
Shape packedShape(std::vector<int64_t> lengths, int64_t heads);

// The shapes to try: sequences of lengths that no tile divides for a kernel
// with a parameter CU, else the lists of the hint check(...). Throws Error.
std::vector<Shape> shapesOf(const Description &kernel,
                            const language::Instance &instance);

// The shapes to compare gradients for: sequences that reach past the windows
// and tiles which the constexprs tell of, and one that has every class of tile;
// or the author's check(lengths=...); of the lists for another kernel the
// second entries. Throws Error.
std::vector<Shape> gradientShapesOf(const Description &kernel,
                                    const language::Instance &instance);

// By the names of parameters; of a tuple q with a field ptr, `Q`.
using Tensors = std::map<std::string, Tensor>;

// "Q" of the parameter q.ptr. Other names are as they are.
std::string tensorName(std::string parameter);

// All that the launches of one instance and shape share. docs/authoring.md has
// the names and hints.
class Problem {
public:
  // Makes the tensors and fills them. Throws Error when the file does not say
  // enough about an argument.
  Problem(std::shared_ptr<const Description> kernel,
          const language::Instance &instance, const Shape &shape);

  const Shape &shape() const { return given; }
  // Of the kernel's pointer parameters. Those of floats are normal random
  // numbers, with strides wider than the packed ones where the kernel takes
  // strides.
  const Tensors &tensors() const { return made; }
  // A tensor of the shape that a name has by convention; none for others.
  std::optional<Tensor> conventional(const std::string &name, DType type) const;

  // Launches use these constexprs, warps and stages instead of the instance's.
  void setTiles(const language::Value::Config &config);

  // Where launches of the kernel itself, and of those in `others`, run; all
  // others, references above all, stay on the cpu.
  void setDevice(const std::string &name,
                 std::vector<const Description *> others = {});

  // Launches pass this for the parameter.
  void setScalar(const std::string &name, Arg value) { scalars[name] = value; }

  // The arguments of a kernel of the file, found by name. Throws Error for a
  // parameter that nothing is known of.
  std::vector<Arg> arguments(const Description &other,
                             const Tensors &tensors) const;
  // The instance's constexprs that the kernel has, too.
  Constexprs constexprs(const Description &other) const;
  // Launches it over the grid, that of its hint unless another is given. Throws
  // Error when it wrote outside a tensor.
  void run(const Description &other, const Tensors &tensors,
           const std::optional<Grid> &over = std::nullopt) const;
  // The same less running: what it would compile.
  LaunchRequest request(const Description &other, const Tensors &tensors) const;

private:
  void readCheck();
  void makeTensors();
  Tensor tensorFor(const language::Argument &argument, DType type);
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
