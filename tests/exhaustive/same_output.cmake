# cmake -D GENERATOR=program -D TABLES=file -P same_output.cmake: the program prints the file.
execute_process(COMMAND ${GENERATOR} OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ ${TABLES} committed)
if(NOT printed STREQUAL committed)
  message(FATAL_ERROR "${TABLES} is not what ${GENERATOR} prints")
endif()
