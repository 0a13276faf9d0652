// cmake/precompiled/Empty.cpp - a source for the targets that only make a
// precompiled header.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
