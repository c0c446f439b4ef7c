"""A region written out as C++ against oneDNN's public API: `source.cpp_source`."""
