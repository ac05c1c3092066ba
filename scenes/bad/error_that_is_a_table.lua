-- expect: the scene raised an error that is no text but a table
-- exit: 3
error({ code = 7 })
