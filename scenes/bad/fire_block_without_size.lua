-- expect: fire "rain": emitter 'block' needs a size across the up axis
-- exit: 3
fire "rain" { emitter = "block" }
