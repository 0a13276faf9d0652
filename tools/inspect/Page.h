// tools/inspect/Page.h - data, script and style as one HTML file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string>

namespace tessera::tools {

// What tells one page from another.
struct PageParts {
  std::string title, style;
  std::string body; // HTML below the heading
  std::string script;
};

// A page that loads nothing: page.html with the parts and the data filled in.
// The script reads the data from the element with the id `data`. Bytes that are
// not UTF-8 become U+FFFD.
std::string htmlPage(const PageParts &parts, const Json &data);

// The text with what HTML takes for markup written as entities.
std::string htmlText(const std::string &text);

// As JSON that may stand within a script element: no text of it can end the
// element or begin a comment.
std::string scriptJson(const Json &data);

// The files of tools/inspect, embedded at build time.
std::string pageFrame();
std::string pageBody();
std::string pageScript();
std::string drawScript();
std::string pageStyle();

} // namespace tessera::tools
