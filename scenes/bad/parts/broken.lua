-- A module that cannot be read: required by module_with_error.lua.
local x = = 1
