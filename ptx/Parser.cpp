// ptx/Parser.cpp - PTX modules: directives and declarations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "ptx/Parser.h"

#include "support/Error.h"
#include "support/Text.h"

#include <bit>
#include <cstring>

namespace tessera::ptx {
namespace {

constexpr uint64_t MaxModuleBytes = uint64_t{1} << 28;
constexpr uint64_t MaxRegisters = uint64_t{1} << 20;

// Bytes of a fundamental type (PTX ISA, "Fundamental Types"); 0 when it is
// none.
uint32_t typeBytes(std::string_view type) {
  if (type == ".b8" || type == ".u8" || type == ".s8")
    return 1;
  if (type == ".b16" || type == ".u16" || type == ".s16" || type == ".f16" ||
      type == ".bf16")
    return 2;
  if (type == ".b32" || type == ".u32" || type == ".s32" || type == ".f32" ||
      type == ".f16x2" || type == ".bf16x2")
    return 4;
  if (type == ".b64" || type == ".u64" || type == ".s64" || type == ".f64" ||
      type == ".texref" || type == ".samplerref" || type == ".surfref")
    return 8;
  if (type == ".b128")
    return 16;
  return 0;
}

bool isLinkage(const Token &token) {
  return token.is(".visible") || token.is(".extern") || token.is(".weak") ||
         token.is(".common");
}

} // namespace

bool spaceOf(const Token &token, Space &space) {
  if (token.is(".global"))
    space = Space::Global;
  else if (token.is(".const"))
    space = Space::Const;
  else if (token.is(".shared"))
    space = Space::Shared;
  else if (token.is(".local"))
    space = Space::Local;
  else if (token.is(".param"))
    space = Space::Param;
  else
    return false;
  return true;
}

Module parsePtx(std::string_view text, const std::string &name, Names names) {
  return Parser(text, name, names).run();
}

Parser::Parser(std::string_view text, const std::string &name, Names names)
    : name(name), names(names), tokens(lexPtx(text, this->name)) {
  module.name = name;
}

void Parser::failAt(uint32_t line, const std::string &what,
                    const std::string &hint) {
  throw Error(name + ":" + std::to_string(line) + ": " + what, hint);
}
void Parser::fail(const std::string &what, const std::string &hint) {
  failAt(peek().line, what, hint);
}

const Token &Parser::peek(size_t ahead) const {
  size_t i = pos + ahead;
  return i < tokens.size() ? tokens[i] : tokens.back();
}

const Token &Parser::take() {
  const Token &token = peek();
  if (pos < tokens.size())
    ++pos;
  return token;
}

bool Parser::accept(std::string_view what) {
  if (!peek().is(what))
    return false;
  take();
  return true;
}

static std::string shown(const Token &token) {
  return token.kind == Token::Kind::End
             ? "the end of the text"
             : "'" + std::string(token.text.substr(0, 60)) + "'";
}

void Parser::expect(std::string_view what, const char *where) {
  if (!accept(what))
    fail("expected '" + std::string(what) + "' " + where + ", found " +
             shown(peek()),
         "PTX statements end with ';', lists are separated by ','");
}

std::string Parser::word(const char *what) {
  if (peek().kind != Token::Kind::Word)
    fail("expected " + std::string(what) + ", found " + shown(peek()),
         "names start with a letter, '_', '$' or '%'");
  return std::string(take().text);
}

uint64_t Parser::integer(const char *what) {
  if (peek().kind != Token::Kind::Integer)
    fail("expected " + std::string(what) + ", found " + shown(peek()),
         "an integer constant stands here");
  return take().value;
}

int64_t Parser::signedInteger(const char *what) {
  bool minus = accept("-");
  uint64_t value = integer(what);
  return static_cast<int64_t>(minus ? 0 - value : value);
}

Module Parser::run() {
  if (!peek().is(".version"))
    fail("PTX text starts with .version, this with " + shown(peek()),
         "pass the text that `nvcc -ptx`, NVRTC or Triton's asm['ptx'] gives");
  while (peek().kind != Token::Kind::End)
    directive();
  if (module.target.empty() && names == Names::Declared)
    fail("no .target", "write .target sm_80 after .version");
  return std::move(module);
}

void Parser::directive() {
  Token token = peek();
  if (token.is(".version") || token.is(".target") || token.is(".address_size"))
    return header(take().text);
  if (sharedDirective() || accept(";"))
    return;
  bool isExtern = false;
  while (isLinkage(peek()))
    isExtern |= take().is(".extern");
  if (accept(".entry"))
    return function(true, isExtern);
  if (accept(".func"))
    return function(false, isExtern);
  Space space;
  if (spaceOf(peek(), space) && space != Space::Param) {
    take();
    return variableList(space, isExtern, module.variables, false);
  }
  fail("unknown directive " + shown(peek()),
       "known: .version .target .address_size .file .loc .section .pragma "
       ".visible .extern .weak .entry .func .global .const .shared .local");
}

// Directives that the module and bodies have; false if the next one is another.
bool Parser::sharedDirective() {
  if (peek().is(".file"))
    file();
  else if (peek().is(".loc"))
    location();
  else if (peek().is(".section"))
    section();
  else if (peek().is(".pragma"))
    skipStatement("after .pragma");
  else
    return false;
  return true;
}

void Parser::skipStatement(const std::string &where) {
  while (peek().kind != Token::Kind::End && !peek().is(";"))
    take();
  expect(";", where.c_str());
}

void Parser::header(std::string_view which) {
  if (which == ".version") {
    // "8.7" reads as a decimal number.
    Token token = take();
    std::string text(token.text);
    size_t dot = text.find('.');
    module.versionMajor = std::strtoul(text.c_str(), nullptr, 10);
    module.versionMinor =
        dot == std::string::npos
            ? 0
            : std::strtoul(text.c_str() + dot + 1, nullptr, 10);
    if (dot == std::string::npos ||
        (names == Names::Declared &&
         (module.versionMajor < 7 || module.versionMajor > 9)))
      failAt(token.line, "PTX version " + text + " is not supported",
             "7.0 to 9.x are");
  } else if (which == ".target") {
    uint32_t line = peek().line;
    module.target = word("an architecture");
    if (module.target.rfind("sm_", 0) != 0)
      failAt(line, "unknown target " + module.target, "write sm_80 or sm_90a");
    while (accept(","))
      word("a target option");
  } else {
    uint32_t line = peek().line;
    if (integer("an address size") != 64)
      failAt(line, "only .address_size 64 is supported",
             "compile for 64-bit addresses");
  }
}

void Parser::file() {
  take();
  uint32_t number = static_cast<uint32_t>(integer("a file number"));
  if (peek().kind != Token::Kind::String)
    fail("expected a path after .file", ".file 1 \"kernel.py\"");
  module.files.push_back({number, std::string(take().text)});
  while (accept(",")) // time stamp and size
    integer("a number");
}

// .loc file line column [, function_name label [+ offset], inlined_at f l c]
void Parser::location() {
  take();
  Location here;
  here.file = static_cast<uint32_t>(integer("a file number"));
  here.line = static_cast<uint32_t>(integer("a line"));
  here.column = static_cast<uint32_t>(integer("a column"));
  while (accept(",")) {
    std::string what = word("function_name or inlined_at");
    if (what == "function_name") {
      word("a label");
      offset();
    } else if (what == "inlined_at") {
      Location outer;
      outer.file = static_cast<uint32_t>(integer("a file number"));
      outer.line = static_cast<uint32_t>(integer("a line"));
      outer.column = static_cast<uint32_t>(integer("a column"));
      // The caller's own .loc says where that was inlined, when there is one.
      for (uint32_t i = static_cast<uint32_t>(module.locations.size());
           i-- > 0;) {
        const Location &l = module.locations[i];
        if (l.file == outer.file && l.line == outer.line &&
            l.column == outer.column) {
          here.inlinedAt = i;
          break;
        }
      }
      if (here.inlinedAt == None) {
        here.inlinedAt = static_cast<uint32_t>(module.locations.size());
        module.locations.push_back(outer);
      }
    } else {
      fail("unknown word " + what + " in .loc",
           "function_name and inlined_at are known");
    }
  }
  currentLocation = static_cast<uint32_t>(module.locations.size());
  module.locations.push_back(here);
}

void Parser::section() {
  take();
  if (peek().kind != Token::Kind::Directive && peek().kind != Token::Kind::Word)
    fail("expected a section name", ".section .debug_info { ... }");
  take();
  expect("{", "after the section's name");
  for (int depth = 1; depth > 0;) {
    if (peek().kind == Token::Kind::End)
      fail("this section has no end", "close it with }");
    Token token = take();
    depth += token.is("{") ? 1 : token.is("}") ? -1 : 0;
  }
}

// Types with .align, .ptr and the like, up to the name.
Parser::Declared Parser::declaredType() {
  Declared declared;
  uint32_t vector = 1;
  while (peek().kind == Token::Kind::Directive) {
    Token token = take();
    if (token.is(".align")) {
      uint64_t align = integer("an alignment");
      if (!std::has_single_bit(align) || align > 4096)
        failAt(token.line, ".align " + std::to_string(align),
               "alignments are powers of two up to 4096");
      declared.align = static_cast<uint32_t>(align);
    } else if (token.is(".v2")) {
      vector = 2;
    } else if (token.is(".v4")) {
      vector = 4;
    } else if (token.is(".v8")) {
      vector = 8;
    } else if (token.is(".pred")) {
      declared.predicate = true;
      declared.type = "pred";
      declared.bytes = 1;
    } else if (token.is(".ptr")) {
      declared.pointer = true;
      // The space pointed to, and its alignment: facts about the pointee.
      while (peek().is(".global") || peek().is(".const") ||
             peek().is(".shared") || peek().is(".local"))
        take();
      if (accept(".align"))
        integer("an alignment");
    } else if (token.is(".attribute")) {
      expect("(", "after .attribute");
      while (peek().kind != Token::Kind::End && !accept(")"))
        take();
    } else if (uint32_t bytes = typeBytes(token.text)) {
      declared.type = token.text.substr(1);
      declared.bytes = bytes;
    } else {
      failAt(token.line, "unknown type " + shown(token),
             "types: .b8 to .b128, .u8 to .u64, .s8 to .s64, .f16, .f16x2, "
             ".bf16, .bf16x2, .f32, .f64, .pred");
    }
  }
  if (declared.bytes == 0)
    fail("a declaration without a type", "write .b32 before the name");
  declared.bytes *= vector;
  if (declared.align == 0)
    declared.align = declared.bytes;
  return declared;
}

void Parser::variableList(Space space, bool isExtern,
                          std::vector<Variable> &into, bool inBody) {
  Declared type = declaredType();
  if (type.predicate)
    fail("predicates live in registers only", "declare .reg .pred");
  do {
    Variable variable;
    variable.line = peek().line;
    variable.name = word("the name of a variable");
    variable.space = space;
    variable.isExtern = isExtern;
    variable.isPointer = type.pointer;
    variable.align = type.align;
    variable.elementBytes = type.bytes;
    uint64_t count = 1;
    // name<4> declares name0 to name3.
    if (peek().is("<"))
      fail("ranges of variables are not supported", "declare an array");
    bool sized = true;
    while (accept("[")) {
      if (accept("]")) {
        sized = false;
        continue;
      }
      if (__builtin_mul_overflow(count, integer("a length"), &count) ||
          count > MaxModuleBytes)
        fail("an array of more than 256 MiB", "pass it as an argument");
      expect("]", "after the array's length");
    }
    variable.bytes = sized ? count * type.bytes : 0;
    totalBytes += variable.bytes;
    if (totalBytes > MaxModuleBytes)
      fail("more than 256 MiB of variables", "pass large data as arguments");
    if (accept("=")) {
      uint32_t scalar = type.bytes > 8 && type.bytes != 16 ? 4 : type.bytes;
      initializer(variable, scalar, 0);
      if (!sized)
        variable.bytes = variable.init.size();
      if (variable.init.size() > variable.bytes)
        failAt(variable.line, "more values than " + variable.name + " holds",
               "make the array longer");
    }
    uint32_t index = static_cast<uint32_t>(into.size());
    if (inBody)
      scopes.back().variables[variable.name] = index;
    else
      moduleVariables[variable.name] = index;
    into.push_back(std::move(variable));
  } while (accept(","));
  expect(";", "after a declaration");
}

void Parser::initializer(Variable &variable, uint32_t scalarBytes, int depth) {
  if (depth > 8)
    fail("initializers nest too deeply", "8 levels are supported");
  if (!accept("{"))
    return initialValue(variable, scalarBytes);
  if (accept("}"))
    return;
  do
    initializer(variable, scalarBytes, depth + 1);
  while (accept(","));
  expect("}", "after the values");
}

void Parser::initialValue(Variable &variable, uint32_t scalarBytes) {
  uint64_t value = 0;
  Token token = peek();
  if (token.kind == Token::Kind::Word) {
    bool generic = accept("generic");
    if (generic)
      expect("(", "after generic");
    Relocation relocation{variable.init.size(), word("a name"), 0};
    if (generic)
      expect(")", "after the name");
    relocation.addend = offset();
    if (scalarBytes != 8)
      failAt(token.line,
             "the address of " + relocation.symbol + " in " +
                 std::to_string(scalarBytes) + " bytes",
             "addresses take .b64");
    variable.relocations.push_back(relocation);
  } else if (token.kind == Token::Kind::Float64 && scalarBytes == 4) {
    take();
    value = std::bit_cast<uint32_t>(
        static_cast<float>(std::bit_cast<double>(token.value)));
  } else if (token.kind == Token::Kind::Float32 ||
             token.kind == Token::Kind::Float64) {
    value = take().value;
  } else {
    value = static_cast<uint64_t>(signedInteger("a value"));
  }
  for (uint32_t i = 0; i < scalarBytes; ++i)
    variable.init.push_back(i < 8 ? static_cast<uint8_t>(value >> (8 * i)) : 0);
  if (variable.init.size() > MaxModuleBytes)
    fail("more than 256 MiB of values", "pass large data as arguments");
}

uint32_t Parser::addRegister(const Declared &type, std::string registerName) {
  if (fn->registers.size() >= MaxRegisters)
    fail("more than a million registers", "split the kernel");
  const uint16_t bits =
      type.predicate ? 1 : static_cast<uint16_t>(type.bytes * 8);
  fn->registers.push_back(
      {bits, std::move(registerName), std::string(type.type)});
  return static_cast<uint32_t>(fn->registers.size() - 1);
}

// .reg .b32 %a, %r<10>;
void Parser::registerList() {
  Declared type = declaredType();
  do {
    std::string base = word("a register");
    if (accept("<")) {
      uint64_t count = integer("a number of registers");
      if (count > MaxRegisters || fn->registers.size() + count > MaxRegisters)
        fail("more than a million registers", "split the kernel");
      expect(">", "after the number of registers");
      uint32_t first = static_cast<uint32_t>(fn->registers.size());
      for (uint64_t i = 0; i < count; ++i)
        addRegister(type, base + std::to_string(i));
      if (count > 0)
        fn->registers[first].startsRange = true;
      scopes.back().ranges[base] = {first, static_cast<uint32_t>(count)};
    } else {
      uint32_t index = addRegister(type, base);
      scopes.back().registers[base] = index;
    }
  } while (accept(","));
  expect(";", "after .reg");
}

void Parser::parameterList(Function &function,
                           std::vector<Function::Parameter> &list) {
  if (!accept("("))
    return;
  if (accept(")"))
    return;
  do {
    Token kind = take();
    if (!kind.is(".param") && !kind.is(".reg"))
      failAt(kind.line, "expected .param or .reg, found " + shown(kind),
             ".param .u64 name");
    Declared type = declaredType();
    Function::Parameter parameter;
    std::string parameterName = word("a parameter's name");
    if (kind.is(".reg")) {
      parameter.reg = addRegister(type, parameterName);
      scopes.back().registers[parameterName] = parameter.reg;
    } else {
      Variable variable;
      variable.line = kind.line;
      variable.name = parameterName;
      variable.space = Space::Param;
      variable.isPointer = type.pointer;
      variable.align = type.align;
      variable.elementBytes = type.bytes;
      variable.bytes = type.bytes;
      if (accept("[")) {
        uint64_t count = peek().is("]") ? 0 : integer("a length");
        if (count > 1 << 20)
          fail("a parameter of more than a mebibyte", "pass a pointer");
        variable.bytes *= count;
        expect("]", "after the length");
      }
      parameter.variable = static_cast<uint32_t>(function.variables.size());
      scopes.back().variables[parameterName] = parameter.variable;
      function.variables.push_back(std::move(variable));
    }
    list.push_back(parameter);
  } while (accept(","));
  expect(")", "after the parameters");
}

// Directives between a function's head and its body; false when none is left.
bool Parser::performance(Function &function) {
  auto dims = [&](std::array<uint32_t, 3> &into) {
    into = {1, 1, 1};
    size_t i = 0;
    do {
      uint64_t value = integer("a number of threads");
      if (i == 3 || value > 1024)
        fail("block sizes are up to three numbers of at most 1024",
             "write .reqntid 128, 1, 1");
      into[i++] = static_cast<uint32_t>(value);
    } while (accept(","));
  };
  if (accept(".reqntid")) {
    dims(function.reqntid);
  } else if (accept(".maxntid")) {
    dims(function.maxntid);
  } else if (accept(".minnctapersm")) {
    function.minCtasPerSm = static_cast<uint32_t>(integer("a number"));
  } else if (accept(".maxnreg")) {
    function.maxRegisters = static_cast<uint32_t>(integer("a number"));
  } else if (accept(".maxnctapersm") || accept(".maxclusterrank")) {
    integer("a number");
  } else if (accept(".reqnctapercluster")) {
    do
      integer("a number");
    while (accept(","));
  } else if (accept(".explicitcluster") || accept(".blocksareclusters") ||
             accept(".noreturn") || accept(".unified")) {
    return true;
  } else if (peek().is(".pragma")) {
    skipStatement("after .pragma");
  } else {
    return false;
  }
  return true;
}

void Parser::function(bool isEntry, bool isExtern) {
  Function function;
  function.isEntry = isEntry;
  function.line = peek().line;
  scopes.assign(1, {});
  labelAliases.clear();
  fn = &function;
  currentLocation = None;
  if (!isEntry && accept(".attribute")) {
    expect("(", "after .attribute");
    while (peek().kind != Token::Kind::End && !accept(")"))
      take();
  }
  if (!isEntry)
    parameterList(function, function.results);
  function.name = word("a function's name");
  parameterList(function, function.parameters);
  while (performance(function)) {
  }
  if (peek().is("{")) {
    function.hasBody = true;
    body();
  } else {
    accept(";");
  }
  fn = nullptr;
  auto known = functionNames.find(function.name);
  if (known == functionNames.end()) {
    functionNames[function.name] =
        static_cast<uint32_t>(module.functions.size());
    module.functions.push_back(std::move(function));
  } else if (function.hasBody) {
    if (module.functions[known->second].hasBody)
      failAt(function.line, "a second body for " + function.name,
             "rename one of the functions");
    module.functions[known->second] = std::move(function);
  }
}

std::string Module::describe(uint32_t location) const {
  std::string text;
  for (int depth = 0; location < locations.size() && depth < 16; ++depth) {
    const Location &l = locations[location];
    std::string path = "file " + std::to_string(l.file);
    for (const NumberedFile &f : files)
      if (f.number == l.file)
        path = lastPart(f.path);
    text += (text.empty() ? "" : ", inlined at ") + path + ":" +
            std::to_string(l.line) + ":" + std::to_string(l.column);
    location = l.inlinedAt;
  }
  return text;
}

uint32_t Module::sourceLine(uint32_t location) const {
  return location < locations.size() ? locations[location].line : 0;
}

const Function *Module::find(std::string_view wanted) const {
  for (const Function &f : functions)
    if (f.name == wanted)
      return &f;
  return nullptr;
}

} // namespace tessera::ptx
