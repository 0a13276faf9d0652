// tools/check/Gradients.cpp - compares backward kernels with finite
// differences.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/check/Gradients.h"

#include "support/Error.h"
#include "support/Lists.h"
#include "support/Outliers.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::tools {
namespace {

// Number of elements of every input whose derivatives are compared
// individually.
constexpr int64_t samples = 64;
// Number of random directions over all elements of an input; then one direction
// for each of at most mostRanges ranges of at least leastRange elements. In a
// short range the rounding errors of other elements cannot hide a wrong
// element.
constexpr int directions = 4;
constexpr int64_t mostRanges = 32, leastRange = 256;
// Number of ranges for long sequences, because their reference is slow.
constexpr int64_t longRanges = 8;
// Step for inputs of unit size: the truncation error is about step^2, the
// rounding error 1e-16 / step.
constexpr double step = 1e-4;

// Returns "X" for "DX" if X is a tensor of the forward kernel.
std::string primal(const GradientCheck &check, const std::string &name) {
  if (name.size() > 1 && name[0] == 'D')
    for (const auto &parameter : check.kernel->info.signature.parameters)
      if (tensorName(parameter.name) == name.substr(1))
        return name.substr(1);
  return "";
}

// Returns the pointer parameters D<X> of the backward kernels, for outputs or
// inputs X.
std::vector<std::string> derivatives(const GradientCheck &check,
                                     bool ofOutputs) {
  std::vector<std::string> names;
  for (const DescriptionPtr &kernel : check.backward)
    for (const auto &parameter : kernel->info.signature.parameters) {
      const std::string name = tensorName(parameter.name);
      const std::string of = primal(check, name);
      if (!parameter.isConstexpr && !of.empty() &&
          isListed(check.outputs, of) == ofOutputs && !isListed(names, name))
        names.push_back(name);
    }
  return names;
}

Tensors converted(const Tensors &tensors, DType type) {
  Tensors result;
  for (const auto &[name, tensor] : tensors)
    result[name] = tensor.isFloat() ? tensor.as(type) : tensor.copy();
  return result;
}

// Returns delta = sum of O * DO over the last dimension, [heads, tokens].
Tensor deltaOf(const Tensor &o, const Tensor &upstream) {
  const auto &shape = o.shape();
  Tensor delta(DType::FP32, {shape[1], shape[0]});
  for (int64_t t = 0; t < shape[0]; ++t)
    for (int64_t h = 0; h < shape[1]; ++h) {
      double sum = 0;
      for (int64_t e = 0; e < shape[2]; ++e) {
        const int64_t at = (t * shape[1] + h) * shape[2] + e;
        sum += o.at(at) * upstream.at(at);
      }
      delta.set(h * shape[0] + t, sum);
    }
  return delta;
}

// The loss sum(O * DO) of the reference in fp64, and its derivatives.
class Loss {
public:
  Loss(const GradientCheck &check, const Problem &problem,
       const Tensors &forward, const Tensors &upstream)
      : check(check), problem(problem),
        tensors(converted(forward, DType::FP64)), upstream(upstream) {
    try {
      const LaunchRequest request = problem.request(*check.reference, tensors);
      request.kernel.prepare(request.args, request.constexprs);
    } catch (const CompileError &error) {
      throw Error(
          "the reference does not compile for fp64, in which gradients are "
          "compared:\n" +
              error.message,
          "give its accumulators the type of an argument, for example "
          "tl.zeros((D,), Q.dtype.element_ty), not tl.float32");
    }
  }

  // Returns the derivative along `direction`, a function of the element.
  template <typename Direction>
  double along(const std::string &input, Direction direction) {
    Tensor &tensor = tensors.at(input);
    const Tensor original = tensor.copy();
    double values[2];
    for (int side : {0, 1}) {
      for (int64_t i = 0, end = tensor.count(); i < end; ++i)
        if (const double d = direction(i))
          tensor.set(i, original.at(i) + (side ? step : -step) * d);
      values[side] = value();
    }
    tensor = original;
    return (values[1] - values[0]) / (2 * step);
  }

  double element(const std::string &input, int64_t index) {
    Tensor &tensor = tensors.at(input);
    const double original = tensor.at(index);
    tensor.set(index, original + step);
    const double high = value();
    tensor.set(index, original - step);
    const double low = value();
    tensor.set(index, original);
    return (high - low) / (2 * step);
  }

private:
  double value() {
    problem.run(*check.reference, tensors);
    double sum = 0;
    for (const auto &[name, weight] : upstream) {
      const Tensor &output = tensors.at(name.substr(1));
      for (int64_t i = 0, end = output.count(); i < end; ++i)
        sum += output.at(i) * weight.at(i);
    }
    return sum;
  }

  const GradientCheck &check;
  const Problem &problem;
  Tensors tensors;
  const Tensors &upstream;
};

// Returns +1 or -1 for every element, different for every direction.
double sign(int64_t index, int which) {
  uint64_t x = uint64_t(index) * 0x9e3779b97f4a7c15 + uint64_t(which + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  return (x ^ (x >> 31)) & 1 ? 1 : -1;
}

// Both derivatives along sign(i, which) over the elements first <= i < last.
struct Along {
  double value = 0, expected = 0;
  // Returns the error; infinite if one of the derivatives is NaN.
  double error() const {
    const double far = std::fabs(value - expected);
    return std::isnan(far) ? std::numeric_limits<double>::infinity() : far;
  }
};

Along alongRange(Loss &loss, const std::string &input, const Tensor &gradient,
                 int which, int64_t first, int64_t last) {
  Along result;
  for (int64_t i = first; i < last; ++i)
    result.value += gradient.at(i) * sign(i, which);
  result.expected = loss.along(input, [&](int64_t i) {
    return i < first || i >= last ? 0 : sign(i, which);
  });
  return result;
}

struct Range {
  int64_t first = 0, last = 0;
};

// Returns an element that makes the derivative along a direction wrong. Bisects
// the range: continues in the half with the larger error.
int64_t wrongElement(Loss &loss, const std::string &input,
                     const Tensor &gradient, int which, Range range) {
  auto [first, last] = range;
  while (last - first > 1) {
    const int64_t middle = first + (last - first) / 2;
    if (alongRange(loss, input, gradient, which, first, middle).error() >=
        alongRange(loss, input, gradient, which, middle, last).error())
      last = middle;
    else
      first = middle;
  }
  return first;
}

// Errors of single elements add up as the elements do. Divided by the norm of
// the range, both sides are compared like one element.
void checkRange(Loss &loss, const std::string &input, const Tensor &gradient,
                int which, Range range, double limit, GradientResult &result) {
  const auto at = [&](int64_t i) { return gradient.at(i); };
  const auto [first, last] = range;
  const double size =
      std::max(rmsOf(0, gradient.count(), at), rmsOf(first, last, at));
  const double norm = size * std::sqrt(double(last - first));
  const Along all = alongRange(loss, input, gradient, which, first, last);
  const double error = all.error() / std::max(norm, 1e-30);
  if (!(error / 3 <= result.difference.error))
    result.difference.error = error / 3;
  if (error <= 3 * limit || result.difference.where >= 0)
    return;
  result.difference.where = first;
  result.difference.wrong = 1;
  result.difference.value = all.value;
  result.difference.expected = all.expected;
  result.place = " along a random direction over all elements";
  // If few elements are wrong and no sample is one of them, reports one of
  // them.
  const int64_t wrong = wrongElement(loss, input, gradient, which, range);
  const Along one = alongRange(loss, input, gradient, which, wrong, wrong + 1);
  if (one.error() > limit * std::max(size, std::fabs(one.expected))) {
    result.difference.value = one.value * sign(wrong, which);
    result.difference.expected = one.expected * sign(wrong, which);
    result.place = gradient.place(wrong);
  }
}

// Compares the derivatives of some elements individually.
GradientResult checkSamples(Loss &loss, const std::string &input,
                            const Tensor &gradient, double limit) {
  const int64_t count = gradient.count();
  std::vector<int64_t> places;
  const int64_t stride = std::max<int64_t>(1, count / samples);
  for (int64_t i = 0; i < count; i += stride)
    // Varies the column of the samples.
    places.push_back(std::min(i + i / stride % stride, count - 1));
  const std::vector<double> rows = rowSizes(gradient);
  std::vector<double> values, expected, sizes;
  for (int64_t place : places) {
    values.push_back(gradient.at(place));
    expected.push_back(loss.element(input, place));
    sizes.push_back(rowSize(gradient, rows, place));
  }
  GradientResult result;
  result.difference = compare(values, expected, sizes, limit);
  if (result.difference.where >= 0)
    result.place = gradient.place(places[size_t(result.difference.where)]);
  return result;
}

GradientResult checkOne(Loss &loss, const std::string &input,
                        const Tensor &gradient, double limit,
                        bool directionsOnly) {
  GradientResult result;
  if (!directionsOnly)
    result = checkSamples(loss, input, gradient, limit);
  if (result.difference.where >= 0)
    return result;
  const int64_t count = gradient.count();
  for (int which = 0; which < (directionsOnly ? 1 : directions); ++which)
    checkRange(loss, input, gradient, which, {0, count}, limit, result);
  const int64_t ranges = std::min(directionsOnly ? longRanges : mostRanges,
                                  (count + leastRange - 1) / leastRange);
  for (int64_t i = 0; ranges > 1 && i < ranges; ++i)
    checkRange(loss, input, gradient, directions,
               {i * count / ranges, (i + 1) * count / ranges}, limit, result);
  return result;
}

} // namespace

std::vector<std::string> gradientNames(const GradientCheck &check) {
  std::vector<std::string> names = derivatives(check, false);
  if (names.empty() || derivatives(check, true).empty()) {
    std::string kernels;
    for (const DescriptionPtr &kernel : check.backward)
      kernels +=
          (kernels.empty() ? "`" : ", `") + kernel->info.signature.kernel + "`";
    throw Error("cannot tell gradients of " + kernels + " by name",
                "the gradient of an argument X of the forward is DX: a "
                "backward reads DO and writes DQ, DK, DV, for example");
  }
  return names;
}

BackwardRun runBackward(const GradientCheck &check, const Problem &problem,
                        const std::vector<std::string> &wide, DType type) {
  BackwardRun made;
  Tensors &tensors = made.tensors;
  tensors = problem.tensors();
  for (auto &[name, tensor] : tensors)
    tensor = tensor.copy();
  problem.run(*check.kernel, tensors);
  made.forward = tensors;
  for (const std::string &name : derivatives(check, true)) {
    const Tensor &output = made.forward.at(name.substr(1));
    Tensor weight(output.type(), output.shape(), output.strides());
    weight.fillRandom(uint64_t(name.size()) * 77);
    made.upstream[name] = weight;
    tensors[name] = weight;
  }
  for (const std::string &name : gradientNames(check)) {
    const Tensor &input = made.forward.at(name.substr(1));
    Tensor gradient(isListed(wide, name) ? type : input.type(), input.shape(),
                    input.strides());
    gradient.fill(std::numeric_limits<double>::quiet_NaN());
    tensors[name] = gradient;
  }
  if (!tensors.count("DELTA") && tensors.count("DO") &&
      made.forward.at("O").shape().size() == 3)
    tensors["DELTA"] = deltaOf(made.forward.at("O"), made.upstream.at("DO"));
  for (const DescriptionPtr &kernel : check.backward)
    problem.run(*kernel, tensors);
  return made;
}

std::map<std::string, GradientResult> checkGradients(const GradientCheck &check,
                                                     const Problem &problem,
                                                     double limit) {
  const BackwardRun made = runBackward(check, problem);
  Loss loss(check, problem, made.forward, made.upstream);
  std::map<std::string, GradientResult> results;
  for (const std::string &name : gradientNames(check))
    results[name] = checkOne(loss, name.substr(1), made.tensors.at(name), limit,
                             problem.shape().directionsOnly);
  return results;
}

} // namespace tessera::tools
