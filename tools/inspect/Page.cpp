// tools/inspect/Page.cpp - data, script and style as one HTML file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Page.h"

#include <map>

namespace tessera::tools {

std::string htmlText(const std::string &text) {
  std::string result;
  for (char c : text)
    if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '&')
      result += "&amp;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  return result;
}

std::string scriptJson(const Json &data) {
  // Only strings can hold these, and there an escape means the same.
  std::string result;
  for (char c : data.dump(-1, ' ', true, Json::error_handler_t::replace))
    if (c == '<')
      result += "\\u003c";
    else if (c == '>')
      result += "\\u003e";
    else
      result += c;
  return result;
}

std::string inspectPage(const std::string &title, const Json &data) {
  const std::map<std::string, std::string> parts = {
      {"@TITLE@", htmlText(title)},
      {"@STYLE@", pageStyle()},
      {"@SCRIPT@", pageScript()},
      {"@DATA@", scriptJson(data)}};
  const std::string skeleton = pageSkeleton();
  std::string result;
  for (size_t at = 0; at < skeleton.size();) {
    const size_t open = skeleton.find('@', at);
    if (open == std::string::npos) {
      result += skeleton.substr(at);
      break;
    }
    result += skeleton.substr(at, open - at);
    const size_t close = skeleton.find('@', open + 1);
    const auto part = parts.find(skeleton.substr(open, close + 1 - open));
    if (close == std::string::npos || part == parts.end()) {
      result += '@';
      at = open + 1;
    } else {
      result += part->second;
      at = close + 1;
    }
  }
  return result;
}

} // namespace tessera::tools
