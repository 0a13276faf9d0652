// language/ParseImports.cpp - parses import statements.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/ParserImpl.h"

namespace tessera::language {

std::string Parser::parseDottedName() {
  std::string name(expectName("a module").text);
  while (accept("."))
    name += "." + std::string(expectName("a module").text);
  return name;
}

void Parser::parseImport(Block &block) {
  next();
  do {
    SourceRange start = peek().range;
    auto node = std::make_unique<Import>();
    node->module = parseDottedName();
    if (accept("as")) {
      node->alias = std::string(expectName("the module").text);
      node->hasAlias = true;
    } else {
      node->alias = node->module.substr(0, node->module.find('.'));
    }
    node->range = since(start);
    noteImport(node->alias, node->hasAlias ? node->module : node->alias);
    block.push_back(std::move(node));
  } while (accept(","));
}

// Records an import: names of triton decide which functions are kernels.
void Parser::noteImport(std::string alias, std::string path) {
  imported.insert_or_assign(std::move(alias), std::move(path));
}

void Parser::parseImportFrom(Block &block) {
  next();
  unsigned level = 0;
  while (at(".") || at("..."))
    level += unsigned(next().text.size());
  std::string module;
  if (!level || !at("import"))
    module = parseDottedName();
  expect("import", "the module");
  bool parenthesis = accept("(");
  if (at("*")) {
    auto node = std::make_unique<ImportFrom>(next().range);
    node->level = level;
    node->module = module;
    node->name = node->alias = "*";
    hasStarImport = true;
    block.push_back(std::move(node));
    return;
  }
  do {
    if (parenthesis && at(")"))
      break;
    SourceRange start = peek().range;
    auto node = std::make_unique<ImportFrom>();
    node->level = level;
    node->module = module;
    node->name = std::string(expectName("what is imported").text);
    node->alias =
        accept("as") ? std::string(expectName("the import").text) : node->name;
    node->range = since(start);
    noteImport(node->alias, std::string(level, '.') + module +
                                (module.empty() ? "" : ".") + node->name);
    block.push_back(std::move(node));
  } while (accept(","));
  if (parenthesis)
    expect(")", "the imported names");
}

} // namespace tessera::language
