-- expect: 'string.gsub' is not available in scenes
-- exit: 3
print(("aaaa"):gsub("a*a*a*b", ""))
