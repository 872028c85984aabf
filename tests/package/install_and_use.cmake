# cmake -D BUILD=… -D USER=… -D SCRATCH=… -D COMPILER=… -D VERSION=… -D GENERATOR=… -P install_and_use.cmake
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(FATAL_ERROR "${ARGN}:\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${SCRATCH}/prefix ${SCRATCH}/user)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${SCRATCH}/prefix)
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${USER} -B ${SCRATCH}/user -D CMAKE_PREFIX_PATH=${SCRATCH}/prefix -D
    CMAKE_CXX_COMPILER=${COMPILER} -D ATTEST_VERSION=${VERSION})
run(${CMAKE_COMMAND} --build ${SCRATCH}/user)
run(${SCRATCH}/user/device)
run(${SCRATCH}/user/judge)
run(${SCRATCH}/user/judge_compiled)
run(${SCRATCH}/user/law_kit)
run(${SCRATCH}/prefix/bin/attest --version)
