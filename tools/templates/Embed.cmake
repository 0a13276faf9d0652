# tools/templates/Embed.cmake - writes OUTPUT, a source file that returns the
# templates' texts. Run with cmake -P.
# SPDX-License-Identifier: Apache-2.0
set(content "// Written by tools/templates/Embed.cmake.
#include \"tools/commands/KernelTemplate.h\"
")
foreach(pair kernelTemplate=kernel.py kernelTestTemplate=kernel_test.py)
  string(REPLACE "=" ";" pair ${pair})
  list(GET pair 0 function)
  list(GET pair 1 file)
  file(READ ${FOLDER}/${file} text)
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
