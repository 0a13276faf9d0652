# cmake/TesseraPackage.cmake - what `cmake --install` and cpack make of us: the
# components tessera (libtessera.so, headers, compiler, kernels, the program) and
# torch (the ops). What programs do with them: docs/cpp.md.
# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
set(package_data ${CMAKE_INSTALL_DATADIR}/tessera) # runtime/launch/FindFile.cpp looks here
set(package_inputs ${PROJECT_SOURCE_DIR}/cmake/package)

# The headers that a program needs, and no others, as <tessera/Kernel.h>. Those of
# ops/ include torch's.
set(package_headers)
set(torch_headers)
set(headers runtime/Kernel.h runtime/Arguments.h language/Constexprs.h support/Error.h support/Diagnostics.h support/Diagnostics.def)
if(TARGET tessera_torch_shared)
  list(APPEND headers ops/Attention.h)
endif()
foreach(header IN LISTS headers)
  get_filename_component(name ${header} NAME)
  set(output ${PROJECT_BINARY_DIR}/package/include/tessera/${name})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${PROJECT_SOURCE_DIR}/${header} -DOUTPUT=${output}
            -P ${package_inputs}/Header.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/${header} ${package_inputs}/Header.cmake
    COMMENT "Header <tessera/${name}>")
  if(header MATCHES "^ops/")
    list(APPEND torch_headers ${output})
  else()
    list(APPEND package_headers ${output})
  endif()
endforeach()
add_custom_target(tessera_headers ALL DEPENDS ${package_headers} ${torch_headers})

target_include_directories(tessera_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(tessera_shared INTERFACE cxx_std_20)
install(TARGETS tessera_shared EXPORT tesseraTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tessera)
install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${package_folder} COMPONENT tessera)
install(FILES ${package_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera COMPONENT tessera)
install(TARGETS tessera RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tessera)
if(TARGET tessera-gpu-check)
  # tools/tune/OnCuda.cpp looks here.
  install(TARGETS tessera-gpu-check RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tessera COMPONENT tessera)
endif()
if(TARGET tessera-worker)
  # runtime/compile/WorkerPool.cpp looks here.
  set_target_properties(tessera-worker PROPERTIES INSTALL_RPATH ${LLVM_LIBRARY_DIR})
  install(TARGETS tessera-worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tessera COMPONENT tessera)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels DESTINATION ${package_data} COMPONENT tessera
  FILES_MATCHING PATTERN *.py PATTERN *.cu PATTERN __pycache__ EXCLUDE)
# scripts/tune-tables leaves its progress (*.times) beside the tables.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${package_data} COMPONENT tessera PATTERN *.times EXCLUDE)

# Torch is found by the program that uses it, and must be of this version.
if(TARGET tessera_torch_shared)
  install(TARGETS tessera_torch_shared
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT torch)
  install(FILES ${torch_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera COMPONENT torch)
  # They ask for libtessera_torch.so without a version, which is a link to the
  # library above. `tessera` puts torch's libraries on their path
  # (tools/commands/TrainProgram.cpp).
  file(RELATIVE_PATH libraries /${CMAKE_INSTALL_LIBEXECDIR}/tessera /${CMAKE_INSTALL_LIBDIR})
  set_target_properties(tessera-train tessera-bench PROPERTIES INSTALL_RPATH $ORIGIN/${libraries})
  install(TARGETS tessera-train tessera-bench
    RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/tessera COMPONENT torch)
endif()

configure_package_config_file(${package_inputs}/tesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/tesseraConfig.cmake INSTALL_DESTINATION ${package_folder}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tesseraConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/tesseraConfig.cmake
  ${PROJECT_BINARY_DIR}/package/tesseraConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT tessera)
file(RELATIVE_PATH PREFIX_FROM_PKGCONFIG /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${package_inputs}/tessera.pc.in ${PROJECT_BINARY_DIR}/package/tessera.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/tessera.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT tessera)
foreach(component_folder tessera/tessera torch/tessera-torch)
  get_filename_component(component ${component_folder} DIRECTORY)
  get_filename_component(folder ${component_folder} NAME)
  if(component STREQUAL tessera OR TARGET tessera_torch_shared)
    install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
      DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${folder} COMPONENT ${component})
  endif()
endforeach()

# .deb, one for each component. dpkg-shlibdeps names the packages of what is
# linked; libtessera.so is of our own, torch of none.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tessera)
set(CPACK_PACKAGE_CONTACT "the tessera authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Kernels in the Triton language, compiled and launched from C++")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL tessera)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_TESSERA_PACKAGE_NAME tessera)
# dpkg-shlibdeps leaves it to libmlir-22 to ask for it.
set(CPACK_DEBIAN_TESSERA_PACKAGE_DEPENDS libllvm${LLVM_VERSION_MAJOR})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
if(TARGET tessera_torch_shared)
  list(APPEND CPACK_COMPONENTS_ALL torch)
  set(CPACK_COMPONENT_TORCH_DESCRIPTION "The torch ops of tessera, for torch ${TESSERA_TORCH_VERSION}, which no package has")
  set(CPACK_DEBIAN_TORCH_PACKAGE_NAME tessera-torch)
  set(CPACK_DEBIAN_TORCH_PACKAGE_DEPENDS "tessera (= ${PROJECT_VERSION})")
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY} ${TESSERA_TORCH_ROOT}/lib)
endif()
include(CPack)
