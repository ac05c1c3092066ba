-- A campfire: logs around a bed of fuel that burns, glows and smokes, in a light breeze.
domain { min = {-0.6, 0, -0.6}, max = {0.6, 2.1, 0.6}, boundary_x = "open", boundary_z = "open", open_top = true }
simulation { dt_max = 1 / 48 }
grid { cell = 1.2 / 48, stream = {0.12, 0, 0} }

smoke "flames" {
  empty = true,
  burn_rate = 4, ignition = 500, heat = 1900, soot = 0.6, expansion = 2.5,
  radiation = 5000, hottest = 1900, cooling = 0.8, dissipation = 0.7,
  lift = 0.02, confinement = 2,
}

source "embers" {
  into = "flames",
  shape = cylinder { a = {0, 0.02, 0}, b = {0, 0.12, 0}, radius = 0.2 },
  fuel = 0.6, temperature = 1100, noise = 0.8, noise_scale = 0.14, noise_time = 0.12,
}

local function log(name, angle, lean)
  local x, z = math.cos(angle), math.sin(angle)
  collider(name) {
    shape = capsule { a = {0.34 * x, 0.04, 0.34 * z}, b = {0.05 * x, lean, 0.05 * z}, radius = 0.035 },
    color = {0.16, 0.09, 0.05},
  }
end
for k = 0, 4 do log("log" .. k, 2 * math.pi * (k + 0.2) / 5, 0.26) end

output { frames = 96, fps = 24 }
-- at night: the fire lights the ground and the smoke
render {
  background = "dark", box = false, sun_strength = 0.08, sky_strength = 0.35, exposure = 0.4,
  camera_position = {0.9, 0.75, 2.75}, camera_target = {0, 0.62, 0},
}
