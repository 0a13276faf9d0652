// runtime/launch/TileGrid.cpp - the grid that a launch would have with other
// tiles.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/launch/TileGrid.h"

#include "language/Tree.h"
#include "support/Error.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

namespace tessera::runtime {

using namespace language;

namespace {

using Names = std::set<std::string, std::less<>>;

// Calls `visit` for the expressions directly below one.
template <typename Visit>
void forEachChild(const Expr &expr, Visit &&visit) {
  const auto each = [&](const auto &list) {
    for (const ExprPtr &child : list)
      if (child)
        visit(*child);
  };
  const auto one = [&](const ExprPtr &child) {
    if (child)
      visit(*child);
  };
  if (const auto *binary = expr.as<BinOp>()) {
    one(binary->left);
    one(binary->right);
  } else if (const auto *unary = expr.as<UnaryOpExpr>()) {
    one(unary->operand);
  } else if (const auto *logic = expr.as<BoolOp>()) {
    each(logic->values);
  } else if (const auto *compare = expr.as<Compare>()) {
    one(compare->left);
    each(compare->comparators);
  } else if (const auto *call = expr.as<Call>()) {
    one(call->function);
    each(call->arguments);
    for (const Keyword &keyword : call->keywords)
      one(keyword.value);
  } else if (const auto *attribute = expr.as<Attribute>()) {
    one(attribute->value);
  } else if (const auto *subscript = expr.as<Subscript>()) {
    one(subscript->value);
    one(subscript->index);
  } else if (const auto *slice = expr.as<Slice>()) {
    one(slice->lower);
    one(slice->upper);
    one(slice->step);
  } else if (const auto *tuple = expr.as<TupleExpr>()) {
    each(tuple->elements);
  } else if (const auto *list = expr.as<ListExpr>()) {
    each(list->elements);
  } else if (const auto *either = expr.as<IfExp>()) {
    one(either->test);
    one(either->body);
    one(either->orelse);
  } else if (const auto *starred = expr.as<Starred>()) {
    one(starred->value);
  }
}

// Calls `assign(target, value)` for every assignment of the block and `visit`
// for every expression of a statement.
template <typename Assign, typename Visit>
void forEachStatement(const Block &block, Assign &&assign, Visit &&visit) {
  for (const StmtPtr &statement : block) {
    if (const auto *plain = statement->as<language::Assign>()) {
      visit(*plain->value);
      for (const ExprPtr &target : plain->targets)
        assign(*target, *plain->value);
    } else if (const auto *added = statement->as<AugAssign>()) {
      visit(*added->value);
      assign(*added->target, *added->value);
    } else if (const auto *typed = statement->as<AnnAssign>()) {
      if (typed->value) {
        visit(*typed->value);
        assign(*typed->target, *typed->value);
      }
    } else if (const auto *loop = statement->as<For>()) {
      visit(*loop->iterable);
      assign(*loop->target, *loop->iterable);
      forEachStatement(loop->body, assign, visit);
    } else if (const auto *repeat = statement->as<While>()) {
      visit(*repeat->test);
      forEachStatement(repeat->body, assign, visit);
    } else if (const auto *branch = statement->as<If>()) {
      visit(*branch->test);
      forEachStatement(branch->body, assign, visit);
      forEachStatement(branch->orelse, assign, visit);
    } else if (const auto *result = statement->as<Return>()) {
      if (result->value)
        visit(*result->value);
    } else if (const auto *call = statement->as<ExprStmt>()) {
      visit(*call->value);
    }
  }
}

const std::string *calledMember(const Expr &expr) {
  const auto *call = expr.as<Call>();
  const auto *member = call ? call->function->as<Attribute>() : nullptr;
  return member ? &member->attribute : nullptr;
}

// Uses of one axis's program id in the text.
struct Axis {
  std::vector<const Expr *> tiles; // X of `program_id * X`, changed
  bool otherwise = false;          // the program id is used in another way
  bool unclear = false;
};

class TextReader {
public:
  TextReader(const FunctionDef &function, const Names &changed)
      : function(function), changed(changed) {}

  std::array<Axis, 3> read() {
    spread();
    forEachStatement(
        function.body, [](const Expr &, const Expr &) {},
        [&](const Expr &expr) {
          if (!axisOf(expr)) // a plain alias of the program id
            use(expr, false);
        });
    // A kernel that delegates to a helper, which reads the program ids.
    if (passesChanged && !usesNumber && alias.empty())
      for (Axis &axis : axes)
        axis.unclear = true;
    return axes;
  }

private:
  // Returns the axis whose program id the expression is, through names and
  // .to(): 0 to 2.
  std::optional<int> axisOf(const Expr &expr) const {
    if (const auto *name = expr.as<Name>()) {
      const auto found = alias.find(name->id);
      return found == alias.end() ? std::nullopt : std::optional(found->second);
    }
    const std::string *member = calledMember(expr);
    if (!member)
      return std::nullopt;
    const Call &call = expr.to<Call>();
    if (*member == "to")
      return axisOf(*call.function->to<Attribute>().value);
    const auto *constant = *member == "program_id" && !call.arguments.empty()
                               ? call.arguments[0]->as<Constant>()
                               : nullptr;
    const auto number = constant ? constant->value.asInt() : std::nullopt;
    return number && *number >= 0 && *number < 3 ? std::optional(int(*number))
                                                 : std::nullopt;
  }

  bool mentions(const Expr &expr, const Names &names) const {
    if (const auto *name = expr.as<Name>())
      return names.contains(name->id);
    bool found = false;
    forEachChild(expr,
                 [&](const Expr &child) { found |= mentions(child, names); });
    return found;
  }

  // True if the value grows with the program id of the axis. A value loaded
  // from memory does not.
  bool derived(const Expr &expr, int axis) const {
    if (axisOf(expr) == axis)
      return true;
    if (const auto *name = expr.as<Name>())
      return raw[size_t(axis)].contains(name->id);
    const std::string *member = calledMember(expr);
    if (member && *member == "load")
      return false;
    bool found = false;
    forEachChild(expr,
                 [&](const Expr &child) { found |= derived(child, axis); });
    return found;
  }

  // Computes the names that depend on a changed constexpr, and the names that
  // depend on a program id but not on a changed constexpr.
  void spread() {
    dependent = changed;
    for (size_t before = SIZE_MAX, now = 0; before != now;) {
      before = now;
      forEachStatement(
          function.body,
          [&](const Expr &target, const Expr &value) {
            const auto *name = target.as<Name>();
            if (!name)
              return;
            if (mentions(value, dependent))
              dependent.insert(name->id);
            if (auto axis = axisOf(value))
              alias[name->id] = *axis;
            for (int axis = 0; axis < 3; ++axis)
              if (derived(value, axis))
                raw[size_t(axis)].insert(name->id);
          },
          [](const Expr &) {});
      now = dependent.size() + alias.size() + raw[0].size() + raw[1].size() +
            raw[2].size();
    }
    for (Names &names : raw)
      for (const std::string &name : dependent)
        names.erase(name);
  }

  // Records a use. `scaled`: the expression is a factor of a product with a
  // tile.
  void use(const Expr &expr, bool scaled) {
    if (const auto axis = axisOf(expr)) {
      usesNumber = true;
      if (!scaled)
        axes[size_t(*axis)].otherwise = true;
      return;
    }
    if (const auto *binary = expr.as<BinOp>())
      return useOperands(*binary);
    if (const auto *call = expr.as<Call>())
      checkCall(*call);
    forEachChild(expr, [&](const Expr &child) { use(child, false); });
  }

  void useOperands(const BinOp &binary) {
    bool scaledLeft = false, scaledRight = false;
    if (binary.op == BinaryOp::Mul) {
      scaledLeft = takeTile(*binary.left, *binary.right);
      scaledRight = !scaledLeft && takeTile(*binary.right, *binary.left);
    }
    if (!scaledLeft && !scaledRight && scales(binary.op))
      for (int axis = 0; axis < 3; ++axis)
        if ((isRaw(*binary.left, axis) && mentions(*binary.right, dependent)) ||
            (isRaw(*binary.right, axis) && mentions(*binary.left, dependent)))
          axes[size_t(axis)].unclear = true;
    use(*binary.left, scaledLeft);
    use(*binary.right, scaledRight);
  }

  static bool scales(BinaryOp op) {
    return op == BinaryOp::Mul || op == BinaryOp::Div ||
           op == BinaryOp::FloorDiv || op == BinaryOp::Mod ||
           op == BinaryOp::LShift || op == BinaryOp::RShift;
  }

  bool isRaw(const Expr &expr, int axis) const {
    return derived(expr, axis) && !mentions(expr, dependent);
  }

  // Matches program_id * X, where X consists of constexprs and one has changed.
  bool takeTile(const Expr &number, const Expr &factor) {
    const auto axis = axisOf(number);
    if (!axis || !mentions(factor, changed))
      return false;
    axes[size_t(*axis)].tiles.push_back(&factor);
    return true;
  }

  // Checks a call of a helper whose arguments include a program id and a
  // changed constexpr.
  void checkCall(const Call &call) {
    bool hasChanged = false;
    std::vector<int> numbers;
    const auto look = [&](const Expr &argument) {
      if (auto axis = axisOf(argument))
        numbers.push_back(*axis);
      else
        hasChanged |= mentions(argument, dependent);
    };
    for (const ExprPtr &argument : call.arguments)
      look(*argument);
    for (const Keyword &keyword : call.keywords)
      look(*keyword.value);
    passesChanged |= hasChanged;
    if (hasChanged)
      for (int axis : numbers)
        axes[size_t(axis)].unclear = true;
  }

  const FunctionDef &function;
  const Names &changed;
  Names dependent;
  std::map<std::string, int, std::less<>> alias;
  std::array<Names, 3> raw;
  std::array<Axis, 3> axes;
  bool usesNumber = false;    // the text uses a program id
  bool passesChanged = false; // a call has a changed constexpr
};

std::optional<int64_t> tileSize(const Description &kernel, const Expr &expr,
                                const Sizes &sizes) {
  try {
    const auto number = evaluateHint(kernel, expr, sizes, "a tile").asInt();
    if (number && *number > 0 && *number <= INT32_MAX)
      return int64_t(*number);
  } catch (const Error &) { // the hint uses a kernel variable
  }
  return std::nullopt;
}

Sizes withTiles(Sizes sizes, const Sizes &tiles) {
  for (const auto &[name, value] : tiles)
    sizes[name] = value;
  return sizes;
}

// Uses the hint if it reproduces the launch's grid.
std::optional<Grid> byHint(const Description &kernel, const KnownLaunch &launch,
                           const Sizes &tiles) {
  if (!kernel.info.hints.grid)
    return std::nullopt;
  const auto evaluated = [&](const Sizes &sizes) -> std::optional<Grid> {
    try {
      return gridOf(kernel, sizes);
    } catch (const Error &) {
      return std::nullopt;
    }
  };
  Sizes sizes = launch.sizes;
  const bool known = sizes.contains("H");
  const uint32_t most =
      known ? 1
            : std::min<uint32_t>(1024, *std::ranges::max_element(launch.grid));
  for (uint32_t heads = 1; heads <= most; ++heads) {
    if (!known)
      sizes["H"] = heads;
    const auto own = evaluated(sizes);
    if (!own)
      return std::nullopt;
    if (*own == launch.grid)
      return evaluated(withTiles(sizes, tiles));
  }
  return std::nullopt;
}

} // namespace

// Derives the grid from the text, axis by axis.
static TileGrid byText(const Description &kernel, const KnownLaunch &launch,
                       const std::array<Axis, 3> &axes, const Sizes &after) {
  Grid grid = launch.grid;
  for (size_t axis = 0; axis < 3; ++axis) {
    const std::string id = "tl.program_id(" + std::to_string(axis) + ")";
    const TileGrid unknown = {std::nullopt,
                              "how the grid follows from " + id +
                                  " cannot be read from the text; add a hint "
                                  "such as # tessera: grid(cdiv(N, BM))"};
    if (axes[axis].unclear)
      return unknown;
    std::optional<std::pair<int64_t, int64_t>> tile; // before, now
    for (const Expr *expr : axes[axis].tiles) {
      const auto was = tileSize(kernel, *expr, launch.sizes);
      const auto is = tileSize(kernel, *expr, after);
      if (!was || !is || (tile && tile != std::pair(*was, *is)))
        return unknown;
      tile = {*was, *is};
    }
    if (!tile || tile->first == tile->second)
      continue;
    const int64_t covered = int64_t(grid[axis]) * tile->first;
    const int64_t count = (covered + tile->second - 1) / tile->second;
    if (count > INT32_MAX)
      return {std::nullopt, "more than 2^31 - 1 programs"};
    grid[axis] = uint32_t(count);
  }
  return {grid, ""};
}

TileGrid gridWithTiles(const Description &kernel, const KnownLaunch &launch,
                       const Sizes &tiles) {
  Names changed;
  for (const auto &[name, value] : tiles) {
    const auto found = launch.sizes.find(name);
    if (found == launch.sizes.end() || found->second != value)
      changed.insert(name);
  }
  const auto axes = TextReader(*kernel.info.function, changed).read();
  const auto hinted = byHint(kernel, launch, tiles);
  TileGrid result =
      hinted ? TileGrid{hinted, ""}
             : byText(kernel, launch, axes, withTiles(launch.sizes, tiles));
  for (size_t axis = 0; axis < 3 && result.grid; ++axis)
    if ((*result.grid)[axis] != launch.grid[axis] && axes[axis].otherwise &&
        !axes[axis].tiles.empty())
      result = {std::nullopt,
                "the kernel uses the number of a program, tl.program_id(" +
                    std::to_string(axis) +
                    "), besides its tile: with another grid its results have "
                    "another shape"};
  return result;
}

} // namespace tessera::runtime
