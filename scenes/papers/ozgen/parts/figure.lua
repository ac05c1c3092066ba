-- A figure of capsules that walks along z or dances on the spot: pelvis, trunk, head, and arms and
-- legs of two pieces each, led by angles. Everything follows from `pose(t)`, so that other scenes
-- can dress it differently.
local thigh, shank, foot = 0.43, 0.43, 0.07  -- m: lengths of a leg, height of the ankle
local half_width = 0.08                      -- m: from the middle to a hip

local figure = { half_width = half_width, thigh = thigh, shank = shank }

local function smooth(t, from, to)
  local s = math.min(math.max((t - from) / (to - from), 0), 1)
  return s * s * (3 - 2 * s)
end
figure.smooth = smooth

-- Angles of a walk at the phase of a step, in degrees: thigh forward, knee bent. The heel lands at
-- phase 0, the foot leaves the ground at pi, and the knee bends on the way forward.
function figure.stride(phase, strength)
  local swing = 0.5 * (1 + math.cos(phase - 1.4 * math.pi))
  return strength * (3 + 23 * math.cos(phase)), strength * (6 + 52 * swing * swing)
end

-- A walk that begins standing: `speed` m/s, `rate` strides per second.
function figure.walk(speed, rate)
  return function(t)
    local strength = smooth(t, 0.4, 1.4)
    local phase = 2 * math.pi * rate * t
    local p = { right = {}, left = {} }
    p.right.thigh, p.right.knee = figure.stride(phase + 0.5 * math.pi, strength)
    p.left.thigh, p.left.knee = figure.stride(phase + 1.5 * math.pi, strength)
    p.right.arm, p.left.arm = -0.8 * p.right.thigh, -0.8 * p.left.thigh
    p.right.elbow, p.left.elbow = 15 + 10 * strength, 15 + 10 * strength
    p.spread = 0
    -- the lower foot stands on the ground; a soft maximum has no corner
    local function reach(leg)
      local a, b = math.rad(leg.thigh), math.rad(leg.thigh - leg.knee)
      return thigh * math.cos(a) + shank * math.cos(b)
    end
    local k = 60
    local y = math.log(math.exp(k * reach(p.right)) + math.exp(k * reach(p.left))) / k
    -- forward: the integral of speed times strength, which rises from 0.4 s to 1.4 s
    local s = math.min(math.max(t - 0.4, 0), 1)
    local way = s * s * s - 0.5 * s * s * s * s + math.max(t - 1.4, 0)
    p.hip = { 0, foot + y, speed * way }
    p.turn = 0
    return p
  end
end

-- From the axes of the figure to those of the world at a time.
function figure.place(p, v)
  local c, s = math.cos(math.rad(p.turn)), math.sin(math.rad(p.turn))
  return { p.hip[1] + c * v[1] + s * v[3], p.hip[2] + v[2], p.hip[3] - s * v[1] + c * v[3] }
end

-- Where the knee of a side is against the hips, and the direction of the shank, for a leg that is
-- spread sideways by `spread` degrees.
function figure.knee(p, side)
  local leg = side > 0 and p.right or p.left
  local a = math.rad(leg.thigh)
  return { side * half_width, -thigh * math.cos(a), thigh * math.sin(a) }
end

-- Makes the colliders. Friction is that of the skin under cloth.
function figure.make(pose, color)
  local skin = { friction = 0.2, color = color or {0.72, 0.58, 0.48} }
  local function limb(name, length, radius, at, angle)
    collider(name) {
      shape = capsule { a = {0, 0, 0}, b = {0, -length, 0}, radius = radius },
      position = function(t) local p = pose(t) return figure.place(p, at(p)) end,
      rotation_deg = function(t) local p = pose(t) return {-angle(p), p.turn, 0} end,
      friction = skin.friction, color = skin.color,
    }
  end
  local function lump(name, shape)
    collider(name) {
      shape = shape,
      position = function(t) return pose(t).hip end,
      rotation_deg = function(t) return {0, pose(t).turn, 0} end,
      friction = skin.friction, color = skin.color,
    }
  end
  lump("pelvis", capsule { a = {-0.055, 0.02, 0}, b = {0.055, 0.02, 0}, radius = 0.1 })
  lump("waist", capsule { a = {0, 0.1, 0}, b = {0, 0.25, 0}, radius = 0.095 })
  lump("chest", capsule { a = {-0.07, 0.38, 0}, b = {0.07, 0.38, 0}, radius = 0.1 })
  lump("neck", capsule { a = {0, 0.45, 0}, b = {0, 0.58, 0}, radius = 0.045 })
  lump("head", capsule { a = {0, 0.66, 0.01}, b = {0, 0.72, 0.0}, radius = 0.085 })
  for side, word in pairs { [1] = "right", [-1] = "left" } do
    local function arm_end(p)
      local a = math.rad(p[word].arm)
      return { side * 0.2, 0.42 - 0.28 * math.cos(a), 0.28 * math.sin(a) }
    end
    limb(word .. "_thigh", thigh, 0.07, function() return { side * half_width, 0, 0 } end,
         function(p) return p[word].thigh end)
    limb(word .. "_shank", shank, 0.05, function(p) return figure.knee(p, side) end,
         function(p) return p[word].thigh - p[word].knee end)
    limb(word .. "_foot", 0.14, 0.04, function(p)
      local k, b = figure.knee(p, side), math.rad(p[word].thigh - p[word].knee)
      return { k[1], k[2] - shank * math.cos(b) - 0.02, k[3] + shank * math.sin(b) }
    end, function(p) return p[word].thigh - p[word].knee + 80 end)
    limb(word .. "_upper_arm", 0.28, 0.04, function() return { side * 0.2, 0.42, 0 } end,
         function(p) return p[word].arm end)
    limb(word .. "_fore_arm", 0.26, 0.033, arm_end,
         function(p) return p[word].arm + p[word].elbow end)
  end
end

return figure
