# cmake -D NM=...-nm -D OBJECT=x.o -P symbols.cmake
#
# Fails where the object file needs anything but memcpy, memset and arithmetic of the compiler's own run time, or holds
# what belongs to exceptions or to constructors that run before main.
execute_process(COMMAND ${NM} ${OBJECT} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")

set(allowed
    "mem(cpy|set|move|cmp)"
    # Arm: the run-time ABI, its helpers for memory, and the table jumps of Thumb-1.
    "__aeabi_mem(cpy|move|set|clr)[48]?"
    "__aeabi_c?[fd](add|sub|rsub|mul|div|neg|cmp(eq|lt|le|ge|gt|un)|rcmple|2iz|2uiz|2lz|2ulz|2f|2d|2h)"
    "__aeabi_(i|ui|l|ul)2[fd]"
    "__aeabi_(idiv|uidiv|ldiv|uldiv)(mod)?"
    "__aeabi_(lmul|llsl|llsr|lasr|lcmp|ulcmp)"
    "__gnu_thumb1_case_[su][qhs]i"
    # libgcc elsewhere: arithmetic of float, double, 32 and 64 bits.
    "__(add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|unord)[sd]f[23]"
    "__(fix|fixuns)[sd]f[sd]i"
    "__(float|floatun)[sd]i[sd]f"
    "__(extendsfdf|truncdfsf)2"
    "__(mul|div|udiv|mod|umod|ashl|lshr|ashr)[sd]i3"
    "__(clz|ctz|cmp|ucmp)[sd]i2")
function(is_allowed symbol result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(pattern IN LISTS allowed)
    if(symbol MATCHES "^${pattern}$")
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

set(wrong "")
set(defines_run FALSE)
foreach(symbol IN LISTS symbols)
  if(symbol MATCHES "^[0-9a-f]+ T run$")
    set(defines_run TRUE)
  endif()
  if(symbol MATCHES " U (.*)$")
    set(needed ${CMAKE_MATCH_1})
    is_allowed(${needed} allow)
    if(NOT allow)
      string(APPEND wrong "  it needs ${needed}\n")
    endif()
  elseif(symbol MATCHES "(_GLOBAL__sub_I|__cxa_|__gxx_|_Unwind|unwind_cpp|__dso_handle|_ZGV|_ZTI|_ZTV)")
    string(APPEND wrong "  it holds ${symbol}\n")
  endif()
endforeach()
if(NOT defines_run)
  message(FATAL_ERROR "${OBJECT} is not everything.cpp: it defines no run")
endif()
if(wrong)
  message(FATAL_ERROR "${OBJECT}\n${wrong}")
endif()
