-- expect: emitter "slot": a rectangle needs both width and height
-- exit: 3
liquid "water" { empty = true, spacing = 0.05 }
emitter "slot" { into = "water", position = {0.5, 0.5, 0.5}, width = 0.2 }
