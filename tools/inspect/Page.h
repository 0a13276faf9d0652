// tools/inspect/Page.h - data, script and style as one HTML file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/Json.h"

#include <map>
#include <string>

namespace tessera::tools {

// A page that loads nothing: `skeleton` with @TITLE@, @DATA@ and the parts
// (@NAME@ for each name) filled in. Its script reads the data from the element
// with the id `data`. Bytes that are not UTF-8 become U+FFFD.
std::string htmlPage(const std::string &skeleton, const std::string &title,
                     const Json &data,
                     const std::map<std::string, std::string> &parts);

// The text with what HTML takes for markup written as entities.
std::string htmlText(const std::string &text);

// As JSON that may stand within a script element: no text of it can end the
// element or begin a comment.
std::string scriptJson(const Json &data);

// The files of tools/inspect, embedded at build time.
std::string pageSkeleton();
std::string pageScript();
std::string drawScript();
std::string pageStyle();

} // namespace tessera::tools
