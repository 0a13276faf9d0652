// language/Remarks.cpp - remarks on a valid kernel that the compiler could not
// optimize.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "language/Remarks.h"

#include "support/Text.h"

namespace tessera::language {

static const char *const severity = "remark";

void addRemark(CompileResult &result, DiagnosticRecord record) {
  record.severity = severity;
  record.file = lastPart(record.file);
  result.diagnostics.push_back(std::move(record));
}

std::vector<DiagnosticRecord> remarksOf(const CompileResult &result) {
  std::vector<DiagnosticRecord> remarks;
  for (const DiagnosticRecord &record : result.diagnostics)
    if (record.severity == severity)
      remarks.push_back(record);
  return remarks;
}

std::string placeOf(const DiagnosticRecord &record) {
  return record.file + ":" + std::to_string(record.line) + ":" +
         std::to_string(record.column);
}

std::string renderRemarks(const CompileRequest &request,
                          const std::vector<DiagnosticRecord> &remarks) {
  std::string text;
  for (DiagnosticRecord remark : remarks) {
    const std::string name = remark.file;
    if (lastPart(request.file) == name)
      remark.file = request.file;
    for (const RequestSource &source : request.sources)
      if (lastPart(source.path) == name)
        remark.file = source.path;
    text += placeOf(remark) + ": " + remark.severity + ": " + remark.message +
            " [" + remark.id + "]\n";
    if (!remark.hint.empty())
      text += "HINT: " + remark.hint + "\n";
  }
  return text;
}

} // namespace tessera::language
