#!/usr/bin/env python3
"""tools/compare-runs: a run equals itself, and tells when the physics is another."""

import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from program import PROGRAM, SOURCE, Case, main, write  # noqa: E402

TOOL = os.path.join(SOURCE, "tools", "compare-runs")
TINY = """domain { max = {0.3, 0.3, 0.1}, open_top = true }
liquid "water" { spacing = 0.025, viscosity = 0.05, shape = box { max = {0.1, 0.15, 0.1} } }
output { frames = 3, fps = 60 }
"""


class CompareRuns(Case):
    def setUp(self):
        super().setUp()
        write(TINY, self.folder, "tiny.lua")

    def make(self, name, *words):
        self.call("run", "tiny.lua", "-o", name, "--progress", "none", *words)

    def compare(self, status, *words):
        done = subprocess.run([sys.executable, TOOL, "--program", PROGRAM, *map(str, words)],
                              capture_output=True, text=True, cwd=self.folder, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def figures(self, out):
        """[in both, in one, position, velocity, position/length] of the water"""
        line = re.search(r"^water +(.*)$", out, re.MULTILINE)
        self.assertTrue(line, out)
        return [float(word) if word != "-" else None for word in line.group(1).split()]

    def test_same_run_twice(self):
        self.make("a", "--threads", 1)
        self.make("b", "--threads", 2)
        figures = self.figures(self.compare(0, "a", "b", "--length", 0.05)[0])
        self.assertGreater(figures[0], 50)
        self.assertEqual(figures[1:], [0.0, 0.0, 0.0, 0.0])
        self.assertIsNone(self.figures(self.compare(0, "a", "b", "--frame", 1)[0])[4])

    def test_other_viscosity(self):
        self.make("a")
        self.make("b", "--set", "water.viscosity=5")
        out, err = self.compare(1, "a", "b", "--length", 0.05)
        _, n_one, x, v, share = self.figures(out)
        self.assertEqual(n_one, 0)
        self.assertGreater(x, 0.0)
        self.assertGreater(v, 0.0)
        self.assertAlmostEqual(share, x / 0.05, delta=1e-4 * share)
        self.assertIn("frame 3 differs", err)
        self.compare(0, "a", "b", "--length", 0.05, "--tolerance", 1.01 * share)
        self.compare(1, "a", "b", "--length", 0.05, "--tolerance", 0.99 * share)
        self.compare(0, "a", "b", "--tolerance", 1.01 * x)
        self.compare(0, "a", "b", "--frame", 0)

    def test_other_particles(self):
        self.make("a")
        self.make("b", "--set", "water.spacing=0.02")
        out, err = self.compare(1, "a", "b", "--tolerance", 1e9)
        self.assertGreater(self.figures(out)[1], 0)
        self.assertIn("in one run only", err)

    def test_refusals(self):
        self.make("a")
        self.assertIn("has no frames", self.compare(2, self.folder + "/nothing", "a")[1])
        self.assertIn("--length must be above 0", self.compare(2, "a", "a", "--length", 0)[1])
        self.assertIn("--tolerance must be 0 or more", self.compare(2, "a", "a", "--tolerance", -1)[1])
        self.assertIn("kelpie: ", self.compare(5, "a", "nothing")[1])
        self.assertIn("./nothing: No such file", self.compare(2, "a", "a", "--program", "./nothing")[1])


if __name__ == "__main__":
    main()
