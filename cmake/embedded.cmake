# The bare-metal targets: how to compile for each, how to link, on which board of QEMU it runs. They need no C++
# standard library, no C library and no configuration of their own: one build serves the host and all of them.
#
# ATTEST_TARGETS are their names; X_flags, X_run, ... belong to the target X.
find_program(ATTEST_GCC NAMES g++)
find_program(ATTEST_CLANG NAMES clang++-19 clang++)
find_program(ATTEST_ARM_GCC NAMES arm-none-eabi-g++)
find_program(ATTEST_RISCV_GCC NAMES riscv64-unknown-elf-g++)
find_program(ATTEST_QEMU_ARM NAMES qemu-system-arm)
find_program(ATTEST_QEMU_RISCV NAMES qemu-system-riscv32)

# Without a floating-point unit: m0, m3, rv32imac. With one for float only: m4. For double as well: m7, m55, rv32gc.
# With fused multiply-add: m4, m7, m55, rv32gc.
set(ATTEST_TARGETS cortex_m0 cortex_m3 cortex_m4 cortex_m7 cortex_m55 rv32imac rv32gc)
set(cortex_m0_flags -mcpu=cortex-m0 -mthumb)
set(cortex_m3_flags -mcpu=cortex-m3 -mthumb)
set(cortex_m4_flags -mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard)
set(cortex_m7_flags -mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard)
set(cortex_m55_flags -mcpu=cortex-m55+nomve.fp -mthumb -mfloat-abi=hard)
set(rv32imac_flags -march=rv32imac -mabi=ilp32)
set(rv32gc_flags -march=rv32imafdc -mabi=ilp32d)
set(cortex_m0_board mps2-an385)  # a Cortex-M3, which runs what a Cortex-M0 runs
set(cortex_m3_board mps2-an385)
set(cortex_m4_board mps2-an386)
set(cortex_m7_board mps2-an500)
set(cortex_m55_board mps3-an547)
set(embedded_flags -std=c++20 -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffunction-sections
                   -fdata-sections -I${PROJECT_SOURCE_DIR}/include)
set(embedded_warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
set(bit_exact_flags $<TARGET_PROPERTY:attest_bit_exact,INTERFACE_COMPILE_OPTIONS>)
set(embedded_board_dir ${PROJECT_SOURCE_DIR}/examples/bare_metal)

foreach(target IN LISTS ATTEST_TARGETS)
  if(target MATCHES cortex)
    set(${target}_gcc "${ATTEST_ARM_GCC}")
    set(${target}_gcc_name arm-none-eabi-g++)
    set(${target}_clang_flags --target=arm-none-eabi)
    set(${target}_start cortex_m)
    set(${target}_emulator_name qemu-system-arm)
    set(${target}_run "${ATTEST_QEMU_ARM}" -M ${${target}_board} -nographic -monitor none -serial none
                      -chardev stdio,id=out -semihosting-config enable=on,target=native,chardev=out)
    set(${target}_emulator "${ATTEST_QEMU_ARM}")
  else()
    set(${target}_gcc "${ATTEST_RISCV_GCC}")
    set(${target}_gcc_name riscv64-unknown-elf-g++)
    set(${target}_clang_flags --target=riscv32-unknown-elf)
    set(${target}_start riscv32)
    set(${target}_emulator_name qemu-system-riscv32)
    set(${target}_run "${ATTEST_QEMU_RISCV}" -M virt -bios none -display none -monitor none -serial stdio)
    set(${target}_emulator "${ATTEST_QEMU_RISCV}")
  endif()
endforeach()

# A test that does not run, and says why.
function(skipped_test name reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${reason}")
  set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

# embedded_compiler(TARGET gcc|clang VARIABLE): the compiler and its flags for the target in VARIABLE, and in
# VARIABLE_missing what is not installed, or nothing.
function(embedded_compiler target family variable)
  set(missing "")
  if(NOT ${target}_gcc)  # clang needs it as well, to link
    set(missing ${${target}_gcc_name})
  elseif(family STREQUAL clang AND NOT ATTEST_CLANG)
    set(missing clang++-19)
  endif()
  if(family STREQUAL clang)
    set(${variable} ${ATTEST_CLANG} ${${target}_clang_flags} -fshort-enums ${${target}_flags} ${embedded_flags}
        PARENT_SCOPE)
  else()
    set(${variable} ${${target}_gcc} ${${target}_flags} ${embedded_flags} PARENT_SCOPE)
  endif()
  set(${variable}_missing "${missing}" PARENT_SCOPE)
endfunction()

# embedded_program(OUTPUT TARGET gcc|clang SOURCE FLAGS...): OUTPUT.elf, SOURCE linked with the start-up code of
# examples/bare_metal, which GCC compiles whoever compiles SOURCE. Does nothing where a compiler is missing.
function(embedded_program output target family source)
  embedded_compiler(${target} ${family} compile)
  if(compile_missing)
    return()
  endif()
  set(start ${embedded_board_dir}/${${target}_start}.cpp ${embedded_board_dir}/memory.cpp)
  set(layout ${embedded_board_dir}/${${target}_start}.ld)
  add_custom_command(
    OUTPUT ${output}.elf
    COMMAND ${compile} ${embedded_warnings} -I${embedded_board_dir} ${ARGN} -MD -MF ${output}.d -MT ${output}.elf
            -c ${source} -o ${output}.o
    COMMAND ${${target}_gcc} ${${target}_flags} ${embedded_flags} ${embedded_warnings} -O2 -nostdlib -nostartfiles
            -T ${layout} -Wl,--gc-sections -Wl,-z,noexecstack ${start} ${output}.o -lgcc -o ${output}.elf
    DEPENDS ${source} ${start} ${layout} ${embedded_board_dir}/board.hpp
    DEPFILE ${output}.d
    COMMENT "Building ${output}.elf"
    VERBATIM COMMAND_EXPAND_LISTS)
endfunction()

# What is not installed that building and running for the target needs, or nothing.
function(embedded_missing target family variable)
  embedded_compiler(${target} ${family} compile)
  set(missing "${compile_missing}")
  if(NOT missing AND NOT ${target}_emulator)
    set(missing ${${target}_emulator_name})
  endif()
  set(${variable} "${missing}" PARENT_SCOPE)
endfunction()
