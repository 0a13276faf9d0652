#!/usr/bin/env python3
# tests/unit/compiler/semantics/promotion_table.py - prints promotion.txt from Triton.
# Copyright the tessera authors.
# SPDX-License-Identifier: Apache-2.0
"""Asks the Triton that Python imports, 3.9, for every pair of dtypes; PromotionTest compares.

Each line: how the operands are given ("strong", "weak" for a Python number on
the left), whether the operator divides, the left dtype, then the result for
each right dtype in the order of the header, or "-" where Triton refuses.
"""
import triton
import triton.language as tl
from triton.language.semantic import TritonSemantic

NAMES = ["int1", "int8", "int16", "int32", "int64", "uint8", "uint16",
         "uint32", "uint64", "float16", "bfloat16", "float32", "float64"]
WEAK = ["int1", "int32", "uint32", "int64", "uint64", "float32", "float64"]


def main():
    semantic = TritonSemantic.__new__(TritonSemantic)
    dtypes = [getattr(tl, name) for name in NAMES]
    print("# From Triton", triton.__version__, "by promotion_table.py.")
    print("header", *[dtype.name for dtype in dtypes])
    for how, lefts in (("strong", NAMES), ("weak", WEAK)):
        for divides in (False, True):
            for left in lefts:
                row = []
                for right in dtypes:
                    try:
                        result = semantic.computation_type_impl(
                            getattr(tl, left), how == "weak", right, False, divides)
                        row.append(result.name)
                    except TypeError:
                        row.append("-")
                print(how, "div" if divides else "add", getattr(tl, left).name, *row)


main()
