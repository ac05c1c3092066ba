-- expect: require: there is no file 'parts/nothing.lua'
-- exit: 3
require "parts.nothing"
