// language/pattern/KernelTexts.h - the texts of the kernels of a pattern.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace tessera::language {

// The texts contain names in $: "def $NAME$_ref(Q, K, ...". PatternWriter.cpp
// replaces each name by a text.
extern const char *const referenceKernel;
extern const char *const forwardKernel;
extern const char *const queryGradientKernel;
extern const char *const keyGradientKernel;
extern const char *const gradientKernel; // in one pass
extern const char *const decodeKernel;
extern const char *const firstReaderKernel;
// Kernels of a pattern that selects blocks.
extern const char *const listKernel;
extern const char *const listQueryGradientKernel;
extern const char *const listKeyGradientKernel;
extern const char *const listMassKernel; // of an indexer
extern const char *const scoresKernel;

// Returns the text with all names in $ replaced.
std::string replaceNames(std::string text,
                         const std::map<std::string, std::string> &pieces);

} // namespace tessera::language
