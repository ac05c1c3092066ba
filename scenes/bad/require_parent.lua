-- expect: require: '../demo/dam_break' lies outside the scene's folder
-- exit: 3
require "../demo/dam_break"
