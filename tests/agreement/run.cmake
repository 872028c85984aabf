# cmake -D RUN=command;arguments... -D EXPECTED=agreement.txt -D KIND=same|contracted -P run.cmake
#
# Runs the program and compares what it prints with the file, and its exit code with success. With contracted the
# program was built without attest::bit_exact and must see that attention has other bits than at compile time; the
# elementary functions, rounded correctly, must have the same.
execute_process(COMMAND ${RUN} TIMEOUT 100 RESULT_VARIABLE result OUTPUT_VARIABLE printed ERROR_VARIABLE complaint)
string(REPLACE "\r" "" printed "${printed}")
file(READ ${EXPECTED} expected)

if(KIND STREQUAL same)
  if(NOT printed STREQUAL expected OR NOT result EQUAL 0)
    message("${printed}${complaint}")
    message(FATAL_ERROR "exit code ${result}, and what is printed is to be ${EXPECTED}")
  endif()
  return()
endif()

if(NOT result EQUAL 1)
  message("${printed}${complaint}")
  message(FATAL_ERROR "exit code ${result}: no difference is found, the warning in README.md no longer holds")
endif()
string(REGEX MATCHALL "[^\n]+ numbers are not those of compile time" different "${printed}")
list(FILTER different EXCLUDE REGEX "attention|weights")
if(NOT printed MATCHES "attention, causal[^\n]* numbers are not those of compile time" OR different)
  message("${printed}${complaint}")
  message(FATAL_ERROR "attention has the same bits, or something else has not")
endif()
