-- Two liquids in a box of 1 x 1 x 0.2, pink (C = 1) over white (C = 0.1), halves of 21,600 particles. A
-- concentration of 1 doubles the mass of a particle, so pink weighs 2,000 kg/m^3 and white 1,100.
-- The figure gives D without a unit: it is read as 1e-2 m^2/s.
return function(dispersion)
  local spacing = 1 / 60
  domain { min = {0, 0, 0}, max = {1, 1, 0.2} }
  sph { slip = 1 }
  local function half(name, y, c, push)
    liquid(name) {
      spacing = spacing, shape = box { min = {0, y, 0}, max = {1, y + 0.5, 0.2} },
      velocity = {push, 0, 0},               -- a small shear breaks the symmetry
      viscosity = 2, sound_speed = 20,
      concentration = c, dispersion = 0.01 * dispersion, solute_density = 1000,
    }
    look(name) {
      color_by = "concentration", color_map = "two", range_min = 0.1, range_max = 1,
      color = {0.97, 0.97, 0.95}, color_end = {0.93, 0.30, 0.55}, smooth = 0.9, gloss = 0.4,
    }
  end
  half("pink", 0.5, 1.0, 0.05)
  half("white", 0.0, 0.1, -0.05)
  output { frames = 200, fps = 20, surface = { from = "all", join = true } }
  render { camera_azimuth_deg = 18, camera_elevation_deg = 10, camera_frame = "domain", camera_zoom = 1.05, box = false }
end
