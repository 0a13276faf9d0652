// tests/unit/language/pattern/PatternTest.cpp - directives of patterns.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
