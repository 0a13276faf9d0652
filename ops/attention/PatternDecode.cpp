// ops/attention/PatternDecode.cpp - attention of a pattern for new tokens over
// a cache.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/launch/Launch.h"
#include "runtime/launch/PatternFile.h"

#include <ATen/ops/empty.h>
#include <algorithm>
#include <cmath>

namespace tessera::runtime {
namespace {
namespace pattern_decode_op {

using at::Tensor;
using Text = c10::string_view;
using MaybeTensor = std::optional<Tensor>;

constexpr const char *decodeName = "pattern_decode";
constexpr const char *readerName = "pattern_first_reader";

// Keys of a step, and rows of a tile. A row is one head of the group for one
// token.
constexpr int64_t kStepKeys = 64, kManyRows = 64, kFewRows = 16;

// Checks the learned tensors [names, Hq], in the order of the kernels.
void checkLearned(const PatternFile &pattern, const MaybeTensor &learned,
                  int64_t heads) {
  TESSERA_CHECK(learned.has_value() == !pattern.learned.empty(), decodeName,
                pattern.path, " has ", pattern.learned.size(),
                " learned tensors; pass learned [names, query heads] where "
                "there are any");
  if (!learned)
    return;
  checkShape(decodeName, "learned", *learned,
             {int64_t(pattern.learned.size()), heads}, "[names, query heads]");
  TESSERA_CHECK(learned->scalar_type() == at::kFloat, decodeName, "learned is ",
                learned->scalar_type(), "; pass it in float32");
}

void checkSequences(const char *op, const PatternFile &pattern,
                    const MaybeTensor &values, int64_t sequences) {
  TESSERA_CHECK(values.has_value() == !pattern.perSequence.empty(), op,
                pattern.path, " takes ", pattern.perSequence.size(),
                " values of each sequence; pass per_sequence [names, "
                "sequences] where there are any");
  if (!values)
    return;
  checkInt32(op, "per_sequence", *values);
  checkShape(op, "per_sequence", *values,
             {int64_t(pattern.perSequence.size()), sequences},
             "[names, sequences]");
}

void checkTokens(const Tensor &q, const Tensor &k, const Tensor &v,
                 int64_t first) {
  checkRank(decodeName, "q", q, 4);
  checkCache(decodeName, q, k, v);
  TESSERA_CHECK(0 <= first && first + q.size(1) <= k.size(2), decodeName,
                q.size(1), " tokens from position ", first,
                " on do not fit a cache of ", k.size(2),
                "; pass the position of the first new token");
}

Tensor unitRowsOf(const Tensor &x) {
  return x.stride(3) == 1 ? x : x.contiguous();
}

// Adds the strides of sequences, tokens and heads.
void decodeStrides(Launch &launch, const Tensor &x, int token, int head) {
  launch.integer(x.stride(0)).integer(x.stride(token)).integer(x.stride(head));
}

Tensor decode(const Tensor &q, const Tensor &k, const Tensor &v, int64_t first,
              Text file, Text constexprs, std::optional<double> scale,
              const MaybeTensor &learned, const MaybeTensor &perSequence) {
  checkTokens(q, k, v, first);
  const auto pattern = readPatternFile(std::string(file));
  const int64_t batch = q.size(0), count = q.size(1), heads = q.size(2);
  const int64_t group = heads / k.size(1), size = v.size(3);
  checkLearned(*pattern, learned, heads);
  checkSequences(decodeName, *pattern, perSequence, batch);
  Tensor o = at::empty({batch, count, heads, size}, q.options());
  if (o.numel() == 0)
    return o;
  const Tensor query = unitRowsOf(q), keys = unitRowsOf(k),
               values = unitRowsOf(v);
  const std::string name = pattern->name + "_decode", text(constexprs);
  Launch launch(pattern->path, name, text);
  launch.tensor(query).tensor(keys).tensor(values).tensor(o);
  for (const MaybeTensor *numbers : {&learned, &perSequence})
    for (int64_t i = 0; *numbers && i < (*numbers)->size(0); ++i)
      launch.tensor((*numbers)->select(0, i).contiguous());
  launch.real(checkScale(decodeName, scale, q.size(3)));
  launch.integer(first).integer(first + count);
  decodeStrides(launch, query, 1, 2);
  decodeStrides(launch, keys, 2, 1);
  decodeStrides(launch, values, 2, 1);
  decodeStrides(launch, o, 1, 2);
  int64_t rows = count == 1 ? kFewRows : kManyRows;
  while (rows < group)
    rows *= 2;
  launch.constant("G", group).keyHead(q.size(3)).padded("E", "EP", size);
  launch.constant("BM", rows).constant("BN", kStepKeys);
  launch.run(ceilDiv(count, rows / group), k.size(1), batch);
  return o;
}

int64_t firstReader(int64_t first, int64_t last, int64_t heads, Text file,
                    Text constexprs, int64_t sequences,
                    const MaybeTensor &perSequence) {
  const auto pattern = readPatternFile(std::string(file));
  TESSERA_CHECK(0 <= first && first < last && sequences > 0 && heads > 0,
                readerName, "positions ", first, " to ", last, " of ",
                sequences, " sequences with ", heads,
                " heads; pass 0 <= first < last");
  if (!pattern->attendsToLaterKeys)
    return first;
  checkSequences(readerName, *pattern, perSequence, sequences);
  const int64_t programs = perSequence ? sequences : 1;
  const Tensor out = at::empty({programs}, at::kInt);
  const std::string name = pattern->name + "_first_reader", text(constexprs);
  Launch launch(pattern->path, name, text);
  launch.tensor(out);
  for (int64_t i = 0; perSequence && i < perSequence->size(0); ++i)
    launch.tensor(perSequence->select(0, i).contiguous());
  launch.integer(first).integer(last).constant("HEADS", heads);
  launch.run(programs);
  const int32_t *positions = out.const_data_ptr<int32_t>();
  return std::clamp<int64_t>(*std::min_element(positions, positions + programs),
                             0, first);
}

Tensor meta(const Tensor &q, const Tensor &, const Tensor &v, int64_t, Text,
            Text, std::optional<double>, const MaybeTensor &,
            const MaybeTensor &) {
  return at::empty_symint(
      {q.sym_size(0), q.sym_size(1), q.sym_size(2), v.sym_size(3)},
      q.options());
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("pattern_decode(Tensor q, Tensor k, Tensor v, int first, str file, str "
        "constexprs=\"\", float? scale=None, Tensor? learned=None, Tensor? "
        "per_sequence=None) -> Tensor");
  m.def("pattern_first_reader(int first, int last, int heads, str file, str "
        "constexprs=\"\", int sequences=1, Tensor? per_sequence=None) -> int",
        firstReader);
}

TESSERA_OP(decodeName, decode, meta);

} // namespace pattern_decode_op
} // namespace
} // namespace tessera::runtime
