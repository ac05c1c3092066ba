kp_sources(method.c)
# one line per method folder, in the order they are linked
include(${CMAKE_CURRENT_LIST_DIR}/common/sources.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/fire/sources.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/plasma/sources.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/rigid/sources.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/sph/sources.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/springs/sources.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/stf/sources.cmake)
