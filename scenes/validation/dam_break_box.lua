-- SPHERIC benchmark 2: a dam breaks, and the water runs against a box (Kleefsman et al. 2005).
-- probes_P1.csv holds the pressure low on the front of the box. It looks in every step: impacts of particles are
-- short, and looks every 5 ms, at steps that are cut to end there, tell of DFSPH a mean that is a third too low.
-- probes_gauges.csv holds the height of the water behind the box, in front of it, and between it and the dam,
-- probes_dam.csv that behind the dam: wetted lengths, as the wires of the experiment tell them.
-- Try --set water.method=flip, level_set, sph, or --set sph.solver=dfsph; the box is 8 spacings across;
-- of level sets grid.cell says how fine they are.
domain { min = {0, 0, 0}, max = {3.22, 1, 1} }
gravity { 0, -9.81, 0 }
sph { support = 2 }

liquid "water" {
  method = "flip",
  spacing = 0.02,
  viscosity = 0.001,
  shape = box { min = {1.992, 0, 0}, max = {3.22, 0.55, 1} },
}

collider "box" { shape = box { min = {0.6635, 0, 0.2955}, max = {0.8245, 0.161, 0.6985} } }

local function sensor(name, y)
  probe(name) { of = "water", kind = "wall", radius = 0.02, min = {0.8245, y, 0.471}, max = {0.8245, y, 0.471} }
end
sensor("P1", 0.021)
sensor("P2", 0.061)
sensor("P3", 0.101)

probe "gauges" { of = "water", kind = "gauge", min = {0.496, 0, 0.5}, max = {1.488, 0, 0.5}, counts = {3, 1, 1}, interval = 0.02 }
probe "dam" { of = "water", kind = "gauge", min = {2.638, 0, 0.5}, max = {2.638, 0, 0.5}, interval = 0.02 }

output { frames = 40, fps = 20 }
render { camera_azimuth_deg = -60, camera_elevation_deg = 25 }
