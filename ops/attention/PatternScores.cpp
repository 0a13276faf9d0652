// ops/attention/PatternScores.cpp - evaluates the rule and the score of a
// pattern that selects blocks, on scores in memory.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ops/Autograd.h"
#include "ops/Check.h"
#include "ops/Register.h"
#include "ops/launch/Launch.h"
#include "runtime/launch/PatternFile.h"

#include <ATen/ops/empty_like.h>

namespace tessera::runtime {
namespace {
namespace pattern_scores_op {

using at::Tensor;
using Text = c10::string_view;
using MaybeTensor = std::optional<Tensor>;

constexpr const char *opName = "pattern_scores";

Tensor scores(const Tensor &products, int64_t first, Text file, Text constexprs,
              const MaybeTensor &number) {
  const auto pattern =
      withValueErrors([&] { return readPatternFile(std::string(file)); });
  TESSERA_CHECK(pattern->selection && pattern->selection->derived, opName,
                pattern->path,
                " does not change scores of selected blocks; name a pattern "
                "with select(...) and a function modify or a sees other than "
                "pos <= t");
  checkRank(opName, "products", products, 4);
  TESSERA_CHECK(products.scalar_type() == at::kFloat ||
                    products.scalar_type() == at::kDouble,
                opName, "products are ", products.scalar_type(),
                "; pass float32 or float64");
  TESSERA_CHECK(first >= 0, opName, "first is ", first,
                "; pass the position of the first query");
  const Tensor given = products.contiguous();
  Tensor result = at::empty_like(given);
  if (result.numel() == 0)
    return result;
  const std::string name = pattern->name + "_scores", text(constexprs);
  Launch launch(pattern->path, name, text);
  launch.tensor(given).tensor(result);
  if (number) {
    checkShape(opName, "number", *number, {products.size(1)}, "[query heads]");
    launch.tensor(number->to(products.scalar_type()).contiguous());
  }
  launch.integer(first).integer(products.size(3));
  launch.constant("H", products.size(1));
  launch.run(products.size(2), products.size(1), products.size(0));
  return result;
}

Tensor meta(const Tensor &products, int64_t, Text, Text, const MaybeTensor &) {
  return at::empty_like(products);
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("pattern_scores(Tensor products, int first, str file, str "
        "constexprs=\"\", Tensor? number=None) -> Tensor");
}

TESSERA_OP(opName, scores, meta);

} // namespace pattern_scores_op
} // namespace
} // namespace tessera::runtime
