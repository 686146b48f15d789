# The readers' sources: for the library, and for the fuzz targets, which build them again with sanitizers.
set(culmen_reader_sources
  attributes.cc
  byte_source.cc
  column_selection.cc
  csv_chunk.cc
  csv_reader.cc
  csv_record.cc
  decompress.cc
  matrix.cc
  npy_reader.cc
  number.cc
  read_table.cc
  row_lines.cc
  text.cc
  unique_ids.cc
  vecs_reader.cc
  window_stream.cc)
list(TRANSFORM culmen_reader_sources PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
