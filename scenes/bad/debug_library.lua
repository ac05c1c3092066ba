-- expect: 'debug' is not available in scenes
-- exit: 3
debug.getregistry()
