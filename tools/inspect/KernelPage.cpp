// tools/inspect/KernelPage.cpp - creates the page of one kernel, or of two
// configurations.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/KernelPage.h"

#include "runtime/compile/CompileService.h"
#include "support/CudaTools.h"
#include "tools/inspect/Page.h"

#include <cstdio>

namespace tessera::tools {

bool hasMachineCode() {
  std::string why;
  const auto ptxas =
      findPtxas(runtime::defaultCacheFolder() / "ptxas.json", &why);
  if (ptxas && findDisassembler(ptxas->path))
    return true;
  std::fprintf(stderr, "tessera: %s: the page has no SASS%s\n",
               ptxas ? "no nvdisasm" : why.c_str(),
               ptxas ? "" : " and no registers");
  return false;
}

Configuration compileForPage(std::string title,
                             language::CompileRequest request, bool machine) {
  request.emit = inspectedStages(machine);
  if (machine)
    request.assembler.clear(); // the simulator's requests want none
  Configuration result{std::move(title), std::move(request), nullptr, {}};
  result.kernel = runtime::CompileService::instance().get(result.request);
  return result;
}

std::string kernelPage(const std::vector<Configuration> &sides,
                       const Json &tuned) {
  SourcePane source;
  for (const Configuration &side : sides)
    source.add(side.request);
  Json data = {{"version", 1},
               {"source", source.json()},
               {"sides", Json::array()},
               {"tuned", tuned}};
  for (size_t i = 0; i < sides.size(); ++i)
    data["sides"].push_back(sideJson(sides[i], source.side(i)));
  return htmlPage({"tessera inspect: " + sides[0].title, pageStyle(),
                   pageBody(), pageScript() + drawScript()},
                  data);
}

} // namespace tessera::tools
