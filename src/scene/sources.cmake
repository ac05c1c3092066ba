kp_sources(entity.c function.c place.c input.c reference.c sandbox.c sandbox_lib.c scene.c set.c used.c value.c)
