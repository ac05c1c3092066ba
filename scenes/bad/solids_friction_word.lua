-- expect: solids: unknown friction 'behind'; known are after, before
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
cloth "sheet" { }
solids { friction = "behind" }
