#!/usr/bin/env python3
"""The same bits for any number of threads, for every instruction set, and on the mirror backend."""

import json
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from program import SCENES, Case, main, read  # noqa: E402

# 35 thousand particles: every loop splits into at least eight chunks
LARGE = [os.path.join(SCENES, "demo", "dam_break.lua"), "--set", "water.spacing=0.0145", "--set",
         "output.fps=1000", "--frames", ":1", "--progress", "none"]


class SameBits(Case):
    def run_large(self, name, *words, env=None):
        self.call("run", *LARGE, "-o", name, *words, env=env)
        return self.hash(name)

    def machine(self, name):
        return json.loads(read(self.folder, name, "run.json"))["machine"]["instruction_set"]

    def run_small(self, name, *words, env=None):
        self.call("run", self.small_scene(6, 0.02), "-o", name, "--progress", "none", *words,
                  env=env)
        return self.hash(name)

    def test_threads(self):
        for run in (self.run_large, self.run_small):
            kind = run.__name__
            hashes = {n: run("%s-%d" % (kind, n), "--threads", n) for n in (1, 2, 3, 4)}
            self.assertEqual(len(set(hashes.values())), 1, hashes)

    def test_threads_of_restarts(self):
        self.call("run", self.small_scene(10), "-o", "whole", "--threads", 1)
        self.call("run", "small.lua", "-o", "out", "--threads", 3, "--frames", ":5")
        self.call("resume", "out", "--threads", 2, "--frames", ":10")
        self.assertEqual(self.hash("out"), self.hash("whole"))

    def test_instruction_sets(self):
        for run in (self.run_large, self.run_small):
            kind = run.__name__
            hashes = {isa: run("%s-%s" % (kind, isa), env={"KP_ISA": isa})
                      for isa in ("base", "v3", "v4")}
            self.assertEqual(len(set(hashes.values())), 1, hashes)
            used = [self.machine("%s-%s" % (kind, isa)) for isa in hashes]
            self.assertEqual(used[0], "base")  # each is the one asked for, or the best there is
            self.assertEqual(used[1:], [min(isa, used[2]) for isa in ("v3", "v4")])
        if used[2] != "v4":
            self.skipTest("this processor has no AVX-512: %s was its best" % used[2])

    def test_every_medium(self):
        words = [os.path.join(SCENES, "demo", "everything.lua"), "--set", "output.fps=1000", "--frames",
                 ":1", "--progress", "none"]
        hashes = {}
        for name, more in (("one", ["--threads", 1]), ("three", ["--threads", 3]),
                           ("mirror", ["--backend", "mirror"])):
            self.call("run", *words, "-o", "every-" + name, *more)
            hashes[name] = self.hash("every-" + name)
        self.assertEqual(len(set(hashes.values())), 1, hashes)

    def test_mirror(self):
        for run in (self.run_large, self.run_small):
            kind = run.__name__
            self.assertEqual(run(kind + "-mirror", "--backend", "mirror"), run(kind + "-cpu"))


if __name__ == "__main__":
    main()
