#!/usr/bin/env python3
"""Exit codes, messages and files of every command on good and on bad input."""

import json
import math
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, SCENES, SOURCE, Case, has_backend, main, read, rows, write  # noqa: E402

COMMANDS = ["run", "resume", "check", "render", "export", "info", "measure", "params", "plot", "scenes", "study"]


def box(low, high, first):
    """The corners and triangles of a box as lines of an OBJ file."""
    corners = [[(low, high)[c >> axis & 1][axis] for axis in range(3)] for c in range(8)]
    faces = "0264 1573 0451 2376 0132 4675"
    lines = ["v %g %g %g" % tuple(corner) for corner in corners]
    for face in faces.split():
        a, b, c, d = (first + int(letter) for letter in face)
        lines += ["f %d %d %d" % (a, c, b), "f %d %d %d" % (a, d, c)]
    return "\n".join(lines) + "\n"


# Two knobs on a shaft that is thinner than a coarse lattice; the boxes go into each other.
BONE = (box((-0.5, 0.3, -0.2), (-0.2, 0.7, 0.2), 1) + box((0.2, 0.3, -0.2), (0.5, 0.7, 0.2), 9) +
        box((-0.3, 0.44, -0.03), (0.3, 0.5, 0.03), 17))


class Help(Case):
    def test_help_of_the_program(self):
        out, _ = self.call("--help")
        listed = re.findall(r"(?m)^  (\w+)  +\w", out.split("Commands:\n")[1].split("\n\n")[0])
        self.assertEqual(sorted(listed), sorted(COMMANDS + ["bench"]))

    def test_help_of_every_command(self):
        for name in COMMANDS:
            out, _ = self.call(name, "--help")
            self.assertIn("Usage: kelpie " + name, out)
            self.assertIn("Examples:\n  kelpie " + name, out)

    def test_man(self):
        """The page for man(1): every command with every option, and roff has nothing to say."""
        page, _ = self.call("--man")
        n_options = 0
        for name in COMMANDS + ["bench"]:
            self.assertIn('.SH "KELPIE %s"\n' % name.upper(), page)
            for option in re.findall(r"^  (?:-\w, |    )--([\w-]+)", self.call(name, "--help")[0], re.M):
                self.assertIn("\\-\\-" + option.replace("-", "\\-"), page)
                n_options += 1
        self.assertGreater(n_options, 40)
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed: the page was not set")
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_version(self):
        out, _ = self.call("--version")
        self.assertRegex(out, r"\Akelpie \d+\.\d+\.\d+\n\Z")

    def test_no_command(self):
        _, err = self.call(status=2)
        self.assertIn("Usage: kelpie", err)

    def test_wrong_command(self):
        self.refuse(2, "there is no command 'runn'; did you mean 'run'\\?", "runn")
        self.refuse(2, "there is no command 'xyzzyplugh'", "xyzzyplugh")

    def test_wrong_options(self):
        self.refuse(2, "no option --frame; did you mean --frames\\?", "run", "a.lua", "--frame",
                    "3")
        self.refuse(2, "no option -x", "check", "a.lua", "-x")
        self.refuse(2, "--set needs a value", "check", "a.lua", "--set")
        self.refuse(2, "--force takes no value", "run", "a.lua", "--force=yes")
        self.refuse(2, "an argument is missing; usage: kelpie run", "run")
        self.refuse(2, "'b.lua' is one argument too many", "check", "a.lua", "b.lua")
        self.refuse(2, "--threads must be a whole number", "run", "a.lua", "--threads", "many")
        self.refuse(2, "--progress has no 'plan'; did you mean 'plain'\\?", "run", "a.lua",
                    "--progress", "plan")
        self.refuse(2, "ends before it begins", "run", "a.lua", "--frames", "9:3")


class Run(Case):
    def test_run_folder(self):
        self.call("run", self.small_scene(3), "-o", "out")
        for name in ["scene.lua", "used.lua", "run.json", "stats.csv", "perf.csv",
                     "inputs/size.lua", "frames/frame_000000.kpf", "frames/frame_000003.kpf"]:
            self.assertTrue(os.path.isfile(self.path("out", name)), name)
        self.assertFalse(os.path.exists(self.path("out/frames/frame_000004.kpf")))
        kept = os.listdir(self.path("out/checkpoints"))
        self.assertLessEqual(len(kept), 2)
        self.assertIn("checkpoint_000003.kpf", kept)
        self.assertEqual(read(self.folder, "out/scene.lua"), read(self.folder, "small.lua"))
        self.assertFalse([name for _, _, names in os.walk(self.path("out")) for name in names
                          if name.endswith(".tmp")])

    def test_run_json(self):
        self.call("run", self.small_scene(1), "-o", "out", "--set", "water.viscosity=0.1",
                  "--threads", 2)
        record = json.loads(read(self.folder, "out/run.json"))
        self.assertEqual(record["sets"], ["water.viscosity=0.1"])
        self.assertEqual(record["backend"], "cpu")
        self.assertEqual(record["threads"], 2)
        self.assertEqual([i["name"] for i in record["inputs"]], ["small.lua", "size.lua"])
        self.assertRegex(record["scene_hash"], "^[0-9a-f]{16}$")
        self.assertTrue(record["machine"]["instruction_set"])

    def test_watch(self):
        """A watched run shows every frame in half blocks and computes the same bits."""
        self.call("run", self.small_scene(2), "-o", "plain", "--progress", "none")
        for backend in ("cpu", "mirror"):
            seen, _ = self.call("run", self.small_scene(2), "-o", backend, "--watch", "--progress",
                                "none", "--backend", backend)
            lines = [line for line in seen.splitlines() if "\u2580" in line]
            self.assertEqual(len(lines), 3 * 22)
            self.assertEqual({line.count("\u2580") for line in lines}, {80})
            colors = set(re.findall(r"\x1b\[38;2;(\d+;\d+;\d+)m", seen))
            self.assertIn("20;30;42", colors)
            self.assertGreater(len(colors), 10)
            frames = []
            for run in ("plain", backend):
                with open(self.path(run, "frames/frame_000002.kpf"), "rb") as file:
                    frames.append(file.read())
            self.assertEqual(frames[0], frames[1])

    def test_stats_and_perf(self):
        self.call("run", self.small_scene(4), "-o", "out")
        stats = rows(self.folder, "out/stats.csv")
        self.assertEqual([row["frame"] for row in stats], ["0", "1", "2", "3", "4"])
        self.assertAlmostEqual(float(stats[4]["time"]), 4 / 60, places=12)
        for name in ["substeps", "retries", "emitted", "removed", "water.count", "water.mass",
                     "water.momentum_x", "water.kinetic_energy", "water.potential_energy",
                     "water.min_x", "water.max_z", "water.max_speed", "water.max_density_error",
                     "ball.mass"]:
            self.assertIn(name, stats[0])
        self.assertGreater(int(stats[4]["substeps"]), 0)
        self.assertGreater(float(stats[0]["water.mass"]), 0.0)
        self.assertAlmostEqual(float(stats[0]["ball.mass"]), 400 * 4 / 3 * math.pi * 0.05 ** 3, 6)
        perf = rows(self.folder, "out/perf.csv")
        self.assertEqual(len(perf), 5)
        for name in ["wall_s", "simulate_s", "mps", "forces_s", "bytes_in", "launches",
                     "memory_fields", "field_growths"]:
            self.assertIn(name, perf[0])

    def test_default_folder(self):
        out, _ = self.call("run", self.small_scene(1))
        self.assertIn("out/small", out)
        self.assertTrue(os.path.exists(self.path("out/small/run.json")))

    def test_existing_run_is_kept(self):
        scene = self.small_scene(1)
        self.call("run", scene, "-o", "out")
        before = self.hash("out")
        self.refuse(5, "already holds a run: .*kelpie resume out.*--force", "run", scene, "-o",
                    "out", "--set", "water.spacing=0.03")
        self.assertEqual(self.hash("out"), before)
        self.call("run", scene, "-o", "out", "--force", "--set", "water.spacing=0.03")
        self.assertNotEqual(self.hash("out"), before)

    def test_files_of_others_are_kept(self):
        os.mkdir(self.path("mine"))
        write("important", self.folder, "mine/notes.txt")
        self.refuse(5, "holds files that are not of a run", "run", self.small_scene(1), "-o",
                    "mine")
        self.call("run", "small.lua", "-o", "mine", "--force")
        self.assertEqual(read(self.folder, "mine/notes.txt"), "important")

    def test_scene_folder_is_no_run_folder(self):
        scene = self.small_scene(1)
        os.rename(scene, self.path("scene.lua"))
        self.refuse(2, "is the scene's own folder", "run", "scene.lua", "-o", ".", "--force")
        self.assertTrue(os.path.exists(self.path("scene.lua")))

    def test_refused_scene_leaves_no_folder(self):
        write("liquid \"w\" { viscosty = 1, shape = box {} }\n", self.folder, "bad.lua")
        self.refuse(3, "bad.lua:1: .*viscosty.*viscosity", "run", "bad.lua", "-o", "out")
        self.assertFalse(os.path.exists(self.path("out")))

    def test_missing_scene(self):
        self.refuse(5, "cannot open nowhere.lua: No such file", "run", "nowhere.lua")

    def test_sets(self):
        scene = self.small_scene(1)
        self.call("run", scene, "-o", "a", "--set", "water.viscosity=0.5", "--frames", ":0")
        self.assertRegex(read(self.folder, "a/used.lua"), r"viscosity = 0\.5")
        self.refuse(2, "--set .*viscosty.*viscosity", "check", scene, "--set",
                    "water.viscosty=0.5")
        self.refuse(2, "--set .*watr.*water", "check", scene, "--set", "watr.viscosity=0.5")
        self.refuse(2, "--set nonsense: it must look like name.key=value", "check", scene, "--set", "nonsense")

    def test_frames(self):
        scene = self.small_scene(6)
        self.call("run", scene, "-o", "out", "--frames", "2:4")
        self.assertEqual(sorted(os.listdir(self.path("out/frames"))),
                         ["frame_00000%d.kpf" % i for i in (2, 3, 4)])
        self.assertEqual(len(rows(self.folder, "out/stats.csv")), 5)
        self.refuse(2, "the scene ends with frame 6.*output.frames=9", "run", scene, "-o", "b",
                    "--frames", ":9")

    def test_backends(self):
        scene = self.small_scene(1)
        self.refuse(2, "mirro.*mirror", "run", scene, "-o", "b", "--backend", "mirro")
        if not has_backend("cuda"):
            self.refuse(6, "(?i)cuda", "run", scene, "-o", "c", "--backend", "cuda")
            self.assertFalse(os.path.exists(self.path("c")))
        self.call("run", scene, "-o", "r")
        small = ("render", "r", "--size", "64x36", "--samples", "2", "--no-video")
        self.call(*small, "-o", "a", "--set", "render.method=rays")
        self.call(*small, "-o", "b", "--backend", "mirror")
        same = [open(self.path(d + "/frame_000001.png"), "rb").read() for d in ("a", "b")]
        self.assertEqual(same[0], same[1])
        self.refuse(2, "mirro.*mirror", *small, "--backend", "mirro")

    def test_progress(self):
        scene = self.small_scene(2)
        out, _ = self.call("run", scene, "-o", "a", "--progress", "plain")
        self.assertEqual(len([x for x in out.splitlines() if x.startswith("frame ")]), 3)
        self.assertRegex(out, r"frame 1/2  time 0\.0167 s  substeps \d+  particles \d+ .*ETA")
        out, _ = self.call("run", scene, "-o", "b", "--progress", "json")
        objects = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([o["frame"] for o in objects], [0, 1, 2])
        out, err = self.call("run", scene, "-o", "c", "--progress", "none")
        self.assertEqual(out + err, "")
        out, _ = self.call("run", scene, "-o", "d", "--progress", "bar")
        self.assertIn("[========================] 2/2", out)


class FullDisk(Case):
    @unittest.skipIf("TSAN_OPTIONS" in os.environ,
                     "the thread sanitizer's runtime itself needs files larger than the limit set here")
    def test_full_disk(self):
        """A frame that cannot be written ends the run and leaves nothing half-written."""
        scene = self.small_scene(6, 0.02)
        self.call("run", scene, "-o", "whole")
        done = subprocess.run([PROGRAM, "run", scene, "-o", "out"], cwd=self.folder, text=True,
                              capture_output=True, check=False, restore_signals=False,
                              preexec_fn=lambda: limit_files(30000))
        self.assertEqual(done.returncode, 75, done.stdout + done.stderr)
        self.assertRegex(done.stderr, "kelpie: .*File too large")
        self.assertFalse([name for _, _, names in os.walk(self.path("out")) for name in names
                          if name.endswith(".tmp")])
        self.call("resume", "out")
        self.assertEqual(self.hash("out"), self.hash("whole"))


def limit_files(n_bytes):
    # writing beyond the limit fails with EFBIG, as a full disk would with ENOSPC
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


class Stop(Case):
    FRAMES = 40

    def undisturbed(self):
        self.call("run", self.small_scene(self.FRAMES), "-o", "whole", "--progress", "none")
        return self.hash("whole")

    def begin(self, *words):
        process = self.start("run", "small.lua", "-o", "out", "--progress", "plain", *words)
        self.assertIn("frame 0/", process.stdout.readline())
        return process

    def finish(self, process):
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 75, out + err)
        self.assertRegex(err, r"stopped after frame \d+ of 40\n")
        self.assertIn("kelpie resume out", err)

    def go_on(self, wanted):
        stopped = len(rows(self.folder, "out/stats.csv"))
        self.assertLess(stopped, self.FRAMES + 1)
        self.call("resume", "out", "--progress", "none")
        self.assertEqual(self.hash("out"), wanted)
        stats = read(self.folder, "out/stats.csv")
        self.assertEqual(stats, read(self.folder, "whole/stats.csv"))
        self.assertEqual(len(rows(self.folder, "out/perf.csv")), self.FRAMES + 1)

    def test_interrupt(self):
        wanted = self.undisturbed()
        for signal_number in (signal.SIGINT, signal.SIGTERM):
            process = self.begin("--force")
            process.send_signal(signal_number)
            self.finish(process)
            self.go_on(wanted)

    def test_second_interrupt_ends_at_once(self):
        self.small_scene(10)
        process = self.start("run", "small.lua", "-o", "out", "--progress", "plain", "--set",
                             "water.spacing=0.004")
        self.assertIn("frame 0/", process.stdout.readline())
        time.sleep(0.2)  # into the next frame, which takes a minute: no stop between frames ends it
        process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.wait(timeout=5)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_stop_file(self):
        wanted = self.undisturbed()
        process = self.begin()
        write("", self.folder, "out/stop")
        self.finish(process)
        self.assertFalse(os.path.exists(self.path("out/stop")))
        self.go_on(wanted)

    def test_one_at_a_time(self):
        self.small_scene(400)
        process = self.begin()
        self.refuse(5, "another kelpie is running in out", "resume", "out")
        process.kill()


class Resume(Case):
    def stopped_run(self):
        self.call("run", self.small_scene(8), "-o", "whole")
        self.call("run", "small.lua", "-o", "out", "--frames", ":4")
        return self.hash("whole")

    def test_nothing_there(self):
        self.refuse(5, "there is no such folder", "resume", "nowhere")
        os.mkdir(self.path("empty"))
        self.refuse(5, "is no run folder", "resume", "empty")

    def test_complete(self):
        self.call("run", self.small_scene(2), "-o", "out")
        out, _ = self.call("resume", "out")
        self.assertIn("is complete", out)
        self.refuse(2, "the scene ends with frame 2", "resume", "out", "--frames", ":5")

    def test_only_kept_inputs_count(self):
        wanted = self.stopped_run()
        write("error('gone')", self.folder, "small.lua")
        os.remove(self.path("size.lua"))
        self.call("resume", "out", "--frames", ":8")
        self.assertEqual(self.hash("out"), wanted)

    def test_changed_input_is_refused(self):
        self.stopped_run()
        write(read(self.folder, "out/inputs/size.lua") + "\n", self.folder, "out/inputs/size.lua")
        self.refuse(5, "size.lua was changed since the run began", "resume", "out", "--frames",
                    ":8")

    def damage(self, name):
        path = self.path(name)
        size = os.path.getsize(path)
        with open(path, "r+b") as file:
            file.seek(size // 2)
            byte = file.read(1)[0]
            file.seek(size // 2)
            file.write(struct.pack("B", byte ^ 0x55))

    def test_damaged_checkpoints(self):
        wanted = self.stopped_run()
        kept = sorted(os.listdir(self.path("out/checkpoints")))
        self.assertEqual(len(kept), 2)
        shutil.copytree(self.path("out"), self.path("stopped"))
        for n_damaged in range(1, len(kept) + 1):
            shutil.rmtree(self.path("out"))
            shutil.copytree(self.path("stopped"), self.path("out"))
            for name in kept[-n_damaged:]:
                self.damage("out/checkpoints/" + name)
            _, err = self.call("resume", "out", "--frames", ":8")
            self.assertEqual(len(re.findall(r"warning: .*checkpoint_\d+\.kpf: the file is damaged", err)),
                             n_damaged, err)
            self.assertEqual(self.hash("out"), wanted)
            self.assertEqual(read(self.folder, "out/stats.csv"),
                             read(self.folder, "whole/stats.csv"))

    def test_damaged_frame_is_written_again(self):
        wanted = self.stopped_run()
        for name in os.listdir(self.path("out/checkpoints")):
            os.remove(self.path("out/checkpoints", name))
        with open(self.path("out/frames/frame_000003.kpf"), "r+b") as file:
            file.truncate(100)
        _, err = self.call("resume", "out", "--frames", ":8")
        self.assertIn("frame_000003.kpf", err)
        self.assertEqual(self.hash("out"), wanted)
        self.assertEqual(self.hash("out", 3), self.hash("whole", 3))

    def test_frame_of_another_run_is_refused(self):
        self.stopped_run()
        for name in os.listdir(self.path("out/checkpoints")):
            os.remove(self.path("out/checkpoints", name))
        os.replace(self.path("whole/frames/frame_000007.kpf"),
                   self.path("out/frames/frame_000002.kpf"))
        self.refuse(5, "frame_000002.kpf holds something else", "resume", "out")

    def test_broken_record(self):
        self.stopped_run()
        text = read(self.folder, "out/run.json")
        for broken in (text[:len(text) // 2], "", "[" * 100, text + "}"):
            write(broken, self.folder, "out/run.json")
            self.refuse(5, "run.json", "resume", "out")


class Check(Case):
    def test_good_scene(self):
        out, _ = self.call("check", self.small_scene())
        self.assertIn("is fine", out)
        for word in ("particles", "memory", "time", "frames"):
            self.assertRegex(out, "(?m)^" + word)
        self.assertEqual(sorted(os.listdir(self.folder)), ["size.lua", "small.lua"])

    def test_pilot(self):
        """Time is measured in the world itself, if anybody asks, and leaves no file behind."""
        with tempfile.TemporaryDirectory() as temporary:
            os.environ["TMPDIR"] = temporary
            out, _ = self.call("check", self.small_scene())
            del os.environ["TMPDIR"]
            self.assertEqual(os.listdir(temporary), [])
        self.assertRegex(out, r"(?m)^time        about, on one core of this machine: [-+.e\d]+ (s|min|h)$")
        out, _ = self.call("check", self.small_scene(), "--pilot", "0")
        self.assertNotRegex(out, "(?m)^time")
        for words in ("x", "-1", "1e9", ""):
            self.refuse(2, "--pilot", "check", self.small_scene(), "--pilot", words)
        write("domain { dimension = 2 } simulation { policy = 'stop', dt_min = 0.005 }\n"
              "liquid 'w' { spacing = 0.1, shape = box { min = {0, 0, -1}, max = {1, 0.5, 1} } }\n"
              "output { frames = 1 }\n", self.folder, "short.lua")
        self.assertRegex(self.call("check", "short.lua")[0], "(?m)^time        unknown: a sub-step fails at 0")

    def test_pilot_of_many_bodies(self):
        """Of 16,000 balls the meshes of some are written for the time of a frame, not all of 5 GB and 650 MB."""
        write("domain { min = {-40, 0, -40}, max = {40, 40, 40} } output { frames = 2 }\n"
              "for i = 0, 39 do for j = 0, 39 do for k = 0, 9 do\n"
              "  body (('b%d'):format(i + 40 * j + 1600 * k)) { density = 500, shape = sphere { radius = 0.2 },\n"
              "    position = {1.5 * i - 30, 0.3 + 0.6 * k, 1.5 * j - 30} }\n"
              "end end end\n", self.folder, "many.lua")
        process = subprocess.Popen([PROGRAM, "check", "many.lua"], cwd=self.folder, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with process.stdout:
            out = process.stdout.read()
        _, process.returncode, used = os.wait4(process.pid, 0)
        self.assertEqual(process.returncode, 0, out)
        self.assertRegex(out, r"(?m)^time        about, on one core of this machine: [-+.e\d]+ (s|min|h)$")
        self.assertLess(used.ru_maxrss, 1 << 20, "KiB of memory")

    def test_names_what_is_there(self):
        out, _ = self.call("check", self.small_scene())
        for line in ("liquid +1: water", "collider +1: paddle", "body +1: ball", "emitter +1: tap"):
            self.assertRegex(out, "(?m)^%s$" % line)
        self.assertNotIn("cloth", out)

    def warnings(self, entities):
        write("domain { min = {-1, 0, -1}, max = {1, 1, 1} }\n"
              "output { frames = 1 }\n" + entities, self.folder, "doubts.lua")
        return self.call("check", "doubts.lua")[1]

    def test_doubts(self):
        sheet = 'cloth "sheet" { columns = 8, rows = 8, position = {%g, 0.5, 0}%s }\n'
        ball = 'collider "ball" { shape = sphere { center = {0, %g, 0}, radius = 0.2 } }\n'
        wind = 'wind "breeze" { velocity = {1, 0, 0} }\n'
        self.assertEqual(self.warnings(sheet % (0, "") + ball % 0.2), "")
        self.assertRegex(self.warnings(sheet % (0, "") + ball % 0.5),
                         r'9 of 81 nodes of "sheet" start inside "ball"')
        self.assertRegex(self.warnings(sheet % (0.55, "")), r'9 of 81 nodes of "sheet" start beyond')
        self.assertRegex(self.warnings(sheet % (0, "") + wind), 'wind "breeze" moves nothing')
        self.assertEqual(self.warnings(sheet % (0, ", drag = 1") + wind), "")

    def test_media_that_do_not_push_bodies(self):
        ball = 'body "ball" { density = 500, shape = sphere { radius = 0.2 }, position = {0, 0.6, 0} }\n'
        brick = ball.replace("ball", "brick").replace("{0, 0.6, 0}", "{0.5, 0.6, 0}")
        grid = "grid { cell = 0.125 }\n"
        pool = 'liquid "pool" { method = "%s", shape = box { min = {-1, 0, -1}, max = {1, 0.4, 1} } }\n'
        for method in ("level_set", "marker"):
            said = self.warnings(grid + pool % method + ball)
            self.assertRegex(said, 'body "ball": liquid "pool" flows around .* as in a vacuum')
            self.assertNotIn("vacuum", self.warnings(grid + pool % method))
        flip = (pool % "flip").replace("shape", "spacing = 0.0625, shape")
        self.assertNotIn("vacuum", self.warnings(grid + flip + ball))
        self.assertRegex(self.warnings(grid + 'smoke "cloud" { shape = box { min = {-1, 0, -1}, max = {0, 1, 0} } }\n' + ball + brick),
                         r'body "ball" \(and 1 more\): smoke "cloud" .* as in a vacuum')
        scene = os.path.join(self.folder, "doubts.lua")
        self.assertIn("as in a vacuum", self.call("run", scene, "-o", os.path.join(self.folder, "o"))[1])

    def test_wind_that_nothing_feels(self):
        wind = 'wind "breeze" { velocity = {1, 0, 0} }\n'
        gust = wind.replace("breeze", "gust")
        cloud = ('grid { cell = 0.125 }\n'
                 'smoke "cloud" { shape = box { min = {-1, 0, -1}, max = {0, 1, 0} } }\n')
        flame = 'fire "torch" { particles = 100 }\n'
        pool = 'liquid "pool" { shape = box { min = {-1, 0, -1}, max = {1, 0.4, 1} }, spacing = 0.1 }\n'
        flag = 'cloth "flag" { columns = 8, rows = 8, position = {0, 0.5, 0}, drag = 1 }\n'
        unfelt = r'wind "breeze"%s acts on cloth, hair and soft bodies; %s does not feel it: .*force { shape }'
        self.assertRegex(self.warnings(cloud + wind), unfelt % ("", 'smoke "cloud"'))
        self.assertRegex(self.warnings(cloud + wind), r"grid { stream } .* open sides")
        self.assertRegex(self.warnings(cloud + wind + gust), unfelt % (r" \(and 1 more\)", 'smoke "cloud"'))
        self.assertRegex(self.warnings(flame + wind), unfelt % ("", 'fire "torch"'))
        self.assertRegex(self.warnings(flag + cloud + wind), unfelt % ("", 'smoke "cloud"'))
        self.assertRegex(self.warnings(pool + wind), 'wind "breeze" moves nothing: .* there are none')
        self.assertNotIn("breeze", self.warnings(flag + pool + wind))
        self.assertEqual(self.warnings(cloud), "")

    def test_what_moves_a_gas_in_place_of_wind(self):
        cloud = ('smoke "cloud" { shape = box { min = {-1, 0, -1}, max = {0, 1, 0} } }\n'
                 'simulation { gravity = {0, 0, 0} }\n')
        fan = 'force "fan" { shape = box { max = {0, 0, 0}, min = {-1, -1, -1} }, acceleration = {1, 0, 0} }\n'
        domain = ('domain { min = {-1, -1, -1}, max = {1, 1, 1}, boundary_x = "open" }\n'
                  'output { frames = 3 }\n')
        speed = {}
        for name, grid, push in (("calm", "", 'wind "w" { velocity = {1, 0, 0} }\n'), ("fan", "", fan),
                                 ("stream", ", stream = {1, 0, 0}", "")):
            write(domain + "grid { cell = 0.125%s }\n" % grid + cloud + push, self.folder, "air.lua")
            self.call("run", "air.lua", "-o", name)
            speed[name] = float(rows(self.folder, name, "stats.csv")[-1]["cloud.max_speed"])
        self.assertLess(speed["calm"], 1e-3)
        self.assertGreater(speed["fan"], 0.01)
        self.assertGreater(speed["stream"], 0.9)

    def test_pieces(self):
        soft = 'soft "bone" { shape = mesh { file = "bone.obj" }, spacing = %g }\n'
        write(BONE, self.folder, "bone.obj")
        self.assertRegex(self.warnings(soft % 0.1), 'soft "bone" is 2 pieces.*spacing than 0.1 m')
        self.assertEqual(self.warnings(soft % 0.03), "")

    def test_set_changes_counts(self):
        scene = self.small_scene()
        coarse, _ = self.call("check", scene, "--set", "water.spacing=0.05")
        fine, _ = self.call("check", scene)
        for out, n in ((coarse, 64), (fine, 150)):
            self.assertRegex(out, r"(?m)^particles +%d," % n)


class Study(Case):
    def test_table(self):
        self.call("study", "sorts", "--max", "2048", "--runs", "1", "-o", "sorts.csv")
        lines = read(self.folder, "sorts.csv").splitlines()
        self.assertEqual(lines[0], "# kelpie study sorts --max 2048 --runs 1 -o sorts.csv")
        self.assertEqual(lines[1].split(",")[0], "particles")
        self.assertEqual([line.split(",")[0] for line in lines[2:]], ["1024", "1024", "2048", "2048"])
        self.assertTrue(all(float(line.split(",")[-1]) > 0 for line in lines[2:]))

    def test_every_study_is_listed(self):
        out, _ = self.call("study", "--list")
        table = read(SOURCE, "bench/study.c").split("kp_studies[] = {")[1].split("\n};")[0]
        names = re.findall(r'(?m)^  \{ "([\w-]+)",', table)
        self.assertGreater(len(names), 15)
        self.assertEqual(re.findall(r"(?m)^([\w-]+)  +\w", out), names)

    def test_water_models(self):
        out, _ = self.call("study", "water-models", "--max", "16384", "--steps", "3", "--runs", "1")
        self.assertRegex(out, r"(?m)^15625,sph,.*\n15625,springs,")

    def test_drop(self):
        out, _ = self.call("study", "drop", "--max", "6", "--steps", "1")
        rows = [line.split(",") for line in out.splitlines()[2:]]
        self.assertEqual([row[1] for row in rows[::2]], ["first", "clamp", "revert", "near", "unlimited"])
        self.assertTrue(all(row[0] == "6" and float(row[5]) > 0.4 for row in rows))

    def test_refused(self):
        self.refuse(2, "there is no study 'sort'; did you mean 'sorts'\\?", "study", "sort")
        self.refuse(2, "which study\\?", "study")
        self.refuse(2, "max must be a whole number", "study", "sorts", "--max", "many")


class Info(Case):
    def test_run(self):
        self.call("run", self.small_scene(2), "-o", "out")
        out, _ = self.call("info", "out")
        for word in ("small.lua", "newest 2 of 2", "set water:", "position", "mesh ball"):
            self.assertIn(word, out)
        self.assertNotEqual(self.hash("out", 0), self.hash("out", 2))
        self.assertEqual(self.hash("out", 2), self.hash("out"))
        self.refuse(2, "holds frames 0 to 2, none of them", "info", "out", "--hash", "--frame", 9)

    def test_build(self):
        out, _ = self.call("info", "--build")
        for word in ("kelpie", "compiler", "real", "instruction sets", "Lua", "CUDA"):
            self.assertRegex(out, "(?m)^" + word)

    def test_schedule(self):
        out, _ = self.call("info", "--schedule", self.small_scene())
        self.assertIn("sph", out)
        self.assertIn("forces", out)

    def test_nothing(self):
        self.refuse(2, "name a run folder", "info")
        self.refuse(5, "there is no such folder", "info", "nowhere")

    def test_damaged_frame(self):
        self.call("run", self.small_scene(1), "-o", "out")
        write("not a frame", self.folder, "out/frames/frame_000001.kpf")
        self.refuse(5, "frame_000001.kpf", "info", "out", "--hash")
        self.refuse(5, "frame_000001.kpf", "info", "out")
        self.refuse(5, "frame_000001.kpf", "render", "out", "--preview", "--frames", 1)
        self.refuse(5, "frame_000001.kpf", "export", "out", "--to", "ply")


class Pictures(Case):
    def setUp(self):
        super().setUp()
        self.call("run", self.small_scene(2), "-o", "out")

    def picture(self, *words):
        shutil.rmtree(self.path("out/images"), ignore_errors=True)  # no picture of before stands for this one
        self.call("render", "out", "--preview", "--no-video", *words)
        with open(self.path("out/images/frame_000002.png"), "rb") as file:
            return file.read()

    def test_pictures(self):
        first = self.picture("--threads", 1)
        self.assertEqual(first[:4], b"\x89PNG")
        self.assertEqual(struct.unpack(">II", first[16:24]), (480, 270))
        self.assertEqual(self.picture("--threads", 3), first)
        self.assertEqual(len(os.listdir(self.path("out/images"))), 3)

    def test_options_change_the_picture(self):
        first = self.picture()
        for words in (["--camera", "120,40"], ["--color-by", "density"],
                      ["--set", "render.exposure=2"], ["--size", "200x100"]):
            self.assertNotEqual(self.picture(*words), first, words)
        self.call("render", "out", "--preview", "--frames", 1, "-o", "elsewhere")
        self.assertEqual(os.listdir(self.path("elsewhere")), ["frame_000001.png"])

    def test_single_picture_is_that_of_the_film(self):
        """What moves is framed, over the whole run, whichever frames are drawn; the domain where asked."""
        film = self.picture()
        self.assertEqual(self.picture("--frames", 2), film)
        self.assertNotEqual(self.picture("--frames", 2, "--set", "render.camera_frame=domain"), film)
        self.assertNotEqual(self.picture("--frames", 2, "--set", "render.box=true"), film)
        os.remove(self.path("out/frames/frame_000000.kpf"))
        self.assertNotEqual(self.picture("--frames", 2), film)

    def test_functions_of_time(self):
        """Camera, focus and lights move; a picture is that of a scene that stands at the values of its time."""
        lens = "camera_target = {0.3, 0.1, 0.1}, aperture = 0.05, "
        words = ["--size", "160x90", "--samples", 4]
        moving = self.with_lines("render { %scamera_position = function(t) return {1.2 - 3 * t, 0.5, 1} end,"
                                 " focus = function(t) return 0.5 + 15 * t end,"
                                 " sun_strength = function(t) return 3 - 60 * t end }\n" % lens, *words)
        still = "render { %scamera_position = {%g, 0.5, 1}, focus = %g, sun_strength = %g }\n"
        self.assertTrue(self.with_lines(still % (lens, 1.1, 1, 1), *words) == moving)
        for values in ((1.2, 1, 1), (1.1, 0.5, 1), (1.1, 1, 3)):
            self.assertFalse(self.with_lines(still % (lens, *values), *words) == moving, values)
        write(read(self.folder, "small.lua") + "render { exposure = function(t) return 900 * t end }\n",
              self.folder, "wrong.lua")
        self.refuse(3, "exposure", "check", "wrong.lua")

    def test_looks_of_another_scene(self):
        first = self.picture()
        write(read(self.folder, "small.lua") + "render { camera_azimuth_deg = 100 }\n",
              self.folder, "other.lua")
        self.assertNotEqual(self.picture("--scene", "other.lua"), first)

    def with_lines(self, lines, *words):
        write(read(self.folder, "small.lua") + lines, self.folder, "other.lua")
        return self.picture("--scene", "other.lua", *words)

    def test_bodies_have_their_color(self):
        """The default of a body's colour is what it is drawn in, as the reference says."""
        default = self.with_lines("")
        said = re.search(r"(?m)^  color +\{(.*?)\}", self.call("params", "body")[0]).group(1)
        srgb = ", ".join("%.9f" % (1.055 * float(c) ** (1 / 2.4) - 0.055) for c in said.split(","))
        self.assertEqual(self.with_lines('look "ball" { color = {%s} }\n' % srgb), default)
        self.assertNotEqual(self.with_lines('look "ball" { color = {0.72, 0.76, 0.8} }\n'), default)

    def test_look_of_nothing(self):
        write(read(self.folder, "small.lua") + 'look "bal" { gloss = 1 }\nlook "ball" { gloss = 1 }\n',
              self.folder, "other.lua")
        _, told = self.call("render", "out", "--preview", "--no-video", "--scene", "other.lua")
        self.assertEqual(told.count("nothing of this name"), 1, told)
        self.assertIn('look "bal":', told)

    def test_wrong_values(self):
        self.refuse(2, "--size must be like", "render", "out", "--size", "big")
        self.refuse(2, "--camera must be", "render", "out", "--camera", "left")
        self.refuse(2, "no field \"densty\".*\"density\"", "render", "out", "--preview",
                    "--color-by", "densty")
        self.refuse(2, "--range needs", "render", "out", "--range", "0:1")
        for ends in ("5:1", "3:3", "1:", ":1", "a:b"):
            self.refuse(2, "--range must be lowest:highest, the first below", "render", "out", "--color-by",
                        "density", "--range", ends)

    def test_color_of_what_is_not_there(self):
        """Where nothing is drawn by the field it is said, also of surfaces and of scenes without liquids."""
        water = """domain { max = {0.4, 0.4, 0.4} }
            liquid "pool" { method = "level_set", shape = box { max = {0.4, 0.2, 0.4} } }
            grid { cell = 0.05 }
            output { frames = 1, fps = 100 }"""
        cloth = """domain { min = {-1, -1, -1}, max = {1, 1, 1} }
            cloth "flag" { columns = 4, rows = 4 }
            output { frames = 1, fps = 100 }"""
        for name, text, told in (("pool", water, "--color-by: liquids have no field \"nope\""),
                                 ("flag", cloth, "--color-by colours liquids, of which the scene has none")):
            write(text, self.folder, name + ".lua")
            self.call("run", name + ".lua", "-o", name, "--progress", "none")
            self.refuse(2, told, "render", name, "--preview", "--no-video", "--color-by", "nope")

    def test_empty_values(self):
        """A value that is nothing is not passed over; the option is named."""
        for words in (["render", "out", "-o", ""], ["export", "out", "--to", "ply", "-o", ""],
                      ["render", "out", "--color-by="], ["run", "small.lua", "--output", ""],
                      ["run", "small.lua", "-o", "other", "--set", ""]):
            option = "--set" if "--set" in words else "--color-by" if "--color-by=" in words else "--output"
            self.refuse(2, option + " is empty; it needs a value", *words)
        self.refuse(2, "none of them in --frames", "render", "out", "--frames", "7:9")

    def test_video_without_ffmpeg(self):
        os.mkdir(self.path("nothing"))
        env = {"PATH": self.path("nothing")}
        self.call("render", "out", "--preview", env=env)
        self.refuse(6, "ffmpeg", "render", "out", "--preview", "--video", env=env)


class FirstScene(Case):
    """The first scene of the manual, coarser: its water is a surface, unless the scene says no."""

    def setUp(self):
        super().setUp()
        text = re.search(r"```lua\n(.*?)```", read(SOURCE, "docs/manual.md"), re.S).group(1)
        write(text, self.folder, "first.lua")

    def run_first(self, *sets):
        words = [word for one in ("water.spacing=0.04", "output.frames=1", *sets) for word in ("--set", one)]
        self.call("run", "first.lua", "-o", "out", "--force", "--progress", "none", *words)
        return self.call("info", "out")[0]

    def test_surface(self):
        self.assertIn("surface of water", self.run_first())
        size = os.path.getsize(self.path("out/frames/frame_000001.kpf"))
        self.assertNotIn("surface of", self.run_first("output.surface=false"))
        # a mesh is not much beside the particles
        self.assertLess(size, 4 * os.path.getsize(self.path("out/frames/frame_000001.kpf")))
        write(read(self.folder, "first.lua").replace("fps = 60", "fps = 60, surface = false"),
              self.folder, "first.lua")
        self.assertNotIn("surface of", self.run_first())


class Export(Case):
    def setUp(self):
        super().setUp()
        self.call("run", self.small_scene(2), "-o", "out")

    def test_nothing_to_write(self):
        """A format with nothing to write leaves no folder, and says so."""
        _, err = self.call("export", "out", "--to", "vdb")
        self.assertIn("vdb: no file", err)
        self.assertFalse(os.path.exists(self.path("out/export")))
        os.mkdir(self.path("mine"))
        self.call("export", "out", "--to", "vdb", "-o", "mine")
        self.assertTrue(os.path.exists(self.path("mine")))
        self.call("export", "out", "--to", "vdb,csv")
        self.assertEqual(os.listdir(self.path("out/export")), ["csv"])

    def test_formats(self):
        self.call("export", "out", "--to", "ply,vtu,csv")
        self.assertIn("water_000002.ply", os.listdir(self.path("out/export/ply")))
        names = os.listdir(self.path("out/export/vtu"))
        self.assertTrue(any(name.endswith(".pvd") for name in names), names)
        head = read(self.folder, "out/export/csv/water_000002.csv").splitlines()[0]
        self.assertEqual(re.sub(r" \[[^]]*\]", "", head), "x,y,z,vx,vy,vz,id,density,pressure")

    def test_plots(self):
        self.call("plot", "out")
        self.assertIn("</svg>", read(self.folder, "out/stats.svg"))
        self.call("plot", "out", "--table", "perf", "-o", "perf.png")
        with open(self.path("perf.png"), "rb") as file:
            self.assertEqual(file.read(8), b"\x89PNG\r\n\x1a\n")
        self.refuse(2, "nothing_like_it", "plot", "out", "--columns", "nothing_like_it")
        self.refuse(2, "did you mean water.count", "plot", "out", "--columns", "water.cuont")
        self.refuse(2, "no row of stats.csv", "plot", "out", "--frames", "7:9")
        self.refuse(2, "did you mean time", "plot", "out", "--x", "tiem")
        self.refuse(2, "plots are .svg or .png", "plot", "out", "-o", "plot.jpg")
        out, _ = self.call("plot", "out", "--list")
        self.assertRegex(out, r"(?m)^  water.count  +\d+ to +\d+, between \d+ and \d+$")
        self.call("plot", "out", "--columns", "water.count+ball.*,water.max_speed", "--log", "--x", "frame",
                  "--frames", "1:", "-o", "two.svg")
        drawn = read(self.folder, "two.svg")
        self.assertEqual(drawn.count(">frame<"), 1)
        self.assertIn(">water.count+ball.*<", drawn)
        self.assertGreaterEqual(drawn.count(">water.max_speed<"), 2)  # a title and a curve

    def test_frames_and_folder(self):
        self.call("export", "out", "--to", "csv", "--frames", "1", "-o", "tables")
        names = os.listdir(self.path("tables"))
        self.assertTrue(names and all("000001" in name for name in names), names)

    def test_names(self):
        """Every name of the help is taken, in any case and with a dot; other names mean one of them."""
        told, _ = self.call("export", "--help")
        formats = re.findall(r"^  (\w+) +\w.*\w.*\.$", told.split("Formats:")[1].split("\n\n")[0], re.M)
        others = dict(re.findall(r"(\w+) = (\w+)", told))
        self.assertEqual(len(formats), 14)
        self.assertEqual(others, {"pvd": "vtu", "vtk": "vtu", "hdf": "vtkhdf", "h5": "vtkhdf", "hdf5": "vtkhdf",
                                  "usd": "usda", "gltf": "glb"})
        for words in (formats, [name.upper() for name in formats], ["." + name for name in formats]):
            out, err = self.call("export", "out", "--to", ",".join(words), "--frames", "0")
            for name in formats:  # a line of what was written, or a warning that there is nothing for it
                self.assertRegex(out + err, r"(?m)\b%s: (\d+ files|no file)" % name)
        for name, meant in others.items():
            out, _ = self.call("export", "out", "--to", name.upper(), "--frames", "0")
            self.assertRegex(out, r"^%s: \d+ files" % meant)
        out, _ = self.call("export", "out", "--to", "vtu, VTK,.pvd", "--frames", "0")
        self.assertEqual(len(out.splitlines()), 1, out)

    def test_nothing_for_a_format(self):
        out, told = self.call("export", "out", "--to", "vdb,ply")
        self.assertRegex(told, "vdb: no file, since these frames hold nothing for it")
        self.assertRegex(out, r"^ply: \d+ files")

    def test_wrong_values(self):
        self.refuse(2, "--to has no 'plly'; did you mean 'ply'\\?", "export", "out", "--to", "plly")
        self.refuse(2, "say which format", "export", "out")
        listed = "it takes ply, obj, glb, pc2, mdd, vdb, usda, bgeo, vtu, vtp, vti, vtkhdf, pov, csv$"
        self.refuse(2, listed, "export", "out", "--to", "ply,docx")
        self.refuse(2, "--to usda -o DIR", "export", "out", "--to", "films/scene.USDA")
        self.refuse(2, "leave .glb out", "export", "out", "--to", "glb", "-o", "here/water.glb")
        self.assertFalse(os.path.exists(self.path("here")))
        self.assertFalse(os.path.exists(self.path("out/export")))
        self.refuse(5, "is no run folder", "export", self.folder, "--to", "ply")


class Params(Case):
    def test_all_and_one(self):
        everything, _ = self.call("params")
        for word in ("domain", "liquid", "viscosity", "camera_azimuth_deg", "color_by"):
            self.assertIn(word, everything)
        one, _ = self.call("params", "liquid")
        self.assertIn("rest_density", one)
        self.assertNotIn("camera_azimuth_deg", one)
        self.refuse(2, "unknown name 'liqiud', did you mean 'liquid'\\?", "params", "liqiud")

    def test_words_in_keys_and_meanings(self):
        found, _ = self.call("params", "Knitwear")
        self.assertRegex(found, r'(?m)^cloth "name" \{ \}$')
        for key in ("layers", "gap", "yarn"):
            self.assertRegex(found, r"(?m)^  %s " % key)
        self.assertNotIn("\n  density ", found)
        self.assertNotIn("liquid", found)

    def test_list(self):
        lines = self.call("params", "--list")[0].splitlines()
        self.assertTrue(any(line.startswith('cloth "name" { }') for line in lines), lines)
        self.assertTrue(all(line.endswith(".") for line in lines), lines)
        self.refuse(2, "--list prints all: leave out 'liquid'", "params", "liquid", "--list")

    def test_markdown(self):
        out, _ = self.call("params", "--markdown")
        self.assertRegex(out, r"(?m)^#+ ")
        self.assertIn("| ", out)


class Scenes(Case):
    def test_list(self):
        out, _ = self.call("scenes", env={"KELPIE_SCENES": SCENES})
        self.assertIn("dam_break.lua\n    Dam break", out)
        self.assertNotIn("/bad/", out)

    def test_installed(self):
        """`make install` brings the scenes, without those that must be refused."""
        script = os.path.join(os.path.dirname(PROGRAM), "cmake_install.cmake")
        if shutil.which("cmake") is None or not os.path.exists(script):
            self.skipTest("the build's folder is not there: nothing was installed")
        lines = [line for line in read(script).splitlines() if '/scenes"' in line]
        self.assertEqual(len(lines), 1)
        write('set(CMAKE_INSTALL_PREFIX "%s")\n%s\n' % (self.folder, lines[0]), self.folder, "install.cmake")
        subprocess.run(["cmake", "-P", self.path("install.cmake")], check=True, capture_output=True)
        self.assertEqual(sorted(os.listdir(self.path("share/kelpie/scenes"))),
                         sorted(name for name in os.listdir(SCENES) if name != "bad"))

    def test_policy_in_the_manual(self):
        """The manual says of trouble what the reference says."""
        manual = read(SOURCE, "docs/manual.md")
        manual = manual[manual.index("**Trouble**"):].split("\n\n")[0]
        told, _ = self.call("params", "simulation")
        default = re.search(r"^  policy +\"(\w+)\" +\[(.*)\]", told, re.M)
        retries = re.search(r"^  retries +(\d+) ", told, re.M)
        self.assertIn('By default, `simulation { policy = "%s" }`' % default.group(1), manual)
        self.assertIn("`retries = %s`" % retries.group(1), manual)
        for word in default.group(2).split(", "):
            self.assertIn('policy = "%s"' % word, manual)

    def test_nowhere(self):
        self.refuse(5, "KELPIE_SCENES", "scenes", env={"KELPIE_SCENES": self.path("none")})

    def test_every_scene_is_described_and_fine(self):
        n_checked = 0
        for folder, _, names in os.walk(SCENES):
            if os.path.relpath(folder, SCENES).split(os.sep)[0] in ("bad", "meshes"):
                continue
            for name in sorted(names):
                text = read(folder, name) if name.endswith(".lua") else ""
                if "output" in text:
                    self.assertTrue(text.startswith("--"), name)
                # those of papers are large: test_papers.py fills them
                if "output" in text and "papers" not in folder:
                    self.call("check", os.path.join(folder, name), "--pilot", "0")
                    n_checked += 1
        self.assertGreater(n_checked, 50)


if __name__ == "__main__":
    main()
