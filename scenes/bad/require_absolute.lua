-- expect: require: '/etc/passwd' lies outside the scene's folder
-- exit: 3
require "/etc/passwd"
