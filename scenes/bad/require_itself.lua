-- expect: require: 'require_itself.lua' requires itself
-- exit: 3
require "require_itself"
