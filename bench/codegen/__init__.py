# bench/codegen/__init__.py - the report of our PTX compared with Triton's.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
