// Empty: the target whose precompiled headers all tests share (tests/CMakeLists.txt).
