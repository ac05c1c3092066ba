-- expect: 'package' is not available in scenes
-- exit: 3
package.loadlib("libc.so", "system")
