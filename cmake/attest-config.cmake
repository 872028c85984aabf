# find_package(attest): attest::attest and attest::bit_exact, which need nothing; attest::oracle and attest::testing where Boost is found.
include(${CMAKE_CURRENT_LIST_DIR}/attest-targets.cmake)
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/attest-oracle-targets.cmake)
  find_package(Boost 1.81 CONFIG QUIET)
  find_package(Threads QUIET)
  if(Boost_FOUND AND Threads_FOUND)
    include(${CMAKE_CURRENT_LIST_DIR}/attest-oracle-targets.cmake)
  endif()
endif()
