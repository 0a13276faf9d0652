// Every example in the op descriptions parses, verifies and round-trips.
// RUN: %dialect-examples | tessera-opt --verify-roundtrip | FileCheck %s
// CHECK-LABEL: func.func @example_0
