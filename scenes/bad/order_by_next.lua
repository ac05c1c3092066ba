-- expect: 'next' is not available in scenes
-- exit: 3
print(next({ a = 1, b = 2 }))
