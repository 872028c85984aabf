# cmake -D CXX=compiler -D FLAGS=-std=c++20;-I... -D SOURCE=case.cpp -P check.cmake
#
# A case is one wrong program with the right one beside it. Its first lines say what is wrong and what the compiler must
# name: "// must fail with: inner_dimensions_agree". With -DATTEST_CONTROL it is the right program and compiles; without
# it does not, and the compiler's words contain the promised name. A program that fails for another reason (a typo, a
# missing header) is no success, and one without the right program beside it proves nothing. Where a flag makes the
# program wrong, "// wrong with: -ffast-math" names it; the control is then compiled without.
file(STRINGS "${SOURCE}" promise REGEX "^// must fail with: ")
string(REPLACE "// must fail with: " "" promise "${promise}")
if(promise STREQUAL "")
  message(FATAL_ERROR "no reason is promised: a line '// must fail with: NAME' is missing in ${SOURCE}")
endif()

execute_process(COMMAND ${CXX} ${FLAGS} -fsyntax-only -DATTEST_CONTROL "${SOURCE}"
                RESULT_VARIABLE result OUTPUT_VARIABLE words ERROR_VARIABLE words)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "the control does not compile: ${SOURCE}\n${words}")
endif()

file(STRINGS "${SOURCE}" wrong_with REGEX "^// wrong with: ")
string(REPLACE "// wrong with: " "" wrong_with "${wrong_with}")
separate_arguments(wrong_with)
execute_process(COMMAND ${CXX} ${FLAGS} ${wrong_with} -fsyntax-only "${SOURCE}"
                RESULT_VARIABLE result OUTPUT_VARIABLE words ERROR_VARIABLE words)
if(result EQUAL 0)
  message(FATAL_ERROR "the wrong program compiles: ${SOURCE}")
endif()
string(FIND "${words}" "${promise}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "it fails, but for another reason than ${promise}: ${SOURCE}\n${words}")
endif()
