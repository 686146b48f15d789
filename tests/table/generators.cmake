culmen_test(table_generate_test SOURCES
  ${CMAKE_CURRENT_LIST_DIR}/generate_test.cc
  ${CMAKE_CURRENT_LIST_DIR}/write_table_test.cc)
