// tools/report/RunPage.h - the files of tools/report, embedded at build time.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tessera::tools {

// Return the body and the script of the page that htmlPage()
// (tools/inspect/Page.h) writes; its data are {"runs": runsJson()}.
std::string runBody();
std::string runScript();
// Returns the style that is added to pageStyle().
std::string runStyle();

} // namespace tessera::tools
