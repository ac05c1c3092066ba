-- expect: 'os' is not available in scenes
-- exit: 3
os.execute("true")
