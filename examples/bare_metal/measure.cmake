# cmake -D TARGET=name -D PROGRAM=x.elf -D SIZE=...-size -D RUN=qemu... [-D AT_MOST=flash;RAM;stack;instructions]
#       -P measure.cmake
#
# Runs the program and prints a row of the table in docs/embedded.md; fails where the result is not the proved one or a
# number is above its limit. -D HEAD=ON prints the head of the table.
function(print text)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${text}")
endfunction()
if(HEAD)
  print("| target | flash | RAM | stack | instructions |\n|---|---|---|---|---|")
  return()
endif()

execute_process(COMMAND ${RUN} -icount shift=0 -kernel ${PROGRAM} TIMEOUT 100
                RESULT_VARIABLE result OUTPUT_VARIABLE printed ERROR_VARIABLE complaint)
if(NOT result EQUAL 0 OR NOT printed MATCHES "^as proved, stack ([0-9]+), instructions ([0-9]+)\r?\n$")
  message(FATAL_ERROR "${PROGRAM}: ${result}\n${printed}${complaint}")
endif()
set(stack ${CMAKE_MATCH_1})
set(instructions ${CMAKE_MATCH_2})

execute_process(COMMAND ${SIZE} ${PROGRAM} OUTPUT_VARIABLE sizes COMMAND_ERROR_IS_FATAL ANY)
if(NOT sizes MATCHES "\n *([0-9]+)[ \t]+([0-9]+)[ \t]+([0-9]+)")
  message(FATAL_ERROR "${SIZE}: ${sizes}")
endif()
math(EXPR flash "${CMAKE_MATCH_1} + ${CMAKE_MATCH_2}")
math(EXPR ram "${CMAKE_MATCH_2} + ${CMAKE_MATCH_3}")
print("| ${TARGET} | ${flash} | ${ram} | ${stack} | ${instructions} |")

set(quantities flash ram stack instructions)
foreach(quantity limit IN ZIP_LISTS quantities AT_MOST)
  if(DEFINED limit AND ${quantity} GREATER limit)
    message(FATAL_ERROR "${TARGET}: ${quantity} ${${quantity}}, more than ${limit}")
  endif()
endforeach()
