"""Running the program under test from Python: exit codes, messages, run folders."""

import os
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("KELPIE_SOURCE_DIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.environ.get("KELPIE_PROGRAM") or os.path.join(SOURCE, "build", "kelpie")
SCENES = os.path.join(SOURCE, "scenes")

sys.path.insert(0, os.path.join(SOURCE, "tools"))
import claims  # noqa: E402, F401

# Small, and yet with a part of everything: a module, an emitter, a sink, a moving and a free body.
SMALL = """-- A small splash.
local size = require "size"
domain { min = {0, 0, 0}, max = size.tank, open_top = true }
liquid "water" { spacing = size.spacing, shape = box { max = {0.2, 0.24, 0.2} } }
emitter "tap" {
  into = "water", position = {0.4, 0.3, 0.1}, direction = {0, -1, 0},
  radius = 0.06, speed = 1.5,
}
sink "drain" { shape = box { min = {0.55, 0, 0}, max = {0.6, 0.1, 0.2} } }
collider "paddle" {
  shape = box { min = {-0.02, 0, -0.08}, max = {0.02, 0.12, 0.08} },
  position = function(t) return {0.36 + 0.04 * math.sin(6 * t), 0, 0.1} end,
}
body "ball" { shape = sphere { center = {0.1, 0.32, 0.1}, radius = 0.05 }, density = 400 }
output { frames = %d, fps = 60 }
"""
SIZE = "return { tank = {0.6, 0.4, 0.2}, spacing = %g }\n"


def need_program():
    """Leaves with the code of a skipped test where the program was not built."""
    if not os.path.exists(PROGRAM):
        sys.exit(77 if tell_skips([("all", "the program was not built: " + PROGRAM)]) else 1)


def environment(changes=None):
    env = dict(os.environ)
    env.update(changes or {})
    return env


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def write(text, *parts):
    with open(os.path.join(*parts), "w", encoding="utf-8") as file:
        file.write(text)


def rows(*parts):
    """A CSV table as a list of dictionaries of texts."""
    lines = read(*parts).splitlines()
    names = lines[0].split(",")
    return [dict(zip(names, line.split(","))) for line in lines[1:]]


class Case(unittest.TestCase):
    """A test with a folder of its own and ways to call the program."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="kelpie-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def call(self, *words, status=0, env=None, timeout=240):
        """Runs the program, expects the exit status, gives back its stdout and stderr."""
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True,
                              cwd=self.folder, env=environment(env), timeout=timeout, check=False)
        told = "kelpie %s\n%s%s" % (" ".join(map(str, words)), done.stdout, done.stderr)
        self.assertEqual(done.returncode, status, told)
        return done.stdout, done.stderr

    def refuse(self, status, pattern, *words, **more):
        """Expects a failure told in one sentence that holds the pattern."""
        _, err = self.call(*words, status=status, **more)
        lines = [line for line in err.splitlines() if not line.startswith("kelpie: warning: ")]
        self.assertTrue(lines and lines[0].startswith("kelpie: "), err)
        self.assertEqual(len(lines), 1, "more than one sentence:\n" + err)
        self.assertRegex(err, pattern)
        return err

    def start(self, *words, env=None):
        """Starts the program without waiting; stdout is a pipe."""
        process = subprocess.Popen([PROGRAM, *map(str, words)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                   env=environment(env))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def small_scene(self, frames=6, spacing=0.04):
        write(SIZE % spacing, self.folder, "size.lua")
        write(SMALL % frames, self.folder, "small.lua")
        return self.path("small.lua")

    def hash(self, folder, frame=None):
        words = ["info", folder, "--hash"] + (["--frame", frame] if frame is not None else [])
        out, _ = self.call(*words)
        self.assertRegex(out, r"\A[0-9a-f]{16}\n\Z")
        return out.strip()


def tell_skips(skipped):
    """One line for each, for tools/list-skips. True when none was, or when skips are allowed here."""
    for case, reason in skipped:
        print("skipped: %s: %s" % (case, reason), flush=True)
    return not (skipped and os.environ.get("KELPIE_NO_SKIPS"))


def main():
    need_program()
    result = unittest.main(verbosity=2, exit=False).result
    skipped = [(case.id().replace("__main__.", ""), reason) for case, reason in result.skipped]
    if not tell_skips(skipped):
        print("KELPIE_NO_SKIPS is set, and cases were skipped")
        sys.exit(1)
    if result.testsRun and len(skipped) == result.testsRun:
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)


def has_backend(name):
    """True when a device of that name can be opened; a scene that does not exist fails later."""
    with tempfile.TemporaryDirectory() as folder:
        write("domain {}\nliquid \"w\" { shape = box {} , spacing = 0.2 }\noutput { frames = 1 }\n",
              folder, "s.lua")
        done = subprocess.run([PROGRAM, "run", "s.lua", "--backend", name, "--frames", ":0"],
                              cwd=folder, capture_output=True, text=True, check=False)
        return not re.search("backend|CUDA|device", done.stderr) and done.returncode == 0
