# tests/errors/modules/circle.py - imports from the file that imports from it.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
from .kernel import swish
