#!/usr/bin/env python3
"""The law of restarts: N + M frames equal N frames, save, load, M frames, bit for bit, for every
scene that ships, at a size that runs in seconds."""

import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from program import SCENES, Case, main, read  # noqa: E402

BEFORE, AFTER = 2, 2
PARTICLES_MOST = 6000


def shipped():
    for kind in ("demo", "validation"):
        folder = os.path.join(SCENES, kind)
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        for name in names:
            path = os.path.join(folder, name)
            if name.endswith(".lua") and re.search(r"\boutput\b", read(path)):
                yield path


class Restart(Case):
    def count(self, path, sets):
        out, _ = self.call("check", path, "--pilot", "0", *sets)
        return int(re.search(r"(?m)^particles\s+(\d+)", out).group(1))

    def coarser(self, path):
        """--set words that bring the scene down to a small size, where it bears that."""
        text = read(path)
        liquids = re.findall(r'^\s*liquid\s+"([^"]+)"', text, re.M)
        self.call("run", path, "-o", "probe", "--frames", ":0", "--force", "--progress", "none")
        used = read(self.folder, "probe/used.lua")
        spacings = []
        for name in liquids:
            pattern = r'liquid "%s".*?\bspacing = ([-+.e\d]+)' % re.escape(name)
            spacings.append(float(re.search(pattern, used, re.S).group(1)))
        sets = []
        n, factor = self.count(path, sets), 1.0
        while n > PARTICLES_MOST and factor < 4.0:
            factor *= 1.5
            wanted = []
            for name, spacing in zip(liquids, spacings):
                wanted += ["--set", "%s.spacing=%.6g" % (name, factor * spacing)]
            try:
                n = self.count(path, wanted)
            except AssertionError:
                break  # too coarse for its shapes
            sets = wanted
        return sets

    def test_every_shipped_scene(self):
        paths = list(shipped())
        self.assertGreater(len(paths), 50)
        for path in paths:
            with self.subTest(scene=os.path.relpath(path, SCENES)):
                sets = self.coarser(path)
                last = ":%d" % (BEFORE + AFTER)
                quiet = ["--progress", "none"]
                self.call("run", path, "-o", "whole", "--force", "--frames", last, *sets, *quiet)
                self.call("run", path, "-o", "parts", "--force", "--frames", ":%d" % BEFORE, *sets,
                          *quiet)
                first = os.stat(self.path("parts/frames/frame_%06d.kpf" % BEFORE)).st_mtime_ns
                self.call("resume", "parts", "--frames", last, *quiet)
                # gone on with, not begun anew
                self.assertEqual(os.stat(self.path("parts/frames/frame_%06d.kpf" % BEFORE)).st_mtime_ns, first)
                for frame in range(BEFORE + AFTER + 1):
                    self.assertEqual(self.hash("parts", frame), self.hash("whole", frame), frame)
                self.assertEqual(read(self.folder, "parts/stats.csv"),
                                 read(self.folder, "whole/stats.csv"))


if __name__ == "__main__":
    main()
