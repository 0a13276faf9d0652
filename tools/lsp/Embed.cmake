# tools/lsp/Embed.cmake - writes OUTPUT, a source file that returns the page of
# builtins, FILE. Run with cmake -P.
# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../templates/EmbedTexts.cmake)
embed_texts(${OUTPUT} "tools/lsp/BuiltinDocs.h" builtinsPage=${FILE})
