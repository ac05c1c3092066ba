kp_sources(cases.c case_table.c points.c)

# what `kelpie bench` is made of, beside its command
include(${PROJECT_SOURCE_DIR}/bench/sources.cmake)
