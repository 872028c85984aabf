# Proves SCRIPT with GAPPA, the definitions that CONSTANTS prints for it written in front. PROOF is the file for both.
get_filename_component(name ${SCRIPT} NAME_WE)
execute_process(COMMAND ${CONSTANTS} ${name} OUTPUT_VARIABLE constants COMMAND_ERROR_IS_FATAL ANY)
file(READ ${SCRIPT} script)
file(WRITE ${PROOF} "${constants}${script}")

# Tables of 128 bits need more than the 60 of the default. Warnings tell of names with the same value and, a hundredfold,
# of attempts given up: only what is not proved matters.
execute_process(COMMAND ${GAPPA} -Eprecision=256 ${PROOF} RESULT_VARIABLE failed ERROR_VARIABLE messages)
if(failed)
  string(REGEX REPLACE "Warning: [^\n]*\n" "" messages "${messages}")
  message(FATAL_ERROR "${name}: ${messages}")
endif()
