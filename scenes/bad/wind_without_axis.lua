-- expect: wind "w": its axis has no direction
-- exit: 3
domain { min = {0, 0, 0}, max = {1, 1, 1} }
cloth "sheet" { }
wind "w" { velocity = {1, 0, 0}, axis = {0, 0, 0} }
