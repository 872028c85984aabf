# What attest asks of its own code. Not part of any exported target: users keep their own warnings.
add_library(attest_warnings INTERFACE)
target_compile_options(attest_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
# GCC 12 warns of overlapping memory inside its own std::string at -O3 (GCC bug 105651, mended in 13).
target_compile_options(
  attest_warnings
  INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
