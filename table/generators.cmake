target_sources(culmen_io PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/generate.cc
  ${CMAKE_CURRENT_LIST_DIR}/hotels.cc
  ${CMAKE_CURRENT_LIST_DIR}/write_table.cc)
