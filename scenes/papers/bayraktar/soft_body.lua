-- A deformable animal falls on the floor (Fig. 7.12b: a bunny of about 32K vertices and 100K
-- springs, 32 frames per second): springs along the edges of the surface and from every vertex to
-- the middle.
-- Four implicit steps per frame: single edges that crumple ask for a hundred (the default limit of
-- their rate of strain), and form, bounce and volume do not (0.95 of it 2 s after the start).
domain { min = {-1, 0, -1}, max = {1, 1.6, 1} }
simulation { dt_max = 1/60 }
solids { inner = 2, dt = 1/120 }
soft "bunny" {
  shape = mesh { file = "meshes/hare.obj" }, spacing = 0.00507,
  model = "edges", stiffness = 20, center = 2, damping = 0.2, density = 300,
  scheme = "backward_euler", position = {0, 0.5, 0}, self = false, color = {0.55, 0.50, 0.45},
}
collider "ground" { shape = plane { point = {0, 0.02, 0}, normal = {0, 1, 0} } }
output { frames = 60, fps = 30 }
