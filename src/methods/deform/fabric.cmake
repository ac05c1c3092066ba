kp_sources(edge_order.c fabric.c fabric_params.c grid_links.c immersion.c limit_edges.c limit_map.c
           limit_passes.c limit_watch.c limits.c particles.c spring_schemes.c stitch.c)
kp_isa_sources(fabric_cpu.c)
kp_cuda_sources(fabric_cuda.cu)
