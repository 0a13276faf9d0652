// models/SelectionCheck.cpp - compares selection, output and gradients of a
// pattern that selects blocks with plain torch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "models/SelectionCheck.h"

#include "models/SelectedRows.h"
#include "models/SelectionReference.h"
#include "ops/Attention.h"
#include "support/Error.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <torch/csrc/autograd/autograd.h>

namespace tessera::models {
namespace {

using at::Tensor;
using runtime::PatternSelection;
using runtime::Scorer;
using MaybeTensor = std::optional<Tensor>;

/// Type and head sizes of one comparison.
struct Case {
  at::ScalarType type;
  int64_t keyHeads, group, keyDim, valueDim;
  double limit; ///< Largest allowed relative RMS error.
};

const Case cases[] = {{at::kFloat, 2, 1, 32, 32, 1e-5},
                      {at::kFloat, 2, 2, 32, 48, 1e-5},
                      {at::kFloat, 1, 6, 64, 64, 1e-5},
                      {at::kBFloat16, 1, 6, 64, 64, 2e-2},
                      {at::kBFloat16, 1, 16, 32, 32, 2e-2}};
const std::vector<int64_t> lengths = {0, 1, 119, 64, 33};

/// Returns the selection with smaller sizes, so that it omits blocks even in
/// sequences of about 100 tokens.
PatternSelection small(PatternSelection s) {
  if (s.scorer != Scorer::None && s.streams != runtime::Streams::Joined)
    s.block = std::min<int64_t>(s.block, 16);
  if (s.length > 16) {
    s.stride = std::max<int64_t>(1, s.stride * 16 / s.length);
    s.length = 16;
  }
  s.first = std::min<int64_t>(s.first, 1);
  s.local = std::min<int64_t>(s.local, 2);
  s.top = s.first + s.local + (s.local > 0 ? 1 : 3);
  s.window = std::min<int64_t>(s.window, 24);
  s.denseBelow = 0;
  s.heads = std::min<int64_t>(s.heads, 2);
  s.width = std::min<int64_t>(s.width, 16);
  return s;
}

/// Returns "name=value, ..." with the integers of the select(...) directive,
/// then the integer parameters of the pattern's functions. The latter are small
/// enough to hide keys of short sequences.
std::string textOf(PatternSelection s, const runtime::PatternFile &pattern) {
  std::string text;
  for (const std::string &name : s.names())
    text +=
        fmt::format("{}{}={}", text.empty() ? "" : ", ", name, *s.find(name));
  int64_t limit = 41;
  for (const auto &parameter : pattern.parameters) {
    const auto *integer = parameter.defaultValue.get<language::Int>();
    if (!integer || s.find(parameter.name))
      continue;
    text += fmt::format(", {}={}", parameter.name,
                        int64_t(std::min<language::Int>(*integer, limit)));
    limit = 5;
  }
  return text;
}

struct Pattern {
  std::shared_ptr<const runtime::PatternFile> file;
  std::string constants; ///< Values of its functions' parameters.
};

struct Inputs {
  Tensor q, k, v, learned, gates, indexQ, indexK, indexWeights;
  std::vector<Tensor> leaves; ///< Inputs whose gradients are compared.
};

Inputs inputsOf(const Case &c, const PatternSelection &s, int64_t learned) {
  const int64_t tokens =
      std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  const int64_t heads = c.keyHeads * c.group,
                lists = s.lists(heads, c.keyHeads);
  at::Generator generator = at::detail::createCPUGenerator(17);
  const auto draw = [&](at::IntArrayRef shape, at::ScalarType type) {
    return at::randn(shape, generator).to(type);
  };
  Inputs in;
  in.q = draw({tokens, heads, c.keyDim}, c.type).requires_grad_();
  const int64_t keyHeads = s.pairs() * c.keyHeads;
  in.k = draw({tokens, keyHeads, c.keyDim}, c.type).requires_grad_();
  in.v = draw({tokens, keyHeads, c.valueDim}, c.type).requires_grad_();
  in.leaves = {in.q, in.k, in.v};
  if (learned > 0)
    in.leaves.push_back(
        in.learned =
            (0.5 * draw({learned, heads}, at::kFloat)).requires_grad_());
  if (s.streams == runtime::Streams::Gated)
    in.leaves.push_back(
        in.gates =
            draw({tokens, c.keyHeads, s.pairs()}, c.type).requires_grad_());
  if (s.scorer == Scorer::Indexer) {
    in.indexQ = draw({tokens, lists, s.heads, s.width}, c.type);
    in.indexK = draw({tokens, s.width}, c.type);
    in.indexWeights = draw({tokens, lists, s.heads}, at::kFloat);
  }
  return in;
}

std::tuple<Tensor, Tensor> run(const std::string &file,
                               const std::string &parameters, const Inputs &in,
                               const Tensor &starts) {
  const auto maybe = [](const Tensor &t) {
    return t.defined() ? MaybeTensor(t) : std::nullopt;
  };
  const AttentionResult r =
      attention(in.q, in.k, in.v, starts,
                *std::max_element(lengths.begin(), lengths.end()), file,
                {.parameters = parameters,
                 .learned = maybe(in.learned),
                 .perSequence = std::nullopt,
                 .indexQ = maybe(in.indexQ),
                 .indexK = maybe(in.indexK),
                 .indexWeights = maybe(in.indexWeights),
                 .gateLogits = maybe(in.gates),
                 .scale = std::nullopt});
  return {r.o, r.indices};
}

double relative(const Tensor &found, const Tensor &wanted) {
  const double size = wanted.norm().item<double>();
  const double error =
      (found.to(at::kDouble) - wanted.to(at::kDouble)).norm().item<double>();
  return size > 0 ? error / size : error;
}

/// Converts [n, heads, d] to [1, heads, n, d].
Tensor byHead(const Tensor &x) { return x.transpose(0, 1).unsqueeze(0); }

/// Returns the inputs of one sequence for plain torch.
SelectedRows rowsOf(const Inputs &in, const PatternSelection &s, int64_t first,
                    int64_t length) {
  const auto part = [&](const Tensor &x) {
    return x.detach().narrow(0, first, length).to(at::kFloat);
  };
  const int64_t heads = in.k.size(1) / s.pairs();
  SelectedRows rows{s, 0, length, length, {}, {}, {}, {}, {}, {}, {}, {}, {}};
  rows.query = byHead(part(in.q));
  rows.key = byHead(part(in.k).narrow(1, 0, heads));
  if (in.indexQ.defined()) {
    rows.indexQuery = byHead(part(in.indexQ).flatten(1, 2));
    rows.indexKey = part(in.indexK).unsqueeze(0);
    rows.indexWeights =
        part(in.indexWeights).flatten(1, 2).transpose(0, 1).unsqueeze(0);
  }
  return rows;
}

/// Returns the relative error of the summed scores of the selected blocks.
/// Compares scores, not indices: blocks with equal scores are interchangeable.
double scoreError(const SelectedRows &rows, const Tensor &indices) {
  // Append a column: without it, gather() fails for a sequence that is too
  // short for a compressed key.
  const Tensor scores = at::constant_pad_nd(rows.scores(), {0, 1}, 0);
  const auto sum = [&](const Tensor &chosen) {
    const Tensor number = chosen.to(at::kLong);
    return scores.gather(-1, number.clamp_min(0))
        .masked_fill(number < 0, 0)
        .sum(-1);
  };
  const Tensor wanted = rows.indices();
  TORCH_CHECK(((wanted < 0) == (indices < 0)).all().item<bool>(),
              "lists have unlike numbers of blocks");
  return relative(sum(indices), sum(wanted));
}

/// Returns the scores that the pattern's plain kernel computes in fp64. To have
/// gradients, they are linearized around the products [Hq, n, keys] and numbers
/// [Hq]; the slopes are finite differences. `number` is undefined if the
/// pattern's `modify` does not read it.
Tensor linearScores(const Pattern &pattern, const Tensor &products,
                    const Tensor &number) {
  static const auto op =
      c10::Dispatcher::singleton()
          .findSchemaOrThrow("tessera::pattern_scores", "")
          .typed<Tensor(const Tensor &, int64_t, c10::string_view,
                        c10::string_view, const MaybeTensor &)>();
  const at::NoGradGuard noGrad;
  const auto at = [&](double more, double moreOfNumber) {
    const MaybeTensor numbers =
        number.defined() ? MaybeTensor(number.detach() + moreOfNumber)
                         : std::nullopt;
    return op
        .call((products.detach() + more).unsqueeze(0), 0, pattern.file->path,
              pattern.constants, numbers)
        .squeeze(0);
  };
  constexpr double step = 1e-5;
  const Tensor value = at(0, 0);
  const auto slope = [&](double more, double moreOfNumber) {
    return ((at(more, moreOfNumber) - at(-more, -moreOfNumber)) / (2 * step))
        .masked_fill(value.isfinite().logical_not(), 0);
  };
  const Tensor change = slope(step, 0),
               changeOfNumber = number.defined() ? slope(0, step) : Tensor();
  const at::AutoGradMode grad(true);
  Tensor scores = value + change * (products - products.detach());
  if (number.defined())
    scores =
        scores + changeOfNumber * (number - number.detach()).view({-1, 1, 1});
  return scores;
}

/// Returns the fp64 attention to the blocks in `indices` [lists, T, top].
Tensor attend(const Inputs &in, const std::vector<Tensor> &exact,
              const PatternSelection &s, const Pattern &pattern,
              const Tensor &indices) {
  const auto &names = pattern.file->learned;
  Tensor sink, number;
  if (!names.empty() && names.front() == "SINK")
    sink = exact[3].narrow(0, 0, 1);
  if (!names.empty() && names.back() != "SINK")
    number = exact[3][int64_t(names.size()) - 1];
  std::vector<Tensor> outputs;
  int64_t first = 0;
  for (const int64_t length : lengths) {
    const auto part = [&](const Tensor &x) {
      return x.narrow(0, first, length);
    };
    SelectionInputs one{
        part(exact[0]), part(exact[1]), part(exact[2]), {}, {}, {}};
    one.sink = sink;
    if (s.derived)
      one.scoresOf = [&](const Tensor &products) {
        return linearScores(pattern, products, number);
      };
    if (in.gates.defined())
      one.gates = part(exact[3]);
    outputs.push_back(attendBySelection(
        one, s,
        s.scorer == Scorer::None ? Tensor()
                                 : indices.narrow(1, first, length)));
    first += length;
  }
  return at::cat(outputs);
}

/// Returns the largest scoreError() over the sequences.
double selectionError(const Inputs &in, const PatternSelection &s,
                      const std::vector<int32_t> &ends, const Tensor &indices) {
  double worst = 0;
  for (size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] > 0)
      worst = std::max(
          worst,
          scoreError(rowsOf(in, s, ends[i], lengths[i]),
                     indices.narrow(1, ends[i], lengths[i]).unsqueeze(0)));
  return worst;
}

SelectionCheck checkCase(const Pattern &pattern, const Case &c,
                         const PatternSelection &s,
                         const std::string &parameters) {
  SelectionCheck result{fmt::format("{}, {} query heads of a key head",
                                    c.type == at::kFloat ? "fp32" : "bf16",
                                    c.group),
                        {},
                        c.limit};
  const Inputs in = inputsOf(c, s, int64_t(pattern.file->learned.size()));
  std::vector<int32_t> ends = {0};
  for (const int64_t length : lengths)
    ends.push_back(ends.back() + int32_t(length));
  const auto [o, indices] =
      run(pattern.file->path, parameters, in, at::tensor(ends, at::kInt));
  if (s.scorer != Scorer::None)
    result.errors.emplace_back("selection",
                               selectionError(in, s, ends, indices));
  std::vector<Tensor> exact;
  for (const Tensor &leaf : in.leaves)
    exact.push_back(leaf.detach().to(at::kDouble).requires_grad_());
  const Tensor wanted = attend(in, exact, s, pattern, indices);
  result.errors.emplace_back("o", relative(o.detach(), wanted.detach()));
  const Tensor weight = at::randn(o.sizes(), at::detail::createCPUGenerator(5));
  const auto gradients = [&](const Tensor &output,
                             const std::vector<Tensor> &of) {
    return torch::autograd::grad(
        {(output * weight.to(output.scalar_type())).sum()}, of);
  };
  const auto found = gradients(o, in.leaves), right = gradients(wanted, exact);
  const bool onlySink =
      pattern.file->learned == std::vector<std::string>{"SINK"};
  const char *names[] = {"dq", "dk", "dv",
                         in.gates.defined() ? "dgates"
                         : onlySink         ? "dsink"
                                            : "dlearned"};
  for (size_t i = 0; i < found.size(); ++i)
    result.errors.emplace_back(names[i], relative(found[i], right[i]));
  return result;
}

} // namespace

bool SelectionCheck::isRight() const {
  return std::all_of(errors.begin(), errors.end(), [&](const auto &error) {
    return error.second <= limit; // false for NaN
  });
}

std::vector<SelectionCheck> checkSelection(const std::string &file,
                                           std::string &parameters) {
  const auto pattern = runtime::readPatternFile(file);
  if (!pattern->selection)
    throw Error(file + " does not select blocks",
                "a pattern that selects has a line # tessera: select(...)");
  const PatternSelection sizes = small(*pattern->selection);
  parameters = textOf(sizes, *pattern);
  const Pattern checked{pattern, runtime::constantsOfPattern(file, parameters)};
  std::vector<SelectionCheck> results;
  for (const Case &one : cases)
    results.push_back(checkCase(checked, one, sizes, parameters));
  return results;
}

} // namespace tessera::models
