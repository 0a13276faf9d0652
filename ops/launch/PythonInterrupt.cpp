// ops/launch/PythonInterrupt.cpp - an interrupted launch as Python's
// KeyboardInterrupt.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Python's handler only notes the signal; the exception comes when the
// interpreter goes on. An op that ends with an exception of its own comes
// before it: `except KeyboardInterrupt` would not see the signal. So the op's
// exception is the one that the handler raises.
#include "ops/launch/PythonInterrupt.h"

#include <dlfcn.h>
#include <stdexcept>

// What torch's binding of ops asks a C++ exception to raise itself in Python,
// with the interpreter's lock held (pybind11/detail/common.h, "C++ bindings of
// builtin Python exceptions"). Declared here, for pybind11 needs Python's
// headers and this library serves C++ programs, too; catch clauses compare
// types by name.
namespace pybind11 {
class TESSERA_EXCEPTION builtin_exception : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
  virtual void set_error() const = 0;
};
} // namespace pybind11

namespace tessera::runtime {
namespace {

// The process's Python, if any: this library is linked without.
template <typename T>
T *python(const char *name) {
  return reinterpret_cast<T *>(::dlsym(RTLD_DEFAULT, name));
}

class TESSERA_EXCEPTION PythonInterrupt : public pybind11::builtin_exception {
public:
  using pybind11::builtin_exception::builtin_exception;
  void set_error() const override {
    // Calls the handlers of signals that have come, in the main thread.
    if (auto *check = python<int()>("PyErr_CheckSignals"); check && check())
      return;
    auto *set = python<void(void *, const char *)>("PyErr_SetString");
    auto **type = python<void *>("PyExc_RuntimeError");
    if (set && type)
      set(*type, what());
  }
};

} // namespace

void raiseForPython(const LaunchInterrupted &interrupted) {
  if (python<int()>("PyErr_CheckSignals"))
    throw PythonInterrupt(interrupted.what());
  throw interrupted;
}

} // namespace tessera::runtime
