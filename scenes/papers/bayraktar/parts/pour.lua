-- A jet poured on a sphere that hangs in the open.
return function(adhesion)
  local spacing = 0.012
  domain {
    min = {-0.4, -0.35, -0.4}, max = {0.4, 0.35, 0.4},
    boundary_x = "open", boundary_y = "open", boundary_z = "open",
  }
  sph { adhesion = adhesion }
  liquid "water" { spacing = spacing, viscosity = 8, sound_speed = 20, empty = true }
  emitter "spout" {
    into = "water", position = {0, 0.26, 0}, direction = {0, -1, 0}, radius = 0.06, speed = 0.35, limit = 12000,
  }
  collider "ball" { shape = sphere { center = {0, 0, 0}, radius = 0.18 }, layers = 2, color = {0.75, 0.45, 0.25} }
  output { frames = 120, fps = 60, surface = { from = "water", field = "anisotropic" } }
  render { camera_position = {0.8, 0.1, 1.25}, camera_target = {0, -0.02, 0}, box = false, ground = "none", background = "sky" }
end
