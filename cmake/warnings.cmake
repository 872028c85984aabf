# What attest asks of its own code. Not part of any exported target: users keep their own warnings.
add_library(attest_warnings INTERFACE)
target_compile_options(attest_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
