# cmake/TesseraTargets.cmake - the one way targets are made.
#
#   tessera_library(NAME [SHARED] [EXPORTED] SRCS ... [DEPS ...] [MLIR] [TORCH] [SEPARATE] [COLD])
#   tessera_executable(NAME SRCS ... [DEPS ...] [MLIR] [TORCH] [SEPARATE] [COLD])
#   tessera_test(NAME SRCS ... [DEPS ...] [LINKS ...] [LABELS ...] [MLIR] [TORCH] [OWN_FLAGS] [SEPARATE])
#   tessera_pytest(NAME FILE [SELECT ...] [LABELS ...] [TIMEOUT SECONDS] [ENVIRONMENT ...])
#
# MLIR gives the target MLIR/LLVM headers and the shared libraries; TORCH gives
# LibTorch. The include root is the repository (and the build folder, for
# generated headers): #include "support/Hash.h".
#
# Parsing headers takes longer than compiling our code, so targets share the
# precompiled header of their kind, and up to eight sources of a library, a
# program or a test are one translation unit (unless TESSERA_UNITY is off or the target is
# SEPARATE or in TESSERA_ALONE): names in anonymous namespaces are unique within a target, and none
# of its sources has a using-directive for llvm.
#
# COLD: no loop of the target is hot, so -O1, which compiles its sources in two thirds
# of the time, is enough.
#
# The objects of an EXPORTED library are also linked into libtessera.so, which
# shows some of its symbols (library/libtessera.map.in).
#
# OWN_FLAGS: a dependency of the test brings -m flags, with which it cannot share
# the precompiled header of tests.
#
# LINKS are libraries that a test links without taking their compile options.
# SPDX-License-Identifier: Apache-2.0

# Optimizing a test takes longer than running it: what it tests is optimized.
set(_tessera_test_options -O0)

# tessera_precompiled(KIND): the target whose precompiled header the targets of
# this KIND share: MLIR or TORCH; MLIR_TEST or TORCH_TEST for tests of those, TEST
# for tests that are neither. GCC accepts it where -m, -f, -g and "optimized at
# all" agree.
function(_tessera_precompiled kind)
  string(TOLOWER ${kind} name)
  set(target tessera_precompiled_${name})
  if(TARGET ${target})
    return()
  endif()
  add_library(${target} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled/Empty.cpp)
  string(REPLACE "_" ";" switches ${kind})
  _tessera_common(${target} ${switches})
  if("TEST" IN_LIST switches)
    target_link_libraries(${target} PRIVATE GTest::gtest nlohmann_json::nlohmann_json)
    target_compile_options(${target} PRIVATE ${_tessera_test_options})
  endif()
  target_precompile_headers(${target} PRIVATE <cmake/precompiled/${kind}.h>)
  _tessera_precompiled_sum(${target})
endfunction()

# Writes what a precompiled header depends on beside it. Two compilations of one
# header differ in a few bytes, so that ccache, which looks at the bytes, would
# compile every source again in each new clone; of this file it takes the sum.
function(_tessera_precompiled_sum target)
  set(parts "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_SYSTEM_PROCESSOR}")
  file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/cmake/precompiled/*.h)
  foreach(file ${headers} cmake/GccTypeNames.h)
    file(SHA256 ${PROJECT_SOURCE_DIR}/${file} hash)
    string(APPEND parts " ${hash}")
  endforeach()
  # No header comes from the wheels of the last sections.
  file(READ ${PROJECT_SOURCE_DIR}/scripts/deps.lock lock)
  string(REGEX REPLACE "\n\\[check\\]\n.*" "" lock "${lock}")
  string(SHA256 hash "${lock}")
  string(APPEND parts " ${hash}")
  # A package that is installed anew has new headers.
  foreach(file ${LLVM_DIR}/LLVMConfig.cmake ${MLIR_DIR}/MLIRConfig.cmake
          ${TESSERA_TORCH_ROOT}/include/torch/headeronly/version.h)
    if(EXISTS ${file})
      file(TIMESTAMP ${file} time UTC)
      string(APPEND parts " ${file} ${time}")
    endif()
  endforeach()
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch.sum
    CONTENT "${parts} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${_tessera_test_options} ${TESSERA_SANITIZE}\n")
endfunction()

function(_tessera_common target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR;TORCH" "" "DEPS")
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${target} PUBLIC ${arg_DEPS} Threads::Threads)
  if(arg_MLIR)
    target_link_libraries(${target} PUBLIC tessera_mlir_headers MLIR LLVM)
    target_compile_options(${target} PRIVATE -Wno-comment)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_DISABLE_PRECOMPILE_HEADERS)
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

# Forwards the MLIR and TORCH switches of the caller's parsed arguments. A further
# argument, TEST: the target is a test that takes a precompiled header of tests.
macro(_tessera_finish target)
  set(switches)
  set(kind)
  foreach(switch MLIR TORCH)
    if(arg_${switch})
      list(APPEND switches ${switch})
      # A target of both kinds takes torch's.
      set(kind ${switch})
    endif()
  endforeach()
  _tessera_common(${target} ${switches} DEPS ${arg_DEPS})
  list(APPEND kind ${ARGN})
  if(kind)
    list(JOIN kind "_" kind)
    _tessera_precompiled(${kind})
    string(TOLOWER ${kind} kind)
    target_precompile_headers(${target} REUSE_FROM tessera_precompiled_${kind})
  endif()
endmacro()

# -O1 follows the build type's -O2 on the command line, so it counts.
macro(_tessera_cold target)
  if(arg_COLD AND CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endmacro()

macro(_tessera_unity target)
  if(TESSERA_UNITY AND NOT arg_SEPARATE AND NOT "${target}" IN_LIST TESSERA_ALONE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endmacro()

function(tessera_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHARED;EXPORTED;MLIR;TORCH;SEPARATE;COLD" "" "SRCS;DEPS")
  set(kind STATIC)
  if(arg_SHARED)
    set(kind SHARED)
  endif()
  add_library(${name} ${kind} ${arg_SRCS})
  _tessera_unity(${name})
  _tessera_finish(${name})
  _tessera_cold(${name})
  if(arg_SHARED)
    # What comes from archives is its own: a program may have the same.
    target_link_options(${name} PRIVATE LINKER:--exclude-libs,ALL)
  endif()
  if(arg_EXPORTED)
    set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default)
    target_compile_options(${name} PRIVATE -fno-semantic-interposition)
  endif()
endfunction()

function(tessera_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR;TORCH;SEPARATE;COLD" "" "SRCS;DEPS")
  add_executable(${name} ${arg_SRCS})
  _tessera_unity(${name})
  _tessera_finish(${name})
  _tessera_cold(${name})
endfunction()

function(tessera_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "MLIR;TORCH;OWN_FLAGS;SEPARATE" "" "SRCS;DEPS;LINKS;LABELS")
  if(NOT TESSERA_TESTS)
    return()
  endif()
  list(APPEND arg_DEPS GTest::gtest GTest::gtest_main)
  add_executable(${name} ${arg_SRCS})
  _tessera_unity(${name})
  if(arg_OWN_FLAGS)
    _tessera_finish(${name})
  else()
    _tessera_finish(${name} TEST)
  endif()
  target_compile_options(${name} PRIVATE ${_tessera_test_options})
  if(TESSERA_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Fixtures stand in anonymous namespaces; GCC takes the unit for a header's user.
    target_compile_options(${name} PRIVATE -Wno-subobject-linkage)
  endif()
  foreach(library IN LISTS arg_LINKS)
    target_link_libraries(${name} PRIVATE $<LINK_ONLY:${library}>)
  endforeach()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
endfunction()

# Adds the tests of a Python file as one ctest entry. SELECT limits the entry to tests or classes of the file, such as
# TestRope::test_offsets. tests/conftest.py finds the programs and libraries in BUILD.
function(tessera_pytest name file)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "TIMEOUT" "SELECT;LABELS;ENVIRONMENT")
  if(NOT TESSERA_TESTS)
    return()
  endif()
  set(path ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set(tests ${path})
  if(arg_SELECT)
    list(TRANSFORM arg_SELECT PREPEND "${path}::" OUTPUT_VARIABLE tests)
  endif()
  # -rs names the tests that skip themselves, which scripts/run-tests reports.
  add_test(NAME ${name} COMMAND ${TESSERA_PYTHON} ${PROJECT_SOURCE_DIR}/tests/helpers/forked_pytest.py -q -rs -p no:cacheprovider ${tests}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  list(PREPEND arg_ENVIRONMENT BUILD=${PROJECT_BINARY_DIR} PYTHONDONTWRITEBYTECODE=1)
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENVIRONMENT}")
  if(arg_TIMEOUT)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  endif()
endfunction()
