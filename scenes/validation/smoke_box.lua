-- A warm ball of smoke rises in a closed box and is stirred for 5 s, at default settings: its smoke and its heat stay.
domain { max = {1, 1, 1} }
grid { cell = 1 / 24 }
smoke "gas" { shape = sphere { center = {0.5, 0.3, 0.5}, radius = 0.2 }, density = 1, temperature = 350 }
output { frames = 50, fps = 10 }
