# tools/templates/Embed.cmake - writes OUTPUT, a source file that returns the
# templates' texts. Run with cmake -P.
# SPDX-License-Identifier: Apache-2.0
include(${CMAKE_CURRENT_LIST_DIR}/EmbedTexts.cmake)
embed_texts(${OUTPUT} "tools/commands/KernelTemplate.h"
  kernelTemplate=${FOLDER}/kernel.py kernelTestTemplate=${FOLDER}/kernel_test.py)
