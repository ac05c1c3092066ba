kp_sources(advection.c cases.c case_table.c fires.c flip.c gas.c plasma_radius.c points.c rigid_pile.c splashes.c surfaces.c waters.c)
kp_sources(cloths.c hairs.c smokes.c softs.c)

# what `kelpie bench` is made of, beside its command
include(${PROJECT_SOURCE_DIR}/bench/sources.cmake)

# systems of the pressure
kp_sources(poisson.c)
