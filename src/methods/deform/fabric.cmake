kp_sources(edge_order.c grid_links.c stitch.c)
