#!/usr/bin/env python3
"""A disk that is full, or a file that may not grow: one sentence with its name, exit status 5 (75 of a
run, which can be resumed), nothing half written, and the run goes on where it was once there is room again. The full disk is
/dev/full, the other the shell's limit on the size of a file."""

import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import Case, main, read  # noqa: E402
import program  # noqa: E402

IO, STOPPED = 5, 75
FRAMES = 4


def files_below(folder):
    return sorted(os.path.join(place, name)
                  for place, _, names in os.walk(folder) for name in names)


def contents(folder):
    bytes_of = {}
    for name in files_below(folder):
        with open(name, "rb") as file:
            bytes_of[name] = file.read()
    return bytes_of


class FullDisk(Case):
    def limited(self, blocks, *words, simulates=False):
        """Runs the program with files of at most so many blocks of 512 bytes; its only sentence. A run
        ends as one that is stopped, and says how to go on."""
        whole, program.PROGRAM = program.PROGRAM, "/bin/sh"
        words = ("-c", 'ulimit -f %d && exec "$0" "$@"' % blocks, whole, *words)
        try:
            if not simulates:
                return self.refuse(IO, "File too large", *words)
            _, said = self.call(*words, status=STOPPED)
            self.assertRegex(said, r"\Akelpie: cannot write .*: File too large; stopped at .*\n"
                                   r"kelpie: go on with: kelpie resume out\n\Z")
            return said
        finally:
            program.PROGRAM = whole

    def no_leftovers(self, folder):
        self.assertEqual([name for name in files_below(folder) if name.endswith(".tmp")], [])

    def test_run(self):
        scene = self.small_scene(FRAMES)
        self.call("run", scene, "-o", "whole", "--progress", "none")
        # the frames do not fit, the record does: the run is there, with no frame
        said = self.limited(16, "run", scene, "-o", "out", "--progress", "none", simulates=True)
        self.assertRegex(said, r"out/frames/frame_000000\.kpf")
        self.assertIn("from the start", said)
        self.no_leftovers(self.path("out"))
        self.call("resume", "out", "--progress", "none")
        self.assertEqual(self.hash("out"), self.hash("whole"))
        self.assertEqual(read(self.folder, "out/stats.csv"), read(self.folder, "whole/stats.csv"))

    def test_going_on(self):
        scene = self.small_scene(FRAMES)
        self.call("run", scene, "-o", "whole", "--progress", "none")
        self.call("run", scene, "-o", "out", "--frames", ":1", "--progress", "none")
        before = contents(self.path("out/frames"))
        self.assertEqual(len(before), 2)
        said = self.limited(16, "resume", "out", "--frames", ":%d" % FRAMES,
                            "--progress", "none", simulates=True)
        self.assertRegex(said, r"out/frames/frame_000002\.kpf")
        self.assertIn("from the checkpoint of frame 1\n", said)
        self.no_leftovers(self.path("out"))
        self.assertEqual(contents(self.path("out/frames")), before)
        self.call("resume", "out", "--progress", "none")
        self.assertEqual(self.hash("out"), self.hash("whole"))

    def test_what_is_made_of_a_run(self):
        self.call("run", self.small_scene(1), "-o", "out", "--progress", "none")
        for words, file in ((("export", "out", "--to", "ply"), r"export/ply/\w+_000000\.ply"),
                            (("export", "out", "--to", "usda"), r"export/usda/[\w.]+"),
                            (("render", "out", "--preview", "--no-video"), r"images/\w+\.png"),
                            (("plot", "out", "-o", "out/stats.png"), r"out/stats\.png")):
            self.assertRegex(self.limited(8, *words), file)
            self.no_leftovers(self.path("out"))
            self.call(*words)

    def test_standard_output(self):
        self.call("run", self.small_scene(1), "-o", "out", "--progress", "none")
        for words in (["params"], ["info", "out"], ["--help"], ["--version"], ["scenes"],
                      ["run", "--help"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([program.PROGRAM, *words], stdout=full, text=True,
                                      stderr=subprocess.PIPE, cwd=self.folder, check=False)
            self.assertEqual(done.returncode, IO, words)
            self.assertRegex(done.stderr, r"\Akelpie: cannot write to the standard output: .+\n\Z")


if __name__ == "__main__":
    if not os.path.exists("/dev/full") or shutil.which("sh") is None:
        sys.exit(77 if program.tell_skips([("all", "this system has no /dev/full or no shell")]) else 1)
    main()
