-- expect: 'string.dump' is not available in scenes
-- exit: 3
string.dump(function() end)
