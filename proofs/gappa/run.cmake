# Proves SCRIPT with GAPPA, the definitions that CONSTANTS prints for it, if any, written in front, and without the
# operators that RELATIVE replaces. PROOF is the file for all.
get_filename_component(name ${SCRIPT} NAME_WE)
execute_process(COMMAND ${RELATIVE} INPUT_FILE ${SCRIPT} OUTPUT_VARIABLE script COMMAND_ERROR_IS_FATAL ANY)
set(constants "")
if(CONSTANTS)
  execute_process(COMMAND ${CONSTANTS} ${name} OUTPUT_VARIABLE constants COMMAND_ERROR_IS_FATAL ANY)
endif()
file(WRITE ${PROOF} "${constants}${script}")

# Tables of 128 bits need more than the 60 of the default. Warnings tell of names with the same value and, a hundredfold,
# of attempts given up: only what is not proved matters.
execute_process(COMMAND ${GAPPA} -Eprecision=256 ${PROOF} RESULT_VARIABLE failed ERROR_VARIABLE messages)
if(failed)
  string(REGEX REPLACE "Warning: [^\n]*\n" "" messages "${messages}")
  message(FATAL_ERROR "${name}: ${messages}")
endif()
