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
STOPPED = 75
# from 0.35 s on the liquid is thrown aside, which takes some tries
RETRY = """
domain { dimension = 2, max = {1, 1} }
simulation { retries = 30, dt = 0.00025 }
liquid "water" { spacing = 0.05, shape = box { min = {0, 0, -1}, max = {0.5, 0.4, 1} } }
force "throw" { acceleration = function(t) return {0, t > 0.35 and 1e5 or 0, 0} end }
output { frames = 4, fps = 10, checkpoint_every = 1000 }
"""


class Stop(Case):
    def run_whole(self, frames=FRAMES):
        self.scene = self.small_scene(frames)
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

    def run_limited(self, n_bytes, *words):
        """A run whose files have at most so many bytes ends as one that is asked to stop: what it says."""
        process = self.launch("run", *words, "-o", "out", "--progress", "none", preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes)))
        _, errors = process.communicate()
        self.assertEqual(process.returncode, STOPPED, errors)
        self.assertRegex(errors, "cannot write out/.*File too large; stopped at the limit of %d bytes" % n_bytes)
        self.assertTrue(os.path.exists(self.path("out/run.json")))
        self.assertIn("kelpie: go on with: kelpie resume out\n", errors)
        self.assertFalse([name for _, _, names in os.walk(self.path("out")) for name in names if name.endswith(".tmp")])
        return errors

    def sizes(self, kind):
        folder = self.path("whole", kind)
        return [os.path.getsize(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]

    def kept(self, errors):
        """The frame of the checkpoint that a resume goes on from."""
        frame = int(re.search(r"resume goes on from the checkpoint of frame (\d+)\n", errors).group(1))
        self.assertTrue(os.path.exists(self.path("out/checkpoints/checkpoint_%06d.kpf" % frame)))
        return frame

    def test_limit_of_file_size(self):
        """The frame before the one that is too large is the last, and its state is kept as Ctrl-C would."""
        self.scene = self.small_scene(12)
        rare = ("--set", "output.checkpoint_every=1000")
        self.call("run", self.scene, "-o", "whole", "--progress", "none", *rare)
        frames = self.sizes("frames")
        limit = max(frames[:5])
        self.assertLess(2 * max(self.sizes("checkpoints")), limit, "the scene's checkpoints are not small")
        first_beyond = next(k for k, size in enumerate(frames) if size > limit)
        errors = self.run_limited(limit, self.scene, *rare)
        self.assertIn("out/frames/frame_%06d.kpf" % first_beyond, errors)
        self.assertEqual(self.kept(errors), first_beyond - 1)
        self.assertEqual(len(os.listdir(self.path("out/frames"))), first_beyond)
        self.ends_like_the_whole()

    def test_limit_of_tables(self):
        """Frames and checkpoints stay small, and the table of a probe grows beyond the limit."""
        self.scene = self.small_scene(12)
        with open(self.scene, encoding="utf-8") as file:
            text = file.read().replace("fps =", "surface = false, checkpoint_every = 1000, fps =")
        with open(self.scene, "w", encoding="utf-8") as file:
            file.write(text + 'probe "net" { of = "water", min = {0, 0, 0}, max = {0.6, 0.4, 0.2}, '
                       'counts = {20, 20, 4}, radius = 0.03 }\n')
        self.call("run", self.scene, "-o", "whole", "--progress", "none")
        limit = os.path.getsize(self.path("whole/probes_net.csv")) // 2
        self.assertLess(max(self.sizes("frames") + self.sizes("checkpoints")), limit)
        errors = self.run_limited(limit, self.scene)
        self.assertIn("probes_net.csv", errors)
        self.assertGreater(self.kept(errors), 1)
        self.ends_like_the_whole()
        for name in ("probes_net.csv", "stats.csv"):
            with open(self.path("out", name), "rb") as ours, open(self.path("whole", name), "rb") as theirs:
                self.assertEqual(ours.read(), theirs.read(), name)

    def test_limit_below_every_frame(self):
        """Nothing is there to go on from but the record: a resume begins anew."""
        self.run_whole(2)
        errors = self.run_limited(min(self.sizes("frames")) // 2, self.scene)
        self.assertIn("resume goes on from the start\n", errors)
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
