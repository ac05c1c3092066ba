-- expect: unknown emitter 'dics', did you mean 'disc'?
-- exit: 3
fire "flame" { emitter = "dics" }
