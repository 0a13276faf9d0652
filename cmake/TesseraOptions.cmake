# cmake/TesseraOptions.cmake - language level, warnings, linker, ccache.
# SPDX-License-Identifier: Apache-2.0
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
# One code model for programs and libraries: they share precompiled headers, which
# GCC refuses where -fPIC meets -fPIE.
add_compile_options(-fPIC)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)

# NDEBUG stays off: LLVM's cast checks cost little and name the mistake.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_C_FLAGS_RELEASE "-O2")

add_compile_options(-Wall -Wextra -Werror -Wno-unused-parameter
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of GCC 12 inside inlined LLVM and libstdc++ containers.
  add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow
                      -Wno-array-bounds -Wno-dangling-pointer -Wno-restrict)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # With cold blocks apart from their function, what GCC 12 writes and lld links
  # ends the process where an exception of libtessera_torch.so should be caught.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-reorder-blocks-and-partition>)
  # With its defaults GCC's collector visits all of a precompiled header again and
  # again: a fifth of the time of a source with MLIR's. A process needs up to 1.7 GB.
  add_compile_options("SHELL:--param=ggc-min-expand=400 --param=ggc-min-heapsize=2000000")
  # ccache cannot see into a precompiled header without it.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()
if(TESSERA_SANITIZE)
  add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
endif()
if(TESSERA_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "TESSERA_FUZZ needs clang; configure with --preset fuzz")
  endif()
  # GCC decides on warnings; clang has others, also about libstdc++ 12 itself.
  add_compile_options(-Wno-error -Wno-deprecated-declarations)
  # Coverage counters everywhere; only the targets of tests/fuzz get libFuzzer's main.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
# lld-22 installs ld.lld under its version's folder only, where the compiler
# driver does not look by itself.
find_program(TESSERA_LLD NAMES ld.lld-22 ld.lld)
if(TESSERA_LLD)
  get_filename_component(lld_folder ${TESSERA_LLD} REALPATH)
  get_filename_component(lld_folder ${lld_folder} DIRECTORY)
  add_link_options(-fuse-ld=lld -B${lld_folder})
endif()

find_program(TESSERA_CCACHE ccache)
if(TESSERA_CCACHE)
  # Paths relative to the checkout, so that clones share one cache.
  set(ccache_launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${TESSERA_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache_launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache_launcher})
endif()
