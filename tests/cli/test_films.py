#!/usr/bin/env python3
"""Pictures while a run goes on: the same bytes as afterwards, whole files whatever happens."""

import os
import shutil
import signal
import subprocess
import sys
import time
import unittest
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, Case, main, read, write  # noqa: E402

QUICK = ["--set", "render.width=160", "--set", "render.height=90", "--set", "render.samples=1"]


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def is_whole(png):
    """A PNG file whose chunks all fit and end with the end mark."""
    if png[:8] != b"\x89PNG\r\n\x1a\n":
        return False
    place, kind = 8, b""
    while place + 12 <= len(png):
        length, kind = int.from_bytes(png[place:place + 4], "big"), png[place + 4:place + 8]
        body = png[place + 4:place + 8 + length]
        if int.from_bytes(png[place + 8 + length:place + 12 + length], "big") != zlib.crc32(body):
            return False
        place += 12 + length
    return kind == b"IEND" and place == len(png)


def children(pid):
    try:
        return [int(word) for word in read("/proc/%d/task/%d/children" % (pid, pid)).split()]
    except FileNotFoundError:
        return []


class Films(Case):
    def pictures(self, folder):
        names = sorted(os.listdir(self.path(folder))) if os.path.exists(self.path(folder)) else []
        return {name: bytes_of(self.path(folder, name)) for name in names if name.endswith(".png")}

    def wait_for(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "nothing came")
            time.sleep(0.02)

    def start_film(self, frames, *words):
        return self.start("run", self.small_scene(frames), "-o", "out", "--render", *QUICK, *words)

    def test_same_bytes(self):
        out, _ = self.call("run", self.small_scene(8), "-o", "out", "--render", *QUICK)
        self.assertIn("pictures are in out/images", out)
        meanwhile = self.pictures("out/images")
        self.assertEqual(len(meanwhile), 9)
        # nobody knew what would move, so the domain is framed
        self.call("render", "out", "-o", "after", "--no-video", "--threads", 2, "--follow")
        self.assertEqual(self.pictures("after"), meanwhile)
        self.call("render", "out", "-o", "domain", "--no-video", "--set", "render.camera_frame=domain")
        self.assertEqual(self.pictures("domain"), meanwhile)
        self.call("run", self.small_scene(8), "-o", "alone", *QUICK)
        self.assertEqual(self.hash("out"), self.hash("alone"))
        if shutil.which("ffmpeg") is None:
            self.skipTest("ffmpeg is not installed: no video was made")
        self.assertEqual(bytes_of(self.path("out/images/video.mp4"))[4:8], b"ftyp")
        self.assertNotIn("video.part.mp4", os.listdir(self.path("out/images")))

    def test_pictures_appear_meanwhile(self):
        run = self.start_film(400)
        self.wait_for(lambda: len(self.pictures("out/images")) >= 2)
        self.assertIsNone(run.poll(), "the run ended before its pictures came")
        run.send_signal(signal.SIGTERM)
        self.assertEqual(run.wait(60), 75)
        made = self.pictures("out/images")
        self.assertTrue(all(map(is_whole, made.values())))
        self.assertFalse([name for name in os.listdir(self.path("out/images")) if ".part" in name])
        # going on makes the missing ones and leaves the others alone
        times = {name: os.stat(self.path("out/images", name)).st_mtime_ns for name in made}
        frames = len(os.listdir(self.path("out/frames"))) + 1
        self.call("resume", "out", "--render", "--frames", ":%d" % frames)
        self.assertEqual(len(self.pictures("out/images")), frames + 1)
        for name, made_at in times.items():
            self.assertEqual(os.stat(self.path("out/images", name)).st_mtime_ns, made_at)

    def test_painter_dies(self):
        run = self.start_film(100)
        self.wait_for(lambda: children(run.pid))
        os.kill(children(run.pid)[0], signal.SIGKILL)
        _, err = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 0, err)
        self.assertIn("kelpie render out --follow --missing", err)
        self.assertEqual(len(os.listdir(self.path("out/frames"))), 101)
        self.call("render", "out", "--follow", "--missing", "--no-video")
        self.assertEqual(len(self.pictures("out/images")), 101)

    def test_all_die(self):
        run = self.start_film(400)
        self.wait_for(lambda: len(self.pictures("out/images")) >= 1)
        painter = children(run.pid)
        self.assertTrue(painter)
        run.kill()
        for pid in painter:
            os.kill(pid, signal.SIGKILL)
        run.wait()
        self.assertTrue(all(map(is_whole, self.pictures("out/images").values())))
        frames = [name for name in os.listdir(self.path("out/frames")) if name.endswith(".kpf")]
        out, _ = self.call("info", "out")
        self.assertRegex(out, r"(?m)^frames +%d, newest %d of 400," % (len(frames), len(frames) - 1))

    def test_follow_a_run_that_ended(self):
        self.call("run", self.small_scene(2), "-o", "out", *QUICK)
        out, _ = self.call("render", "out", "--follow", "--no-video")
        self.assertIn("picture 3 of 3  wall", out)
        self.assertRegex(out, r"ETA \d+ s")
        self.assertEqual(len(self.pictures("out/images")), 3)

    def test_interrupted_render(self):
        self.call("run", self.small_scene(30), "-o", "out", *QUICK)
        render = subprocess.Popen([PROGRAM, "render", "out", "--samples", "64"], cwd=self.folder, text=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(lambda: (render.kill(), render.wait()))
        self.wait_for(lambda: len(self.pictures("out/images")) >= 1)
        os.killpg(render.pid, signal.SIGINT)  # as Ctrl-C does: ffmpeg is told too
        _, err = render.communicate(timeout=60)
        self.assertEqual(render.returncode, 75, err)
        self.assertIn("stopped after picture", err)
        self.assertTrue(all(map(is_whole, self.pictures("out/images").values())))
        self.assertFalse([name for name in os.listdir(self.path("out/images")) if "video" in name])

    @unittest.skipIf(shutil.which("ffprobe") is None, "ffprobe is not installed: no video was read")
    def test_video(self):
        self.call("run", self.small_scene(11), "-o", "out", *QUICK)
        self.call("render", "out", "--video")
        done = subprocess.run(["ffprobe", "-v", "error", "-count_frames", "-show_entries",
                               "stream=nb_read_frames,width,height,r_frame_rate", "-of", "csv=p=0",
                               self.path("out/images/video.mp4")],
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "160,90,60/1,12")

    def test_failed_video_leaves_pictures(self):
        os.mkdir(self.path("bin"))
        write("#!/bin/sh\nexit 1\n", self.path("bin"), "ffmpeg")
        os.chmod(self.path("bin/ffmpeg"), 0o755)
        self.call("run", self.small_scene(2), "-o", "out", *QUICK)
        env = {"PATH": self.path("bin") + ":" + os.environ["PATH"]}
        _, err = self.call("render", "out", "--video", status=5, env=env)
        self.assertIn("ffmpeg", err)
        self.assertNotIn("video.mp4", os.listdir(self.path("out/images")))
        made = self.pictures("out/images")
        self.assertIn("frame_000000.png", made)
        self.assertTrue(all(map(is_whole, made.values())))


if __name__ == "__main__":
    main()
