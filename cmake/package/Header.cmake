# cmake/package/Header.cmake - writes OUTPUT, the header INPUT as programs get
# it: its includes of ours are <tessera/...>. Run with cmake -P.
# SPDX-License-Identifier: Apache-2.0
file(READ ${INPUT} text)
string(REGEX REPLACE "#include \"[a-z/]+/([A-Za-z.]+)\"" "#include <tessera/\\1>" text "${text}")
file(WRITE ${OUTPUT} "${text}")
