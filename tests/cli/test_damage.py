#!/usr/bin/env python3
"""Frames and tables that are damaged: the others are drawn and exported, and resume mends them."""

import os
import shutil
import struct
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import Case, main, read, rows, write  # noqa: E402

FLAG = """domain { min = {-1, -1, -1}, max = {1, 1, 1} }
cloth "flag" { columns = 4, rows = 4 }
output { frames = 4, fps = 100 }
"""


class Damage(Case):
    def frame(self, number, folder="out"):
        return self.path(folder, "frames", "frame_%06d.kpf" % number)

    def flip(self, path):
        """Turns a few bits in the middle of a file."""
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 2)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(struct.pack("B", byte ^ 0x55))

    def run_small(self):
        self.call("run", self.small_scene(5), "-o", "out", "--progress", "none")
        shutil.copytree(self.path("out"), self.path("whole"))

    def assert_whole(self):
        """Every frame and what the run tells of itself is as it was."""
        for number in range(6):
            self.assertEqual(self.hash("out", number), self.hash("whole", number))
            self.call("info", "out", "--frame", number)
        self.assertEqual(read(self.folder, "out/stats.csv"), read(self.folder, "whole/stats.csv"))

    def test_render_goes_on(self):
        self.run_small()
        write("not a frame", self.frame(2))
        self.flip(self.frame(4))
        err = self.refused_with_warnings("render", "out", "--preview", "--no-video", "--size", "64x36")
        self.assertRegex(err, "warning: .*frame_000002.kpf.*; frame 2 is left out")
        self.assertRegex(err, "warning: .*frame_000004.kpf.*; frame 4 is left out")
        self.assertIn("2 of 6 frames of out could not be read", err)
        self.assertEqual(sorted(os.listdir(self.path("out/images"))),
                         ["frame_%06d.png" % n for n in (0, 1, 3, 5)])

    def refused_with_warnings(self, *words):
        _, err = self.call(*words, status=5)
        self.assertEqual(len([x for x in err.splitlines() if not x.startswith("kelpie: warning: ")]), 1)
        return err

    def test_export_goes_on(self):
        self.run_small()
        write("not a frame", self.frame(2))
        err = self.refused_with_warnings("export", "out", "--to", "ply,vtu")
        self.assertEqual(err.count("frame 2 is left out"), 1)
        self.assertIn("1 of 6 frames of out could not be read", err)
        for name in ("ply", "vtu"):
            numbers = {n for n in range(6) for file in os.listdir(self.path("out/export", name))
                       if file.endswith("%06d.%s" % (n, name))}
            self.assertEqual(numbers, {0, 1, 3, 4, 5})

    def test_caches_keep_time(self):
        """A point cache has a sample for every frame: the nearest stands for one that is lost."""
        write(FLAG, self.folder, "flag.lua")
        self.call("run", "flag.lua", "-o", "out", "--progress", "none")
        self.call("export", "out", "--to", "pc2,mdd", "-o", "good")
        write("not a frame", self.frame(2))
        self.refused_with_warnings("export", "out", "--to", "pc2,mdd", "-o", "held")
        size = 25 * 12
        for name, head in (("flag_mesh.pc2", 32), ("flag_mesh.mdd", 8 + 5 * 4)):
            with open(self.path("good", name), "rb") as one, open(self.path("held", name), "rb") as two:
                good, held = one.read(), two.read()
            self.assertEqual(len(good), head + 5 * size)
            self.assertEqual(good[:head], held[:head])  # times of samples too
            for sample in range(5):
                from_frame = 1 if sample == 2 else sample
                self.assertEqual(held[head + sample * size:head + (sample + 1) * size],
                                 good[head + from_frame * size:head + (from_frame + 1) * size])

    def test_resume_mends_a_complete_run(self):
        self.run_small()
        for damage in (lambda: self.flip(self.frame(3)), lambda: os.truncate(self.frame(3), 100),
                       lambda: os.remove(self.frame(3)), lambda: self.flip(self.frame(5))):
            damage()
            _, err = self.call("resume", "out", "--progress", "none")
            self.assertRegex(err, "frame_00000[35].kpf.*it is made again")
            self.assert_whole()
        # and has nothing to say of a sound one
        out, err = self.call("resume", "out")
        self.assertEqual(err, "")
        self.assertIn("is complete", out)

    def test_resume_mends_a_run_that_goes_on(self):
        self.run_small()
        shutil.rmtree(self.path("out"))
        self.call("run", "small.lua", "-o", "out", "--progress", "none", "--frames", ":3")
        self.flip(self.frame(1))
        _, err = self.call("resume", "out", "--frames", ":5", "--progress", "none")
        self.assertIn("frame_000001.kpf", err)
        self.assert_whole()

    def test_removed_frames_are_not_missed_while_it_goes_on(self):
        self.run_small()
        shutil.rmtree(self.path("out"))
        self.call("run", "small.lua", "-o", "out", "--progress", "none", "--frames", ":3")
        os.remove(self.frame(1))
        _, err = self.call("resume", "out", "--frames", ":5", "--progress", "none")
        self.assertEqual(err, "")
        self.assertFalse(os.path.exists(self.frame(1)))

    def test_damaged_perf(self):
        self.run_small()
        for text in ("", "rubbish", "rubbish,with\n1,2\n", "\0\1\2\n"):
            write(text, self.folder, "out/perf.csv")
            os.remove(self.frame(5))
            os.remove(self.path("out/checkpoints/checkpoint_000005.kpf"))
            self.call("resume", "out", "--progress", "none")
            self.assert_whole()
            self.assertEqual(rows(self.folder, "out/perf.csv")[-1]["frame"], "5")


if __name__ == "__main__":
    main()
