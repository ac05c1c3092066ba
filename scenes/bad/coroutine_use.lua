-- expect: 'coroutine' is not available in scenes
-- exit: 3
coroutine.wrap(function() end)()
