# cmake/TesseraDependencies.cmake - third-party packages, found once, as targets.
# Debian packages and wheels are pinned in scripts/lock; nothing is downloaded here.
# SPDX-License-Identifier: Apache-2.0
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
# Static: tessera-gpu-check is carried to machines without it.
find_library(TESSERA_ZLIB libz.a REQUIRED)
find_library(TESSERA_PCRE2 pcre2-8 REQUIRED)
find_library(yaml_archive libyaml-cpp.a REQUIRED)
# Its objects cannot stand in a shared library, which takes the shared one.
set(TESSERA_YAML
    $<IF:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>,yaml-cpp,${yaml_archive}>)
include(GoogleTest)

# MLIR and LLVM 22 as shared libraries: static MLIR archives next to a shared
# LLVM would put two copies of LLVM into one process.
if(TESSERA_MLIR)
  set(LLVM_DIR /usr/lib/llvm-22/lib/cmake/llvm CACHE PATH "LLVM 22 package")
  set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir CACHE PATH "MLIR 22 package")
  find_package(MLIR REQUIRED CONFIG)
  if(NOT LLVM_VERSION_MAJOR EQUAL 22)
    message(FATAL_ERROR "tessera needs LLVM 22, found ${LLVM_VERSION} in ${LLVM_DIR}; "
                        "run scripts/setup, or pass -DLLVM_DIR=")
  endif()
  list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
  include(AddLLVM)
  include(TableGen)
  include(AddMLIR)
  set(TESSERA_LLVM_TOOLS ${LLVM_TOOLS_BINARY_DIR})
  add_library(tessera_mlir_headers INTERFACE)
  target_include_directories(tessera_mlir_headers SYSTEM INTERFACE
                             ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(tessera_mlir_headers INTERFACE ${LLVM_DEFINITIONS_LIST})
endif()

# The folder that holds the pinned wheels, and the Python that has them (scripts/setup).
if(DEFINED ENV{TESSERA_DEPS})
  set(default_deps $ENV{TESSERA_DEPS})
elseif(DEFINED ENV{XDG_DATA_HOME})
  set(default_deps $ENV{XDG_DATA_HOME}/tessera)
else()
  set(default_deps $ENV{HOME}/.local/share/tessera)
endif()
set(TESSERA_DEPS ${default_deps} CACHE PATH "Folder that holds the pinned wheels")
set(TESSERA_PYTHON ${TESSERA_DEPS}/venv/bin/python)

# LibTorch from the pinned wheel, as imported targets: find_package(Torch) would
# enable CUDA and try-compile with it.
if(TESSERA_TORCH)
  # -DTESSERA_TORCH_ROOT=$HOME/.local/share/tessera/torch-2.11/torch builds with another release.
  file(GLOB torch_root ${TESSERA_DEPS}/venv/lib/python3.*/site-packages/torch)
  get_filename_component(TESSERA_WHEELS "${torch_root}" DIRECTORY)
  set(TESSERA_TORCH_ROOT "${torch_root}" CACHE PATH "Folder of torch, which has include and lib")
  set(torch_root ${TESSERA_TORCH_ROOT})
  if(NOT torch_root)
    message(FATAL_ERROR "no torch wheel under ${TESSERA_DEPS}/venv; run scripts/setup, "
                        "or configure with -DTESSERA_TORCH=OFF")
  endif()
  file(STRINGS ${torch_root}/include/torch/headeronly/version.h numbers
       REGEX "define TORCH_VERSION_(MAJOR|MINOR) ")
  string(REGEX REPLACE "[^0-9]*([0-9]+)[^0-9]+([0-9]+).*" "\\1.\\2" TESSERA_TORCH_VERSION "${numbers}")
  foreach(lib torch_cpu c10)
    add_library(tessera_${lib} SHARED IMPORTED)
    set_target_properties(tessera_${lib} PROPERTIES
                          IMPORTED_LOCATION ${torch_root}/lib/lib${lib}.so)
  endforeach()
  add_library(tessera_torch INTERFACE)
  target_include_directories(tessera_torch SYSTEM INTERFACE
    ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
  target_link_libraries(tessera_torch INTERFACE tessera_torch_cpu tessera_c10)

  # Arrow from the pinned pyarrow wheel, for one program; training needs none of it.
  file(GLOB arrow_root ${TESSERA_DEPS}/venv/lib/python3.*/site-packages/pyarrow)
  file(GLOB arrow_libraries ${arrow_root}/libarrow.so.* ${arrow_root}/libparquet.so.*)
  list(LENGTH arrow_libraries found)
  if(arrow_root AND found EQUAL 2)
    set(TESSERA_ARROW_ROOT ${arrow_root})
    foreach(lib arrow parquet)
      file(GLOB library ${arrow_root}/lib${lib}.so.*)
      add_library(tessera_${lib} SHARED IMPORTED)
      set_target_properties(tessera_${lib} PROPERTIES IMPORTED_LOCATION ${library})
      target_include_directories(tessera_${lib} SYSTEM INTERFACE ${arrow_root}/include)
    endforeach()
  endif()
endif()
