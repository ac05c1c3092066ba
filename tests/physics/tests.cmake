# physics of the methods: measured figures against theory, measurement and published claims
set(physics_support ../support/worlds.c ../support/claims.c)
kp_test(test_sph_sums SOURCES test_sph_sums.c ${physics_support} LABELS full)
kp_test(test_sph_flow SOURCES test_sph_flow.c ${physics_support} LABELS full)
kp_test(test_integrators SOURCES test_integrators.c LABELS full TIMEOUT 600)
kp_test(test_sph_channel SOURCES test_sph_channel.c ${physics_support} LABELS full)
kp_test(test_sph_bodies SOURCES test_sph_bodies.c ${physics_support} LABELS full)
