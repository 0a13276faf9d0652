// tests/unit/compiler/Requests.h - requests for small kernels.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "language/Request.h"

#include <string>

namespace tessera {

// Y[i] = exp(X[i]) * s for i < n. Line 8 is the load.
inline language::CompileRequest scaledExpRequest() {
  language::CompileRequest request;
  request.file = "kernels/scaled_exp.py";
  request.kernel = "scaled_exp";
  request.text = R"(import triton
import triton.language as tl


@triton.jit
def scaled_exp(X, Y, s, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < n)
    tl.store(Y + i, tl.exp(x) * s, mask=i < n)
)";
  request.args = {{"X", language::ArgKind::Pointer, "*fp32:16", {}},
                  {"Y", language::ArgKind::Pointer, "*fp32:16", {}},
                  {"s", language::ArgKind::Float, "fp32", {}},
                  {"n", language::ArgKind::Int, "i32", {}},
                  {"BLOCK", language::ArgKind::Constexpr, "",
                   language::Value(int64_t(64))}};
  request.target = "cpu:x86-64-v3:0000";
  return request;
}

// The same with one more line, the ninth.
inline language::CompileRequest requestWithLine(const std::string &line) {
  language::CompileRequest request = scaledExpRequest();
  size_t at = request.text.find("    tl.store");
  request.text.insert(at, "    " + line + "\n");
  return request;
}

} // namespace tessera
