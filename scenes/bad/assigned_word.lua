-- expect: assigned_word.lua:4: 'gravity' is a word of the scene language and cannot be assigned
-- exit: 3
liquid "water" { shape = box { max = {0.4, 0.4, 0.4} } }
gravity = {0, 0, -9.81}
