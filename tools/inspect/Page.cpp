// tools/inspect/Page.cpp - data, script and style as one HTML file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Page.h"

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

std::string htmlPage(const std::string &skeleton, const std::string &title,
                     const Json &data,
                     const std::map<std::string, std::string> &parts) {
  std::string result;
  for (size_t at = 0; at < skeleton.size();) {
    const size_t open = skeleton.find('@', at);
    result += skeleton.substr(at, open - at);
    if (open == std::string::npos)
      break;
    const size_t close = skeleton.find('@', open + 1);
    const std::string name = close == std::string::npos
                                 ? std::string()
                                 : skeleton.substr(open + 1, close - open - 1);
    at = close + 1;
    if (name == "TITLE")
      result += htmlText(title);
    else if (name == "DATA")
      result += scriptJson(data);
    else if (const auto part = parts.find(name); part != parts.end())
      result += part->second;
    else { // an at sign
      result += '@';
      at = open + 1;
    }
  }
  return result;
}

} // namespace tessera::tools
