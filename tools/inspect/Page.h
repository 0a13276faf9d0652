// tools/inspect/Page.h - data, script and style as one HTML file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <string>

namespace tessera::tools {

// A page that loads nothing: the script reads `data` from the element with the
// id `data`. Bytes that are not UTF-8 become U+FFFD.
std::string inspectPage(const std::string &title, const Json &data);

// The text with what HTML takes for markup written as entities.
std::string htmlText(const std::string &text);

// As JSON that may stand within a script element: no text of it can end the
// element or begin a comment.
std::string scriptJson(const Json &data);

// The files of tools/inspect, embedded at build time.
std::string pageSkeleton();
std::string pageScript();
std::string pageStyle();

} // namespace tessera::tools
