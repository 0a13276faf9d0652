# tools/tune/Embed.cmake - writes OUTPUT, a source file that returns the style of
# the page of landscapes. Run with cmake -P.
# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/../templates/EmbedTexts.cmake)
embed_texts(${OUTPUT} "tools/tune/Landscape.h" landscapeStyle=${FOLDER}/landscape.css)
