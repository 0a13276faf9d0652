# bench/cpu/__init__.py - the rows of the table of a CPU.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
