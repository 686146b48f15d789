include(${CMAKE_CURRENT_LIST_DIR}/reader_sources.cmake)
target_sources(culmen_io PRIVATE ${culmen_reader_sources})
target_include_directories(culmen_io PRIVATE ${PROJECT_SOURCE_DIR})
