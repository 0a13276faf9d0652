// bench/cost/Launches.cpp - launches of our kernels that stand in for published
// ones.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "bench/cost/Launches.h"

namespace tessera::bench {

namespace {

using Scalars = std::map<std::string, Arg>;

uint32_t cdiv(int64_t a, int64_t b) { return uint32_t((a + b - 1) / b); }
// Of one sequence: its tiles and one that is empty.
uint32_t tiles(int64_t rows, int64_t size) { return uint32_t(rows / size + 1); }

constexpr int64_t width = heads * headSize, kvWidth = kvHeads * headSize;

Tensor ofQueries(int64_t tokens) { return {DType::BF16, tokens * width}; }
// K or V with a head for each query head.
Tensor ofKeys(int64_t rows) {
  return {DType::BF16, rows * width, rows * kvWidth};
}
Tensor perRow(int64_t tokens) { return {DType::FP32, tokens * heads}; }
const Tensor starts = {DType::I32, 2};

// The strides of tensors [token, head, element], by the letters between s and
// t or h.
void addStrides(Scalars &scalars, std::initializer_list<const char *> names,
                int64_t token, int64_t head) {
  for (const char *name : names) {
    scalars["s" + std::string(name) + "t"] = token;
    scalars["s" + std::string(name) + "h"] = head;
  }
}

Constexprs attention(int64_t group, int64_t bm, int64_t bn) {
  return {{"G", group},       {"D", headSize}, {"DP", headSize},
          {"DT", int64_t(0)}, {"E", headSize}, {"EP", headSize},
          {"BM", bm},         {"BN", bn}};
}

Scalars attentionScalars() {
  Scalars scalars = {{"scale", 0.088}, {"nseq", int64_t(1)}};
  addStrides(scalars, {"q", "k", "v", "o", "do", "dq", "dk", "dv"}, width,
             headSize);
  addStrides(scalars, {"lse", "delta"}, heads, 1);
  return scalars;
}

void addCompression(Constexprs &constexprs) {
  constexprs["L"] = int64_t(32);
  constexprs["STRIDE"] = int64_t(16);
}

} // namespace

double Launch::bytes() const {
  double sum = 0;
  for (const auto &[name, tensor] : tensors) {
    const int64_t count =
        tensor.published >= 0 ? tensor.published : tensor.elements;
    const bool wide = tensor.type == DType::FP32 || tensor.type == DType::I32;
    sum += double(count) * (wide ? 4 : 2);
  }
  return sum;
}

Launch denseForward(int64_t tokens, int64_t bm, int64_t bn, int64_t warps,
                    int64_t stages) {
  Launch launch = {"kernels/dense/attn_fwd.py", "dense_fwd",
                   attention(1, bm, bn), warps, stages};
  launch.grid = {tiles(tokens, bm), uint32_t(heads), 1};
  launch.order = Order::TokensDown;
  launch.tensors = {{"Q", ofQueries(tokens)}, {"K", ofKeys(tokens)},
                    {"V", ofKeys(tokens)},    {"O", ofQueries(tokens)},
                    {"LSE", perRow(tokens)},  {"CU", starts}};
  launch.scalars = attentionScalars();
  return launch;
}

Launch compressedForward(int64_t tokens, int64_t bm, int64_t bn, int64_t warps,
                         int64_t stages) {
  Launch launch = {"kernels/nsa/cmp_fwd.py", "cmp_fwd", attention(1, bm, bn),
                   warps, stages};
  addCompression(launch.constexprs);
  launch.grid = {tiles(tokens, bm), uint32_t(heads), 1};
  launch.order = Order::TokensDown;
  const Tensor keys = ofKeys(compressed(tokens));
  launch.tensors = {{"Q", ofQueries(tokens)},
                    {"K", keys},
                    {"V", keys},
                    {"O", ofQueries(tokens)},
                    {"LSE", perRow(tokens)},
                    {"CU", starts},
                    {"CU_CMP", starts}};
  launch.scalars = attentionScalars();
  return launch;
}

std::vector<Launch> compressedBackward(int64_t tokens) {
  const Tensor keys = ofKeys(compressed(tokens));
  Launch delta = {"kernels/nsa/attn_delta.py",
                  "attn_delta",
                  {{"E", headSize}, {"EP", headSize}, {"BT", int64_t(256)}},
                  8,
                  3};
  delta.grid = {cdiv(tokens, 256), uint32_t(heads), 1};
  delta.tensors = {{"O", ofQueries(tokens)},
                   {"DO", ofQueries(tokens)},
                   {"DELTA", perRow(tokens)}};
  delta.scalars = attentionScalars();
  delta.scalars["T"] = tokens;

  Launch dkdv = {"kernels/nsa/cmp_bwd.py", "cmp_bwd_dkdv",
                 attention(1, 64, 128), 8, 2};
  addCompression(dkdv.constexprs);
  dkdv.constexprs["SPAN"] = int64_t(256);
  dkdv.grid = {uint32_t(heads), tiles(compressed(tokens), 128), 1};
  dkdv.order = Order::HeadsFirst;
  dkdv.tensors = {{"Q", ofQueries(tokens)},
                  {"K", keys},
                  {"V", keys},
                  {"DO", ofQueries(tokens)},
                  {"LSE", perRow(tokens)},
                  {"DELTA", perRow(tokens)},
                  {"PART", perRow(1)}, // one part: not touched
                  {"DK", keys},
                  {"DV", keys},
                  {"CU", starts},
                  {"CU_CMP", starts}};
  dkdv.scalars = attentionScalars();
  dkdv.scalars["parts"] = int64_t(1);

  Launch dq = {"kernels/nsa/cmp_bwd.py", "cmp_bwd_dq", attention(1, 128, 64), 8,
               2};
  addCompression(dq.constexprs);
  dq.grid = {tiles(tokens, 128), uint32_t(heads), 1};
  dq.order = Order::TokensDown;
  dq.tensors = dkdv.tensors;
  dq.tensors.erase("DK");
  dq.tensors.erase("DV");
  dq.tensors.erase("PART");
  dq.tensors["DQ"] = ofQueries(tokens);
  dq.scalars = attentionScalars();
  return {delta, dkdv, dq};
}

Launch selectedForward(int64_t tokens, int64_t warps, int64_t stages) {
  Launch launch = {"kernels/nsa/select_fwd.py", "select_fwd",
                   attention(heads / kvHeads, 0, 64), warps, stages};
  launch.constexprs.erase("BM");
  launch.constexprs["GP"] = heads / kvHeads;
  launch.constexprs["LSEL"] = int64_t(64);
  launch.constexprs["NSEL"] = int64_t(16);
  launch.grid = {uint32_t(tokens), uint32_t(kvHeads), 1};
  const Tensor keys = {DType::BF16, tokens * kvWidth};
  launch.tensors = {{"Q", ofQueries(tokens)},
                    {"K", keys},
                    {"V", keys},
                    {"IDX", {DType::I32, kvHeads * tokens * 16}},
                    {"O", ofQueries(tokens)},
                    {"LSE", perRow(tokens)},
                    {"CU", starts}};
  launch.scalars = attentionScalars();
  addStrides(launch.scalars, {"k", "v"}, kvWidth, headSize);
  launch.scalars["T"] = tokens;
  return launch;
}

Launch gateForward(int64_t tokens) {
  Launch launch = {"kernels/nsa/gate_fwd.py",
                   "gate_fwd",
                   {{"G", heads / kvHeads},
                    {"E", headSize},
                    {"EP", headSize},
                    {"SOFTMAX", false},
                    {"BT", int64_t(32)}},
                   4,
                   2};
  launch.grid = {cdiv(tokens, 32), uint32_t(kvHeads), 1};
  launch.tensors = {{"OC", ofQueries(tokens)},
                    {"OS", ofQueries(tokens)},
                    {"OW", ofQueries(tokens)},
                    {"LOGITS", {DType::BF16, tokens * kvHeads * 3}},
                    {"GATES", {DType::FP32, tokens * kvHeads * 3}},
                    {"O", ofQueries(tokens)}};
  addStrides(launch.scalars, {"b", "o"}, width, headSize);
  addStrides(launch.scalars, {"l", "g"}, kvHeads * 3, 3);
  launch.scalars["T"] = tokens;
  launch.scalars["inv_tau"] = 1.0;
  return launch;
}

Launch compressForward(int64_t tokens) {
  Launch launch = {
      "kernels/nsa/compress_fwd.py",
      "compress_fwd",
      {{"D", headSize}, {"DP", headSize}, {"CONV", false}, {"BC", int64_t(16)}},
      4,
      2};
  addCompression(launch.constexprs);
  launch.grid = {tiles(compressed(tokens), 16), uint32_t(kvHeads), 1};
  launch.tensors = {{"X", {DType::BF16, tokens * kvWidth}},
                    {"W", {DType::BF16, 32 * headSize, 0}},
                    {"OUT", {DType::BF16, compressed(tokens) * kvWidth}},
                    {"CU", starts},
                    {"CU_CMP", starts}};
  addStrides(launch.scalars, {"x", "o"}, kvWidth, headSize);
  launch.scalars["nseq"] = int64_t(1);
  return launch;
}

} // namespace tessera::bench
