# cmake -D CXX=... -D FLAGS=... -D SOURCE=case.cpp -P expect.cmake
#
# Passes when check.cmake rejects the case, and for the reason in the case's line "// the checker says: ...".
file(STRINGS "${SOURCE}" expected REGEX "^// the checker says: ")
string(REPLACE "// the checker says: " "" expected "${expected}")
if(expected STREQUAL "")
  message(FATAL_ERROR "${SOURCE} expects nothing: it needs a line '// the checker says: WORDS'")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -D "CXX=${CXX}" -D "FLAGS=${FLAGS}" -D "SOURCE=${SOURCE}"
                        -P ${CMAKE_CURRENT_LIST_DIR}/../check.cmake
                RESULT_VARIABLE result OUTPUT_VARIABLE words ERROR_VARIABLE words)
if(result EQUAL 0)
  message(FATAL_ERROR "the checker lets it pass: ${SOURCE}")
endif()
string(FIND "${words}" "${expected}" place)
if(place EQUAL -1)
  message(FATAL_ERROR "the checker does not say '${expected}':\n${words}")
endif()
