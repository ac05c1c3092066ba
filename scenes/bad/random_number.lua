-- expect: 'math.random' is not available in scenes
-- exit: 3
gravity { 0, -math.random(), 0 }
