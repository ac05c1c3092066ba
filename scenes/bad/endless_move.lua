-- expect: 'table.move' is not available in scenes
-- exit: 3
table.move({}, 1, 1 << 50, 2)
