// compiler/semantics/Names.cpp - looks up names, module members and attributes.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "compiler/semantics/Lowering.h"

#include "compiler/semantics/Prelude.h"
#include "language/Arithmetic.h"
#include "support/Names.h"

#include "dialect/tile/TileDialect.h"

#include <array>

namespace tessera::semantics {
namespace {

// Returns the canonical path: tl.x for "triton.language.x" and "tl.core.x".
std::string canonical(std::string path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5>
      kPrefixes{{{"triton.language", "tl"},
                 {"tl.core", "tl"},
                 {"tl.standard", "tl"},
                 {"tl.random", "tl"},
                 {"tl.extra.cuda.libdevice", "tl.extra.libdevice"}}};
  for (auto [from, to] : kPrefixes)
    if (path.compare(0, from.size(), from) == 0 &&
        (path.size() == from.size() || path[from.size()] == '.'))
      path = std::string(to) + path.substr(from.size());
  return path;
}

bool isModule(std::string_view path) {
  for (std::string_view known :
       {"tl", "triton", "tl.math", "tl.extra", "tl.extra.cuda",
        "tl.extra.libdevice", "tl.PropagateNan", "math", "tl.tensor",
        "tl.dtype", "tl.target_info", "tl.tensor_descriptor",
        "tl.tensor_descriptor_base"})
    if (path == known)
      return true;
  return false;
}

// Returns the registry's name for a member of a module; empty if not
// registered.
std::string registryName(const std::string &module, const std::string &name) {
  if (module == "tl")
    return name;
  if (module == "tl.math" || module == "tl.extra.libdevice")
    return "math." + name;
  if (module == "triton")
    return "triton." + name;
  if (module == "tl.target_info")
    return "target_info." + name;
  return "";
}

// Type names without a width, which beginners write.
constexpr std::pair<std::string_view, std::string_view> kTypeWords[] = {
    {"float", "tl.float16, tl.bfloat16, tl.float32 or tl.float64"},
    {"double", "tl.float64"},
    {"half", "tl.float16"},
    {"int", "tl.int8, tl.int16, tl.int32 or tl.int64"},
    {"long", "tl.int64"},
    {"uint", "tl.uint8, tl.uint16, tl.uint32 or tl.uint64"},
    {"bool", "tl.int1"},
    {"bool_", "tl.int1"},
    {"bf16", "tl.bfloat16"},
    {"fp16", "tl.float16"},
    {"fp32", "tl.float32"},
    {"fp64", "tl.float64"}};
constexpr const char *kTypeNames[] = {
    "int1",   "int8",   "int16",   "int32",    "int64",   "uint8",  "uint16",
    "uint32", "uint64", "float16", "bfloat16", "float32", "float64"};

// Python functions that users call in kernels by mistake.
constexpr std::pair<std::string_view, std::string_view> kPythonNames[] = {
    {"print", "write tl.device_print(\"text\", value), or tl.static_print(...) "
              "for types and compile-time values"},
    {"round", "write tl.floor(x + 0.5)"},
    {"pow", "write x * x, or tl.exp2(y * tl.log2(x))"},
    {"type", "the type of a block is x.dtype"},
    {"enumerate", "count with range or tl.static_range"},
    {"zip", "count with range or tl.static_range"},
    {"map", "operators and functions of tl work on whole blocks"},
    {"filter", "choose with tl.where"},
    {"any", "write tl.max(x.to(tl.int32), axis=0) != 0"},
    {"all", "write tl.min(x.to(tl.int32), axis=0) != 0"},
    {"list", "blocks have fixed shapes; use tl.zeros and tl.where"},
    {"dict", "use separate variables"},
    {"set", "use separate variables"},
    {"str", "kernels have no text at run time"},
    {"sorted", "sort before the launch"},
    {"reversed", "write tl.flip(x), or a range with a negative step"},
    {"divmod", "write a // b and a % b"},
    {"super", "kernels are functions"},
    {"open", "pass the data as a pointer argument"},
    {"input", "pass the data as a pointer argument"}};

// Only these spellings are members of tl; "fp32" is not.
std::optional<DType> dtypeMember(std::string_view name) {
  if (name.substr(0, 2) == "fp" || name == "bf16" ||
      (name.size() > 1 && (name[0] == 'i' || name[0] == 'u') &&
       std::isdigit((unsigned char)name[1])))
    return std::nullopt;
  return parseDType(name);
}

// Returns what to write instead of a Triton function that this language does
// not have yet.
std::string laterHint(const std::string &module, const std::string &name) {
  struct Later {
    std::string_view name, hint;
  };
  constexpr std::string_view kBessel =
      "compute it before the launch and pass it as a tensor";
  constexpr std::string_view kClock =
      "code is made for several devices; measure from the host";
  constexpr std::string_view kLaunch =
      "an argument or a tl.constexpr can hold it";
  constexpr Later kLater[] = {
      {"dot_scaled", "scale the operands and use tl.dot"},
      {"slice", "a block is indexed with None and : as they are"},
      {"void", "leave it out: a function without `return` gives None"},
      {"const", "leave it out, it is an annotation of parameters"},
      {"constexpr_type", "ask for the type of elements: x.dtype"},
      {"tuple_type", "isinstance(x, tuple) asks for a tuple"},
      {"tensor_descriptor_type",
       "isinstance(x, tl.tensor_descriptor) asks for a descriptor"},
      {"base_value", "isinstance(x, tl.tensor) asks for a number or block"},
      {"base_type", "isinstance(x, tl.dtype) asks for a type"},
      {"current_target", "ask tl.target_info.is_cuda()"},
      {"extern_elementwise",
       "functions of libdevice are in tl.extra.libdevice"},
      {"j0", kBessel},
      {"j1", kBessel},
      {"jn", kBessel},
      {"y0", kBessel},
      {"y1", kBessel},
      {"yn", kBessel},
      {"cyl_bessel_i0", kBessel},
      {"cyl_bessel_i1", kBessel},
      {"rcp64h", "write 1.0 / x"},
      {"globaltimer", kClock},
      {"smid", kClock},
      {"convert_custom_float8_sm70", "write x.to(tl.float16)"},
      {"convert_custom_float8_sm80", "write x.to(tl.float16)"},
      {"num_threads", kLaunch},
      {"num_warps", kLaunch},
      {"gdc_wait", "leave it out: launches follow each other here"},
      {"gdc_launch_dependents",
       "leave it out: launches follow each other here"},
      {"max", "write tl.maximum(x, y) of two, tl.max(x, axis) of a block"},
      {"min", "write tl.minimum(x, y) of two, tl.min(x, axis) of a block"},
  };
  for (const Later &later : kLater)
    if (name == later.name)
      return std::string(later.hint);
  return "";
}

} // namespace

// Fails: `tl` does not have a member of this name, or not yet.
void Lowering::failUnknownMember(const std::string &module,
                                 const std::string &name,
                                 const SourceRange &range) {
  std::string hint;
  for (auto [word, meant] : kTypeWords)
    if (module == "tl" && name == word)
      hint = "the type has a width: " + std::string(meant);
  std::vector<std::string> known;
  if (module == "tl")
    for (const char *type : kTypeNames)
      known.push_back(type);
  const std::string prefix = registryName(module, "");
  for (const auto &[path, builtin] : Registry::get().all())
    if (path.compare(0, prefix.size(), prefix) == 0 &&
        path.find('.', prefix.size()) == path.npos)
      known.push_back(path.substr(prefix.size()));
  if (hint.empty())
    if (std::string nearest = nearestName(name, known); !nearest.empty())
      hint = "did you mean `" + module + "." + nearest + "`?";
  if (hint.empty())
    hint = "docs/language/builtins.md lists what there is";
  fail(DiagnosticId::NotSupported, range,
       "no `" + module + "." + name + "`, or it is not supported yet", hint);
}

Value Lowering::member(const std::string &parent, const std::string &name,
                       const SourceRange &range) {
  std::string module = canonical(parent);
  std::string path = canonical(module + "." + name);
  if (isModule(path))
    return ModuleRef{path};
  if (module == "math")
    if (const auto number = language::namedValue(path).asFloat())
      return Const(*number);
  if (module == "tl.PropagateNan" && (name == "ALL" || name == "NONE"))
    return Const("PropagateNan." + name);
  if (module == "tl" && name == "TRITON_MAX_TENSOR_NUMEL")
    return Value::integer(tile::kMaxTileElements);
  if (module == "tl" && name == "pi32_t")
    return Value::type(Type(Element{DType::Int32, true}));
  if (module == "tl")
    if (auto dtype = dtypeMember(name))
      return Value::type(Type(*dtype));
  std::string known = registryName(module, name);
  const Builtin *builtin =
      known.empty() ? nullptr : Registry::get().find(known);
  if (builtin)
    return BuiltinRef{builtin, nullptr};
  const bool device = module == "tl.extra.libdevice" || module == "tl.math";
  if (device || module == "tl")
    if (auto *function =
            device ? libdeviceFunction(name) : preludeFunction(name))
      return FunctionRef{function, nullptr};
  if (std::string hint = laterHint(module, name); !hint.empty())
    fail(DiagnosticId::NotSupported, range,
         "`" + module + "." + name + "` is not supported yet", hint);
  if (module == "tl" || module == "tl.math" || module == "triton")
    failUnknownMember(module, name, range);
  const bool ours = module.substr(0, 3) == "tl.";
  fail(DiagnosticId::NotSupported, range,
       "`" + module + "." + name + "` is not supported in a kernel",
       !ours && (Registry::get().find(name) || dtypeMember(name))
           ? (dtypeMember(name) ? "the type of kernels is tl."
                                : "the function of kernels is tl.") +
                 name
           : "docs/language/builtins.md lists what kernels may call");
}

std::optional<Value> Lowering::global(std::string_view name,
                                      const SourceRange &range) {
  if (!frame().function)
    return std::nullopt;
  const language::Program *ours = preludeOf(frame().file);
  auto symbol = (ours ? *ours : program).lookup(*frame().function, name);
  if (!symbol)
    return std::nullopt;
  switch (symbol->kind) {
  case language::Symbol::Kind::Function:
    return FunctionRef{symbol->function, nullptr};
  case language::Symbol::Kind::Constant:
    return fromSyntax(symbol->value, range);
  case language::Symbol::Kind::Unread:
    fail(DiagnosticId::NotSupported, range, symbol->unreadMessage(name),
         symbol->hint);
  case language::Symbol::Kind::Library:
    break;
  }
  std::string path = canonical(symbol->path);
  if (isModule(path))
    return ModuleRef{path};
  size_t dot = path.rfind('.');
  if (dot == path.npos)
    return ModuleRef{path};
  return member(path.substr(0, dot), path.substr(dot + 1), range);
}

std::string Lowering::unknownNameHint(const std::string &name) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"true", "True"}, {"false", "False"}, {"null", "None"}, {"none", "None"}};
  for (auto [word, meant] : kWords)
    if (name == word)
      return "in Python it is written `" + std::string(meant) + "`";
  if (name == "tl" || name == "triton")
    return name == "tl" ? "add `import triton.language as tl` at the top of "
                          "the file"
                        : "add `import triton` at the top of the file";
  for (auto [word, hint] : kPythonNames)
    if (name == word)
      return "Python's `" + name +
             "` does not exist in kernels: " + std::string(hint);
  std::vector<std::string> known;
  for (const auto &[local, variable] : frame().scope)
    known.push_back(local);
  for (const language::StmtPtr &stmt : program.main().body)
    if (const auto *function = stmt->as<language::FunctionDef>())
      known.push_back(function->name);
  const bool inModule = Registry::get().find(name) || dtypeMember(name);
  std::string nearest = nearestName(name, known);
  if (inModule && (nearest.empty() || editDistance(name, nearest) > 1))
    return "functions and types of the language belong to its module: write "
           "tl." +
           name;
  if (!nearest.empty())
    return "did you mean `" + nearest + "`?";
  return "assign it before this line, make it a parameter, or define it at "
         "the top of the file";
}

// True if a line of the file begins a class of this name.
static bool isClassOf(const std::string &text, const std::string &name) {
  const std::string start = "class " + name;
  for (size_t at = text.find(start); at != text.npos;
       at = text.find(start, at + 1)) {
    const char next =
        at + start.size() < text.size() ? text[at + start.size()] : ' ';
    if ((at == 0 || text[at - 1] == '\n') && (next == '(' || next == ':'))
      return true;
  }
  return false;
}

Value Lowering::lookUp(const language::Name &name) {
  if (auto it = frame().scope.find(name.id); it != frame().scope.end())
    return it->second.value;
  if (auto it = frame().lost.find(name.id); it != frame().lost.end()) {
    const bool ofLoop = it->second.starts_with(loopVariable);
    fail(DiagnosticId::UnknownName, name.range,
         "`" + name.id + "` may have no value here: " + it->second +
             (ofLoop ? ", and has no value after that loop" : ""),
         ofLoop
             ? "copy it inside of the loop to a name that has a value before "
               "the loop"
             : "give `" + name.id + "` a value before that line");
  }
  if (auto value = global(name.id, name.range))
    return *value;
  if (auto *builtin = Registry::get().find("python." + name.id))
    return BuiltinRef{builtin, nullptr};
  if (name.id == "abs" || name.id == "sum")
    if (auto *builtin = Registry::get().find(name.id))
      return BuiltinRef{builtin, nullptr};
  if (frame().file && isClassOf(frame().file->text(), name.id))
    fail(DiagnosticId::NotSupported, name.range,
         "the class `" + name.id +
             "` is code around kernels, which is not read",
         "a class of typing.NamedTuple, or under @triton.aggregate, may have "
         "fields with annotations and functions under @triton.jit; else pass "
         "the values one by one");
  fail(DiagnosticId::UnknownName, name.range,
       "`" + name.id + "` is not defined", unknownNameHint(name.id));
}

static Value sizesOf(const Shape &shape) {
  std::vector<Value> sizes;
  for (int64_t size : shape)
    sizes.push_back(Value::integer(size));
  return Value::tuple(std::move(sizes));
}

Value Lowering::typeAttribute(const Type &type,
                              const language::Attribute &expr) {
  const std::string &name = expr.attribute;
  if (name == "element_ty") {
    if (type.isBlock())
      return Value::type(Type(type.element));
    if (type.element.isPointer)
      return Value::type(Type(type.element.dtype));
  }
  if (name == "scalar")
    return Value::type(Type(type.element));
  unsigned bits = type.element.isPointer ? 64 : bitWidth(type.element.dtype);
  if (name == "primitive_bitwidth" ||
      (name == "int_bitwidth" && type.element.isInt()))
    return Value::integer(bits);
  if (name == "numel" && type.isBlock())
    return Value::integer(type.elements());
  if (type.element.isFloat()) {
    if (name == "fp_mantissa_width")
      return Value::integer(fractionBits(type.element.dtype));
    if (name == "exponent_bias")
      return Value::integer(exponentBias(type.element.dtype));
  }
  if (name == "itemsize")
    return Value::integer((bits + 7) / 8);
  if (name == "name")
    return Const(toString(type.element));
  if (name == "shape" && type.isBlock())
    return sizesOf(type.shape);
  if (auto *builtin = Registry::get().find("dtype." + name))
    return BuiltinRef{builtin, std::make_shared<Value>(Value::type(type))};
  std::string nearest = Registry::get().nearest("dtype." + name);
  fail(DiagnosticId::UnknownAttribute, expr.attributeRange,
       "the type " + toString(type) + " has no attribute `" + name + "`",
       nearest.empty() ? "docs/language/builtins.md lists what a type can be "
                         "asked"
                       : "did you mean `" + nearest + "`?");
}

// Returns what to write for an attribute that a value does not have; `x` is the
// value's text.
static std::string attributeHint(const Value &value, const std::string &name,
                                 const std::string &x) {
  if (auto *fields = value.tupleFields()) {
    std::vector<std::string> names;
    for (const language::Parameter &field : fields->parameters)
      names.push_back(field.name);
    return nearestNameHint(name, names, "fields");
  }
  if (value.tupleValues())
    return name == "append" || name == "extend"
               ? "a tuple or list of a kernel is fixed: accumulate into a "
                 "block, or make a new tuple with +"
               : "a tuple has no attributes; index it: " + x + "[0]";
  if (value.isNone())
    return "the argument was not given; test it first: if " + x +
           " is not None";
  if (value.descriptor())
    return "a descriptor has load, store, gather, scatter, the atomics, shape, "
           "strides, block_shape and dtype";
  if (!value.tensor())
    return "docs/language/builtins.md lists what values have";
  if (value.tensor()->type.element.isPointer &&
      Registry::get().find("descriptor." + name))
    return "that is of descriptors: tl.make_tensor_descriptor(" + x +
           ", shape, strides, block_shape); or tl." + name + " of pointers";
  const std::pair<std::string_view, std::string> words[] = {
      {"size", x + ".shape holds the sizes, " + x + ".numel their product"},
      {"ndim", "write len(" + x + ".shape)"},
      {"dim", "write len(" + x + ".shape)"},
      {"float", "write " + x + ".to(tl.float32)"},
      {"double", "write " + x + ".to(tl.float64)"},
      {"half", "write " + x + ".to(tl.float16)"},
      {"bfloat16", "write " + x + ".to(tl.bfloat16)"},
      {"int", "write " + x + ".to(tl.int32)"},
      {"long", "write " + x + ".to(tl.int64)"},
      {"bool", "write " + x + " != 0"},
      {"astype", "write " + x + ".to(...)"},
      {"type_as", "write " + x + ".to(other.dtype)"},
      {"mean", "write tl.sum(" + x + ", axis=0) / " + x + ".shape[0]"},
      {"unsqueeze", "write tl.expand_dims(" + x + ", axis)"},
      {"squeeze", "write tl.reshape(" + x + ", shape)"},
      {"transpose", "write tl.trans(" + x + ")"},
      {"t", "write tl.trans(" + x + ")"},
      {"expand", "write tl.broadcast_to(" + x + ", shape)"},
      {"clone", "blocks are values: write the name itself"},
      {"copy", "blocks are values: write the name itself"},
      {"contiguous", "blocks are values: write the name itself"},
      {"pow", "write " + x + " * " + x},
      {"add_", "write " + x + " += ..."},
      {"where", "write tl.where(condition, a, b)"}};
  for (const auto &[word, hint] : words)
    if (name == word)
      return hint;
  std::vector<std::string> known{"dtype", "shape", "type", "T", "numel"};
  for (const auto &[method, builtin] : Registry::get().all())
    if (builtin.isMethod)
      known.push_back(method);
  if (std::string nearest = nearestName(name, known); !nearest.empty())
    return "did you mean `" + nearest + "`?";
  if (Registry::get().find(name))
    return "it is a function: tl." + name + "(" + x + ", ...)";
  return "a block has dtype, shape, T, numel and the methods of "
         "docs/language/builtins.md";
}

static std::optional<Value> descriptorAttribute(const Descriptor &array,
                                                const Value &value,
                                                const std::string &name) {
  Type block(array.base.type.element.dtype, array.block);
  if (name == "dtype")
    return Value::type(Type(block.element));
  if (name == "block_type")
    return Value::type(block);
  if (name == "block_shape")
    return sizesOf(array.block);
  if (name == "shape" || name == "strides") {
    const auto &list = name == "shape" ? array.shape : array.strides;
    return Value::tuple({list.begin(), list.end()});
  }
  if (auto *builtin = Registry::get().find("descriptor." + name))
    return BuiltinRef{builtin, std::make_shared<Value>(value)};
  return std::nullopt;
}

Value Lowering::attribute(const Value &value, const language::Attribute &expr) {
  const std::string &name = expr.attribute;
  if (auto *module = value.as<ModuleRef>())
    return member(module->path, name, expr.range);
  if (auto *constant = value.constant()) {
    if (name == "value")
      return value;
    if (constant->isType())
      return typeAttribute(constant->type(), expr);
  }
  // The type of a block pointer is its base's, as in x.to(p.dtype.element_ty).
  if (auto *block = value.blockPointer();
      block && (name == "dtype" || name == "type"))
    return Value::type(block->base.type);
  if (auto *fields = value.tupleFields())
    for (size_t i = 0; i < fields->parameters.size(); ++i)
      if (fields->parameters[i].name == name)
        return (*value.members())[i];
  if (auto *fields = value.tupleFields())
    if (auto *method = fields->method(name))
      return FunctionRef{method, std::make_shared<Value>(value)};
  // A method by the name of its class: the object is an argument.
  if (auto *type = value.as<FunctionRef>(); type && type->def->isNamedTuple)
    if (auto *method = type->def->method(name))
      return FunctionRef{method, nullptr};
  if (auto *array = value.descriptor())
    if (auto found = descriptorAttribute(*array, value, name))
      return *found;
  if (auto *tensor = value.tensor()) {
    const Type &type = tensor->type;
    if (name == "dtype")
      return Value::type(Type(type.element));
    if (name == "type")
      return Value::type(type);
    if (name == "numel")
      return Value::integer(type.elements());
    if (name == "shape")
      return sizesOf(type.shape);
    if (name == "T") {
      if (type.rank() != 2)
        fail(DiagnosticId::ShapeMismatch, expr.range,
             "`.T` needs two dimensions, got " + toString(type),
             "use tl.permute");
      return emit.permute(*tensor, {1, 0});
    }
  }
  // Methods. A number known at compile time has those of a scalar.
  bool number = value.constant() && value.constant()->isNumber();
  if (value.tensor() || value.blockPointer() || number) {
    auto *builtin = Registry::get().find(name);
    if (!builtin || !builtin->isMethod)
      builtin = Registry::get().find("method." + name);
    if (builtin)
      return BuiltinRef{builtin, std::make_shared<Value>(value)};
    if (auto *function = preludeFunction(name);
        function && name.starts_with("atomic_"))
      return FunctionRef{function, std::make_shared<Value>(value)};
  }
  fail(DiagnosticId::UnknownAttribute, expr.attributeRange,
       value.describe() + " has no attribute `" + name + "`",
       attributeHint(value, name, quoteOperand(expr.value->range)));
}

std::optional<Value> Lowering::attribute(const Value &value,
                                         const std::string &name,
                                         const SourceRange &range) {
  language::Attribute node;
  node.range = node.attributeRange = range;
  node.attribute = name;
  node.value = std::make_unique<language::Constant>(range);
  try {
    return attribute(value, node);
  } catch (const CompileError &) {
    return std::nullopt;
  }
}

} // namespace tessera::semantics
