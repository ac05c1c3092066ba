-- expect: radius = 0 is out of range
-- exit: 3
liquid "water" { shape = sphere { radius = 0 } }
