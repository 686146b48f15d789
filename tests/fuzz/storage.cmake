# The loader of index directories, and what it takes to make an index to begin with.
set(culmen_snapshot_fuzz_sources
  ${PROJECT_SOURCE_DIR}/index/block_bounds.cc
  ${PROJECT_SOURCE_DIR}/index/bulk_load.cc
  ${PROJECT_SOURCE_DIR}/index/columns.cc
  ${PROJECT_SOURCE_DIR}/index/partitioner.cc
  ${PROJECT_SOURCE_DIR}/index/snapshot.cc
  ${PROJECT_SOURCE_DIR}/index/subset_maxima.cc
  ${PROJECT_SOURCE_DIR}/index/storage/block_file.cc
  ${PROJECT_SOURCE_DIR}/index/storage/format.cc
  ${PROJECT_SOURCE_DIR}/index/storage/label_file.cc
  ${PROJECT_SOURCE_DIR}/index/storage/leaf_file.cc
  ${PROJECT_SOURCE_DIR}/index/storage/load.cc
  ${PROJECT_SOURCE_DIR}/index/storage/manifest.cc
  ${PROJECT_SOURCE_DIR}/index/storage/node_file.cc
  ${PROJECT_SOURCE_DIR}/index/storage/partition_file.cc
  ${PROJECT_SOURCE_DIR}/index/storage/publish.cc)

add_executable(snapshot_fuzz ${CMAKE_CURRENT_LIST_DIR}/snapshot_fuzz.cc ${CMAKE_CURRENT_LIST_DIR}/driver.cc
  ${culmen_snapshot_fuzz_sources})
culmen_fuzz_flags(snapshot_fuzz)
target_link_libraries(snapshot_fuzz PRIVATE Eigen3::Eigen Boost::headers PkgConfig::HWY PkgConfig::XXHASH
                                            nlohmann_json::nlohmann_json)
add_test(NAME fuzz.snapshot_fuzz COMMAND snapshot_fuzz --runs 5000 --seed 1)

if(CULMEN_BUILD_FUZZERS)
  add_executable(snapshot_fuzz_libfuzzer ${CMAKE_CURRENT_LIST_DIR}/snapshot_fuzz.cc ${culmen_snapshot_fuzz_sources})
  culmen_fuzz_flags(snapshot_fuzz_libfuzzer fuzzer)
  target_link_libraries(snapshot_fuzz_libfuzzer PRIVATE Eigen3::Eigen Boost::headers PkgConfig::HWY
                                                        PkgConfig::XXHASH nlohmann_json::nlohmann_json)
endif()
