// Nothing: the headers that tests share are compiled with it (tests/CMakeLists.txt).
