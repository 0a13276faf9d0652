# cmake/CompilerBuildId.cmake - writes OUTPUT, a source file that defines
# tessera::compilerBuildId() as the hash of the files listed in LIST (one path
# a line, relative to ROOT) and of the text in EXTRA. Run with cmake -P.
# SPDX-License-Identifier: Apache-2.0
file(STRINGS ${LIST} sources)
list(SORT sources)
set(text "${EXTRA}\n")
foreach(source IN LISTS sources)
  if(EXISTS ${ROOT}/${source})
    file(SHA256 ${ROOT}/${source} hash)
    string(APPEND text "${hash} ${source}\n")
  endif()
endforeach()
string(SHA256 id "${text}")
set(content "// Written by cmake/CompilerBuildId.cmake.
#include \"support/BuildId.h\"

const char *tessera::compilerBuildId() {
  return \"${id}\";
}
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
# Left alone when nothing changed, so that nothing is rebuilt.
if(NOT old STREQUAL content)
  file(WRITE ${OUTPUT} "${content}")
endif()
