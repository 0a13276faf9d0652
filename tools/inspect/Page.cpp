// tools/inspect/Page.cpp - combines data, script and style to one HTML file.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/Page.h"

#include <map>
#include <sstream>

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
  // In JSON these characters appear only in strings, where an escape has the
  // same meaning.
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

std::string htmlPage(const PageParts &parts, const Json &data) {
  const std::map<std::string, std::string> fillings = {
      {"TITLE", htmlText(parts.title)},
      {"STYLE", parts.style},
      {"BODY", parts.body},
      {"DATA", scriptJson(data)},
      {"SCRIPT", parts.script}};
  // Every second part of the frame is the name of the text to insert.
  std::istringstream frame(pageFrame());
  std::string result;
  bool isName = false;
  for (std::string piece; std::getline(frame, piece, '@'); isName = !isName)
    result += isName ? fillings.at(piece) : piece;
  return result;
}

} // namespace tessera::tools
