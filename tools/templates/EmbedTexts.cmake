# tools/templates/EmbedTexts.cmake - texts as functions of a source file.
#
#   cmake -DOUTPUT=... -DHEADER=... "-DTEXTS=FUNCTION=FILE;..." -P EmbedTexts.cmake
#
# writes OUTPUT, where tessera::tools::FUNCTION(), which HEADER declares, returns
# the text of FILE.
# SPDX-License-Identifier: Apache-2.0
set(content "// Written by tools/templates/EmbedTexts.cmake.
#include \"${HEADER}\"
")
foreach(pair IN LISTS TEXTS)
  string(FIND "${pair}" "=" equals)
  string(SUBSTRING "${pair}" 0 ${equals} function)
  math(EXPR equals "${equals} + 1")
  string(SUBSTRING "${pair}" ${equals} -1 file)
  file(READ ${file} text)
  # In pieces: compilers limit the length of a literal.
  string(LENGTH "${text}" length)
  set(literal "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 4000 piece)
    string(APPEND literal "\n    R\"~~(${piece})~~\"")
    math(EXPR at "${at} + 4000")
  endwhile()
  string(APPEND content "
std::string tessera::tools::${function}() {
  return ${literal};
}
")
endforeach()
file(WRITE ${OUTPUT} "${content}")
