-- expect: unknown_key.lua:3: liquid "water": unknown key 'viscocity', did you mean 'viscosity'?
-- exit: 3
liquid "water" {
  shape = box { min = {0, 0, 0}, max = {0.4, 0.4, 0.4} },
  viscocity = 0.1,
}
