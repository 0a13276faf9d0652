# tools/report/Embed.cmake - writes OUTPUT, a source file that returns the texts
# of the page's parts. Run with cmake -P.
# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../templates/EmbedTexts.cmake)
embed_texts(${OUTPUT} "tools/report/RunPage.h"
  runBody=${FOLDER}/body.html runScript=${FOLDER}/report.js runStyle=${FOLDER}/report.css)
