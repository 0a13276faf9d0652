# tools/profile/Embed.cmake - writes OUTPUT, a source file that returns the texts
# of the page's parts. Run with cmake -P.
# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../templates/EmbedTexts.cmake)
embed_texts(${OUTPUT} "tools/profile/Write.h"
  profileBody=${FOLDER}/body.html profileScript=${FOLDER}/profile.js profileStyle=${FOLDER}/profile.css)
