// tools/inspect/Page.h - combines data, script and style to one HTML file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string>

namespace tessera::tools {

// The parts that differ between pages.
struct PageParts {
  std::string title, style;
  std::string body; // HTML below the heading
  std::string script;
};

// Returns a page that loads no other file: page.html with the parts and the
// data inserted. The script reads the data from the element with the id `data`.
// Bytes that are not UTF-8 become U+FFFD.
std::string htmlPage(const PageParts &parts, const Json &data);

// Returns the text with HTML markup characters as entities.
std::string htmlText(const std::string &text);

// Returns JSON that is safe inside a script element: no text in it can end the
// element or begin a comment.
std::string scriptJson(const Json &data);

// Return the files of tools/inspect, embedded at build time.
std::string pageFrame();
std::string pageBody();
std::string pageScript();
std::string drawScript();
std::string pageStyle();

} // namespace tessera::tools
