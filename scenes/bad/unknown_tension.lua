-- expect: unknown tension 'centroids', did you mean 'centroid'?
-- exit: 3
sph { tension = "centroids" }
liquid "water" { shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} }, surface_tension = 0.07 }
