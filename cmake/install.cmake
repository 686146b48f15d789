# What `cmake --install` puts into a prefix besides the program: headers, static libraries and the CMake package.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/culmen)

# Warnings and header-only libraries matter while culmen is compiled; whoever links it need not have them.
foreach(library culmen culmen_io)
  get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
  foreach(private culmen_warnings Eigen3::Eigen Boost::headers nlohmann_json::nlohmann_json PkgConfig::XXHASH)
    list(REMOVE_ITEM links $<LINK_ONLY:${private}>)
  endforeach()
  set_target_properties(${library} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
endforeach()

install(TARGETS culmen culmen_io EXPORT culmen-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/culmen DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT culmen-targets NAMESPACE culmen:: DESTINATION ${package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/culmen-config.cmake.in culmen-config.cmake
                              INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(culmen-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/culmen-config.cmake ${PROJECT_BINARY_DIR}/culmen-config-version.cmake
        DESTINATION ${package_dir})
