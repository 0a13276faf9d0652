# tools/inspect/Embed.cmake - writes OUTPUT, a source file that returns the texts
# of the page's parts. Run with cmake -P.
# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../templates/EmbedTexts.cmake)
embed_texts(${OUTPUT} "tools/inspect/Page.h"
  pageFrame=${FOLDER}/page.html pageBody=${FOLDER}/body.html pageScript=${FOLDER}/page.js drawScript=${FOLDER}/draw.js pageStyle=${FOLDER}/page.css)
