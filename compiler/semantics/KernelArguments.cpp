// compiler/semantics/KernelArguments.cpp - the kernel's signature: parameters
// become arguments of the function and names of its frame.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"

#include "compiler/semantics/Builtins.h"
#include "dialect/tile/TileDialect.h"
#include "language/SignatureTuples.h"
#include "support/Names.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tessera::semantics {

using namespace mlir;

// True if a loop or a branch of the block assigns `name`.
static bool reassigns(const language::Block &block, const std::string &name,
                      bool inside = false) {
  auto binds = [&](const language::Expr &target) {
    auto *plain = target.as<language::Name>();
    bool found = plain && plain->id == name;
    if (auto *tuple = target.as<language::TupleExpr>())
      for (const language::ExprPtr &element : tuple->elements) {
        auto *part = element->as<language::Name>();
        found |= part && part->id == name;
      }
    return found;
  };
  for (const language::StmtPtr &stmt : block) {
    if (auto *assign = stmt->as<language::Assign>(); assign && inside)
      for (const language::ExprPtr &target : assign->targets)
        if (binds(*target))
          return true;
    if (auto *augmented = stmt->as<language::AugAssign>(); augmented && inside)
      if (binds(*augmented->target))
        return true;
    if (auto *loop = stmt->as<language::For>())
      if (reassigns(loop->body, name, true))
        return true;
    if (auto *loop = stmt->as<language::While>())
      if (reassigns(loop->body, name, true))
        return true;
    if (auto *branch = stmt->as<language::If>())
      if (reassigns(branch->body, name, true) ||
          reassigns(branch->orelse, name, true))
        return true;
  }
  return false;
}

// True if an argument is `parameter` or a leaf of its tuple.
static bool belongsTo(const language::Argument &argument,
                      const std::string &parameter) {
  return argument.name == parameter ||
         argument.name.starts_with(parameter + ".");
}

const language::FunctionDef &
Lowering::fieldsNamed(const std::vector<std::string> &names) {
  std::unique_ptr<language::FunctionDef> &made = fieldLists[names];
  if (!made) {
    made = std::make_unique<language::FunctionDef>();
    made->isNamedTuple = true;
    for (const std::string &name : names) {
      language::Parameter field;
      field.name = name;
      made->parameters.push_back(std::move(field));
    }
  }
  return *made;
}

Value Lowering::tupleOf(const std::string &name, const Leaves &leaves) {
  if (const auto leaf = leaves.values.find(name); leaf != leaves.values.end())
    return leaf->second;
  if (std::find(leaves.descriptors.begin(), leaves.descriptors.end(), name) !=
      leaves.descriptors.end())
    return descriptorOf(name, leaves);
  std::vector<std::string> fields;
  const std::string prefix = name + ".";
  for (const language::Argument *argument : leaves.given) {
    if (!argument->name.starts_with(prefix))
      continue;
    std::string field = argument->name.substr(prefix.size());
    field = field.substr(0, field.find('.'));
    if (std::find(fields.begin(), fields.end(), field) == fields.end())
      fields.push_back(std::move(field));
  }
  std::vector<Value> values;
  for (const std::string &field : fields)
    values.push_back(tupleOf(prefix + field, leaves));
  if (fields.empty() ||
      std::isdigit(static_cast<unsigned char>(fields.front().front())))
    return Value::tuple(std::move(values));
  return Value::namedTuple(fieldsNamed(fields), std::move(values));
}

// Calls tl.make_tensor_descriptor, which checks the values.
Value Lowering::descriptorOf(const std::string &name, const Leaves &leaves) {
  const Builtin &make = *Registry::get().find("make_tensor_descriptor");
  const SourceRange range = emit.site.range;
  std::vector<Argument> arguments;
  for (const char *part :
       {"base", "shape", "strides", "block_shape", "padding"})
    arguments.push_back({"", tupleOf(name + "." + part, leaves), range});
  BuiltinCall call(emit, make, std::move(arguments));
  Descriptor made = *make.emit(call).descriptor();
  const Value rounds = tupleOf(name + ".round_f32_to_tf32", leaves);
  made.roundsTf32 = rounds.constant() && rounds.constant()->truth();
  return made;
}

Type Lowering::typeOfArgument(const language::Argument &argument,
                              const language::Parameter &parameter) {
  if (parameter.isConstexpr)
    fail(DiagnosticId::BadSignature, parameter.range,
         "`" + parameter.name + "` is a tl.constexpr but the argument is " +
             argument.type,
         "give it a value, as in " + parameter.name + "=64");
  auto parsed = language::ArgClass::parse(argument.type);
  auto dtype = parsed ? parseDType(parsed->element) : std::nullopt;
  if (!dtype || (isFp8(*dtype) && !parsed->pointer))
    fail(DiagnosticId::BadSignature, parameter.range,
         "argument `" + argument.name + "` has the type `" + argument.type +
             "`, which kernels cannot compute with",
         parsed ? "8-bit floats lie in memory: pass a pointer to them, or "
                  "the number as fp32"
                : "types are written as in *fp32:16, i32, fp32");
  return Type(Element{*dtype, parsed->pointer});
}

void Lowering::checkNames(const language::FunctionDef &kernel) {
  std::vector<std::string> names;
  for (const language::Parameter &parameter : kernel.parameters)
    names.push_back(parameter.name);
  for (const language::Argument &argument : request.args)
    if (std::none_of(names.begin(), names.end(), [&](const std::string &name) {
          return belongsTo(argument, name);
        }))
      fail(DiagnosticId::BadSignature, kernel.nameRange,
           "kernel `" + kernel.name + "` has no parameter `" + argument.name +
               "`",
           nearestNameHint(argument.name, names, "parameters"));
}

// Creates the function with one argument for each run-time parameter or leaf,
// and binds all parameters in the kernel's frame.
void Lowering::bindKernel(const language::FunctionDef &kernel,
                          ModuleOp moduleOp) {
  checkNames(kernel);
  struct Physical {
    const language::Argument *argument;
    const language::Parameter *parameter;
    Type type;
  };
  std::vector<Physical> physical;
  std::map<std::string, Leaves> leaves;
  SmallVector<mlir::Type> types;
  for (const language::Parameter &parameter : kernel.parameters)
    for (const language::Argument &argument : request.args) {
      if (!belongsTo(argument, parameter.name))
        continue;
      Leaves &own = leaves[parameter.name];
      own.given.push_back(&argument);
      if (argument.isConstexpr()) {
        own.values[argument.name] = fromSyntax(argument.value, parameter.range);
        continue;
      }
      Type type = typeOfArgument(argument, parameter);
      types.push_back(toMlir(emit.context(), type));
      physical.push_back({&argument, &parameter, std::move(type)});
    }

  OpBuilder &builder = emit.builder;
  builder.setInsertionPointToEnd(moduleOp.getBody());
  auto function =
      func::FuncOp::create(builder, locate(kernel.nameRange), kernel.name,
                           builder.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  for (size_t i = 0; i < physical.size(); ++i) {
    const auto &[argument, parameter, type] = physical[i];
    entry->getArgument(i).setLoc(NameLoc::get(
        builder.getStringAttr(argument->name), locate(parameter->range)));
    if (language::ArgClass::parse(argument->type)->divisible)
      function.setArgAttr(i, tile::kDivisibilityAttr,
                          builder.getI32IntegerAttr(16));
    leaves[parameter->name].values[argument->name] =
        Tensor{entry->getArgument(i), type};
  }
  builder.setInsertionPointToEnd(entry);
  for (const language::Parameter &parameter : kernel.parameters) {
    const auto found = leaves.find(parameter.name);
    if (found == leaves.end() && !parameter.defaultValue)
      fail(DiagnosticId::BadSignature, parameter.range,
           "no argument for the parameter `" + parameter.name +
               "` of kernel `" + kernel.name + "`");
    if (found != leaves.end())
      found->second.descriptors =
          language::descriptorsOf(program, kernel, parameter);
    At at(*this, parameter.range);
    Variable &variable = frame().scope[parameter.name];
    variable = {found == leaves.end() ? evaluate(*parameter.defaultValue)
                                      : tupleOf(parameter.name, found->second),
                parameter.range};
    // An argument specialized to 1 becomes a run-time value if the kernel
    // assigns it. Triton's compiler rejects that; its interpreter does not.
    auto *constant = variable.value.constant();
    if (!parameter.isConstexpr && constant && constant->isInt() &&
        reassigns(kernel.body, parameter.name))
      variable.value = emit.toTensor(variable.value);
  }
}

} // namespace tessera::semantics
