#!/usr/bin/env python3
"""A run that is killed twenty times at random moments ends with the bits of an undisturbed one."""

import os
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from program import Case, main, read  # noqa: E402

KILLS = 20
FRAMES = 150


class Kill(Case):
    def test_twenty_kills(self):
        scene = self.small_scene(FRAMES)
        start = time.monotonic()
        self.call("run", scene, "-o", "whole", "--progress", "none")
        seconds = time.monotonic() - start
        chance = random.Random(int(os.environ.get("KP_TEST_SEED", "1")))
        kills = 0
        while kills < KILLS:
            begun = os.path.exists(self.path("out/run.json"))
            words = ["resume", "out"] if begun else ["run", scene, "-o", "out"]
            process = self.start(*words, "--progress", "none")
            # mostly in the middle of the work, sometimes while it begins
            time.sleep(chance.uniform(0.0, 0.2 * seconds))
            if process.poll() is not None:
                # done before the blow: begin again, so that twenty blows really fall
                self.assertEqual(process.returncode, 0, process.stderr.read())
                self.call("run", scene, "-o", "out", "--force", "--frames", ":1", "--progress",
                          "none")
                self.call("resume", "out", "--frames", ":2", "--progress", "none")
                continue
            process.kill()
            process.wait()
            kills += 1
        words = ["resume", "out"] if os.path.exists(self.path("out/run.json")) else \
            ["run", scene, "-o", "out"]
        self.call(*words, "--frames", ":%d" % FRAMES, "--progress", "none")
        self.assertEqual(self.hash("out"), self.hash("whole"))
        for frame in range(FRAMES + 1):
            self.assertEqual(self.hash("out", frame), self.hash("whole", frame), frame)
        self.assertEqual(read(self.folder, "out/stats.csv"), read(self.folder, "whole/stats.csv"))


if __name__ == "__main__":
    main()
