# cmake/TesseraTargets.cmake - the one way targets are made.
#
#   tessera_library(NAME [SHARED] SRCS ... [DEPS ...] [MLIR] [TORCH])
#   tessera_executable(NAME SRCS ... [DEPS ...] [MLIR] [TORCH])
#   tessera_test(NAME SRCS ... [DEPS ...] [LABELS ...] [MLIR] [TORCH])
#
# MLIR gives the target MLIR/LLVM headers and the shared libraries; TORCH gives
# LibTorch. The include root is the repository (and the build folder, for
# generated headers): #include "support/Hash.h".
# SPDX-License-Identifier: Apache-2.0

function(_tessera_common target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR;TORCH" "" "DEPS")
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${target} PUBLIC ${arg_DEPS} Threads::Threads)
  if(arg_MLIR)
    target_link_libraries(${target} PUBLIC tessera_mlir_headers MLIR LLVM)
    target_compile_options(${target} PRIVATE -Wno-comment)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE
        $<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/GccTypeNames.h>)
    endif()
  endif()
  if(arg_TORCH)
    target_link_libraries(${target} PUBLIC tessera_torch)
    target_compile_definitions(${target} PRIVATE USE_DISTRIBUTED USE_C10D_GLOO)
    set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH ${TESSERA_TORCH_ROOT}/lib)
  endif()
endfunction()

# Forwards the MLIR and TORCH switches of the caller's parsed arguments.
macro(_tessera_finish target)
  set(switches)
  foreach(switch MLIR TORCH)
    if(arg_${switch})
      list(APPEND switches ${switch})
    endif()
  endforeach()
  _tessera_common(${target} ${switches} DEPS ${arg_DEPS})
endmacro()

function(tessera_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED;MLIR;TORCH" "" "SRCS;DEPS")
  set(kind STATIC)
  if(arg_SHARED)
    set(kind SHARED)
  endif()
  add_library(${name} ${kind} ${arg_SRCS})
  _tessera_finish(${name})
endfunction()

function(tessera_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR;TORCH" "" "SRCS;DEPS")
  add_executable(${name} ${arg_SRCS})
  _tessera_finish(${name})
endfunction()

function(tessera_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR;TORCH" "" "SRCS;DEPS;LABELS")
  if(NOT TESSERA_TESTS)
    return()
  endif()
  list(APPEND arg_DEPS GTest::gtest GTest::gtest_main)
  add_executable(${name} ${arg_SRCS})
  _tessera_finish(${name})
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
endfunction()
