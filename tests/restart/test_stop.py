#!/usr/bin/env python3
"""A run whose pipe closes, whose terminal goes, or whose files may not grow ends with a sentence, and goes
on from there to the bits of an undisturbed one."""

import os
import re
import resource
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from program import PROGRAM, Case, environment, main  # noqa: E402

FRAMES = 40
STOPPED, FAILED = 75, 5
# from 0.35 s on the liquid is thrown aside, which takes some tries
RETRY = """
domain { dimension = 2, max = {1, 1} }
simulation { retries = 30, dt = 0.00025 }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, -1}, max = {0.5, 0.4, 1} } }
force "throw" { acceleration = function(t) return {0, t > 0.35 and 1e5 or 0, 0} end }
output { frames = 4, fps = 10, checkpoint_every = 1000 }
"""


class Stop(Case):
    def run_whole(self):
        self.scene = self.small_scene(FRAMES)
        self.call("run", self.scene, "-o", "whole", "--progress", "none")

    def ends_like_the_whole(self):
        self.call("resume", "out", "--progress", "none")
        self.assertEqual(self.hash("out"), self.hash("whole"))

    def launch(self, *words, **more):
        return subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.folder, env=environment(), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def test_closed_pipe(self):
        self.run_whole()
        process = self.launch("run", self.scene, "-o", "out", "--progress", "plain")
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(), STOPPED, errors)
        self.assertIn("kelpie resume out", errors)
        self.ends_like_the_whole()

    def test_hangup(self):
        self.run_whole()
        process = self.launch("run", self.scene, "-o", "out", "--progress", "plain")
        process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate()
        self.assertEqual(process.returncode, STOPPED, errors)
        self.ends_like_the_whole()

    def test_limit_of_file_size(self):
        self.run_whole()
        largest = max(os.path.getsize(os.path.join(folder, name))
                      for folder, _, names in os.walk(self.path("whole")) for name in names)
        process = self.launch("run", self.scene, "-o", "out", "--progress", "none", preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_FSIZE, (largest // 2, largest // 2)))
        _, errors = process.communicate()
        self.assertEqual(process.returncode, FAILED, errors)
        self.assertIn("out/", errors)
        self.assertIn("File too large", errors)
        self.assertTrue(os.path.exists(self.path("out/run.json")))
        self.ends_like_the_whole()

    def test_stop_among_retries(self):
        """The frame that is tried again and again is left, and begins anew from a checkpoint of the one before."""
        with open(self.path("retry.lua"), "w", encoding="utf-8") as file:
            file.write(RETRY)
        self.call("run", "retry.lua", "-o", "whole", "--progress", "none")
        process = self.launch("run", "retry.lua", "-o", "out", "--progress", "none")
        for line in process.stderr:
            if "trying again" in line:
                process.send_signal(signal.SIGTERM)
                break
        errors = process.stderr.read()
        process.stderr.close()
        process.stdout.close()
        self.assertEqual(process.wait(), STOPPED, errors)
        self.assertIn("while trying again", errors)
        frame = int(re.search(r"a checkpoint of frame (\d+) is kept", errors).group(1))
        self.assertTrue(os.path.exists(self.path("out/checkpoints/checkpoint_%06d.kpf" % frame)))
        self.ends_like_the_whole()


if __name__ == "__main__":
    main()
