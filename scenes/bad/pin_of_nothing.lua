-- expect: pin "p": of = "shete" is no cloth, hair or soft body
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
cloth "sheet" { }
pin "p" { of = "shete", shape = sphere { center = {0, 0, 0}, radius = 1 } }
