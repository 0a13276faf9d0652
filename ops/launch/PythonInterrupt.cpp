// ops/launch/PythonInterrupt.cpp - raises Python's KeyboardInterrupt for an
// interrupted launch.
// Copyright the tessera authors.
// SPDX-License-Identifier: Apache-2.0
//
// Python's handler only sets a flag; the interpreter raises the exception when
// it resumes. If an op throws first, `except KeyboardInterrupt` does not see
// the signal. The op therefore throws the exception that Python's handler
// raises.
#include "ops/launch/PythonInterrupt.h"

#include <dlfcn.h>
#include <stdexcept>

// torch's binding of ops asks a C++ exception of this type to raise itself in
// Python, with the interpreter's lock held (pybind11/detail/common.h, "C++
// bindings of builtin Python exceptions"). It is declared here because pybind11
// needs Python's headers, and C++ programs also use this library. Catch clauses
// compare types by name.
namespace pybind11 {
class TESSERA_EXCEPTION builtin_exception : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
  virtual void set_error() const = 0;
};
} // namespace pybind11

namespace tessera::runtime {
namespace {

// Returns a symbol of the process's Python, or null without Python: this
// library does not link Python.
template <typename T>
T *python(const char *name) {
  return reinterpret_cast<T *>(::dlsym(RTLD_DEFAULT, name));
}

class TESSERA_EXCEPTION PythonInterrupt : public pybind11::builtin_exception {
public:
  using pybind11::builtin_exception::builtin_exception;
  void set_error() const override {
    // Calls the handlers of pending signals, in the main thread.
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
