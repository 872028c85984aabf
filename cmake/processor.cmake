# Which vectors the processor that builds can run: ATTEST_RUNS_avx2_and_fma, ATTEST_RUNS_avx512f.
include_guard(GLOBAL)
include(CheckCXXSourceRuns)
check_cxx_source_runs("int main() { return !(__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\")); }"
                      ATTEST_RUNS_avx2_and_fma)
check_cxx_source_runs("int main() { return !__builtin_cpu_supports(\"avx512f\"); }" ATTEST_RUNS_avx512f)
