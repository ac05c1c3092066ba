#!/usr/bin/env python3
"""Scenes beyond the memory of the machine, or beyond the limit they state, are refused before any of
it is taken, with what is too large and the key that makes it smaller."""

import os
import resource
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, Case, environment, main, write  # noqa: E402

GIB = 1 << 30
MACHINE = 4 * GIB  # of address space, which stands for the machine's memory
KIB_MOST = 200 * 1024  # of memory that a refusal may take

WIDE = "domain { max = {60, 60, 60} }\n"
ROOM = "domain { max = {4, 4, 4} }\n"
AROUND = "domain { min = {-2, -2, -2}, max = {2, 2, 2} }\n"
SMALL = "shape = box { max = {0.2, 0.2, 0.2} } }\n"

# Much too large each: the scene, what is too large, and what makes it smaller.
TOO_LARGE = {
    "walls": (WIDE + 'liquid "w" { spacing = 0.01, ' + SMALL, "wall samples of domain, ",
              "liquids' spacing larger"),
    "walls of cells": (WIDE + 'liquid "w" { method = "mps", spacing = 0.01, ' + SMALL,
                       "wall samples of domain, ", "liquids' spacing larger"),
    "collider": (ROOM + 'liquid "w" { spacing = 0.1, ' + SMALL +
                 'collider "wall" { spacing = 2e-4, shape = box { min = {1, 1, 1}, max = {3, 3, 3} } }\n',
                 'surface samples of collider "wall"', "spacing larger"),
    "liquid": (ROOM + 'liquid "w" { spacing = 0.001, shape = box { max = {2, 2, 2} } }\n',
               'particles of liquid "w"', "spacing larger"),
    "cloth": (AROUND + 'cloth "sail" { columns = 30000, rows = 30000 }\n', 'vertices of cloth "sail"',
              "columns and rows fewer"),
    "hair": (AROUND + 'hair "mane" { count = 1e7, segments = 20 }\n', 'nodes of hair "mane"',
             "count or segments smaller"),
    "soft": (AROUND + 'soft "jelly" { spacing = 0.001, shape = sphere { radius = 0.5 } }\n',
             'nodes of soft "jelly"', "spacing larger"),
    "smoke": (ROOM + 'grid { cell = 0.004 }\nsmoke "plume" { ' + SMALL, 'cells of smoke "plume"',
              "cells larger"),
    "flip": (ROOM + 'liquid "w" { method = "flip", spacing = 0.002, ' + SMALL, 'cells of liquid "w"',
             "cells larger"),
    "level set": (ROOM + 'grid { cell = 0.004 }\nliquid "w" { method = "level_set", ' + SMALL,
                  'cells of liquid "w"', "cells larger"),
    "marker": (ROOM + 'grid { cell = 0.004 }\nliquid "w" { method = "marker", ' + SMALL,
               'cells of liquid "w"', "cells larger"),
    "emitter": (ROOM + 'sph { domain_walls = "planes" }\nliquid "w" { spacing = 0.0002 }\nemitter "rain" { '
                'into = "w", position = {2, 3, 2}, direction = {0, -1, 0}, radius = 1.9, speed = 1 }\n',
                'particles of a layer of emitter "rain"', "opening smaller"),
}


class Memory(Case):
    def refused(self, words, machine=None):
        """The sentence of a refusal that took no memory to speak of."""
        def limit():
            if machine:
                resource.setrlimit(resource.RLIMIT_AS, (machine, machine))
        process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, cwd=self.folder, env=environment(), preexec_fn=limit)
        err = process.stderr.read()
        process.stderr.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 3, err)
        self.assertLess(usage.ru_maxrss, KIB_MOST, err)
        self.assertEqual(len(err.splitlines()), 1, err)
        return err

    def test_beyond_the_machine(self):
        for name, (text, what, key) in TOO_LARGE.items():
            with self.subTest(name):
                write(text, self.folder, "s.lua")
                err = self.refused(["check", "s.lua"], MACHINE)
                self.assertIn("GB of memory and this machine has 4.29 GB", err)
                self.assertIn(what, err)
                self.assertIn("so make its " + key, err)

    def test_beyond_the_limit(self):
        """The limit the scene or --set states, for run as for check, and no folder is left."""
        write(ROOM + 'grid { cell = 0.02 }\nsmoke "plume" { ' + SMALL +
              "output { frames = 1 }\n", self.folder, "s.lua")
        err = self.refused(["run", "s.lua", "-o", "out", "--set", "simulation.memory_limit=0.5"])
        self.assertIn("simulation.memory_limit is 0.5 GB", err)
        self.assertIn('8e+06 cells of smoke "plume"', err)
        self.assertFalse(os.path.exists(self.path("out")))
        # below the limit it is let in
        self.call("check", "s.lua", "--set", "simulation.memory_limit=0.5", "--set", "grid.cell=0.05")


if __name__ == "__main__":
    main()
