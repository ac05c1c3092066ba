#!/usr/bin/env python3
"""Files that a scene names: inside its folder, regular, bounded, kept with the run; and no reader of
any file waits on a pipe."""

import json
import os
import re
import shutil
import struct
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import Case, main, read, write  # noqa: E402

SECONDS_MOST = 20  # for a refusal on a busy machine; what waits on a pipe waits for ever

NODES = "4 3 0 0\n1 0 0 0\n2 0.3 0 0\n3 0 0.3 0\n4 0 0 0.3\n"
TETS = "1 4 0\n1 1 2 3 4\n"
MEDIT = ("MeshVersionFormatted 2\nDimension 3\nVertices\n4\n0 0 0 0\n0.3 0 0 0\n0 0.3 0 0\n0 0 0.3 0\n"
         "Tetrahedra\n1\n1 2 3 4 0\nEnd\n")
SOLID = "v 0 0 0\nv 0.3 0 0\nv 0 0.3 0\nv 0 0 0.3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
SHEET = "v 0 0 0\nv 0.3 0 0\nv 0.3 0 0.3\nv 0 0 0.3\nf 1 2 3\nf 1 3 4\n"
LOCKS = "v 0 0 0\nv 0 0.1 0\nv 0 0.2 0\nl 1 2 3\n"

FRAME = "output { frames = 2, fps = 60 }\n"
SPACE = "domain { min = {-1, -1, -1}, max = {1, 1, 1} }\n"
POOL = 'liquid "water" { spacing = 0.1, shape = box { max = {0.3, 0.3, 0.3} } }\n'
FACES = ["right", "left", "top", "bottom", "front", "back"]


def png(size):
    """A grey picture, size by size."""
    def chunk(kind, body):
        return (struct.pack(">I", len(body)) + kind + body +
                struct.pack(">I", zlib.crc32(kind + body)))
    lines = (b"\0" + b"\x80\x80\x80" * size[0]) * size[1]
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", *size, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


# What a scene says with the file's name at %s, its files, and the key a refusal names.
KINDS = {
    "collider": (POOL + 'collider "rock" { shape = mesh { file = "%s.obj" } }\n',
                 {"%s.obj": SOLID}, "mesh"),
    "cloth": ('cloth "sheet" { mesh = "%s.obj" }\n', {"%s.obj": SHEET}, "mesh"),
    "hair": ('hair "locks" { guides = "%s.obj", count = 0 }\n', {"%s.obj": LOCKS}, "guides"),
    "medit": ('soft "jelly" { tets = "%s.mesh" }\n', {"%s.mesh": MEDIT}, "tets"),
    "tetgen": ('soft "jelly" { tets = "%s.node" }\n', {"%s.ele": TETS, "%s.node": NODES}, "tets"),
    "sky": (POOL + 'render { environment = "%s.png", width = 32, height = 18 }\n',
            {"%s.png": png((8, 4))}, "environment"),
    "six": (POOL + 'render { environment = "%s_*.png", width = 32, height = 18 }\n',
            {"%s_" + face + ".png": png((4, 4)) for face in FACES}, "environment"),
}


class Inputs(Case):
    def make(self, kind, name="thing", folder="scene"):
        """A scene that names a file, and those files beside it. Gives back their names."""
        text, files, _ = KINDS[kind]
        os.makedirs(self.path(folder), exist_ok=True)
        write(SPACE + FRAME + text % name, self.folder, folder, "s.lua")
        for pattern, content in files.items():
            self.put(content, folder, pattern % "thing")
        return [pattern % "thing" for pattern in files]

    def put(self, content, *parts):
        with open(self.path(*parts), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())

    def refuse_soon(self, status, pattern, *words):
        return self.refuse(status, pattern, *words, timeout=SECONDS_MOST)

    def test_all_are_kept(self):
        """Every file lies in the run folder with its hash, and nothing else is read by resume."""
        for kind in KINDS:
            with self.subTest(kind):
                names = self.make(kind)
                self.call("run", "scene/s.lua", "-o", "out", "--progress", "none", "--frames", ":1")
                record = json.loads(read(self.folder, "out/run.json"))
                self.assertEqual(sorted(i["name"] for i in record["inputs"]), sorted(["s.lua"] + names))
                for name in names:
                    with open(self.path("scene", name), "rb") as one, \
                            open(self.path("out/inputs", name), "rb") as other:
                        self.assertEqual(one.read(), other.read())
                shutil.rmtree(self.path("scene"))
                self.call("resume", "out", "--progress", "none", "--frames", ":2")
                if "environment" in KINDS[kind][2]:
                    self.call("render", "out", "--frames", "2", "--no-video")
                # what was changed since is told
                self.put(b"", "out/inputs", names[0])
                self.refuse(5, "was changed since the run began", "resume", "out")
                shutil.rmtree(self.path("out"))

    def test_outside(self):
        """Climbing, absolute names, links that lead out; also names that only look as if."""
        for kind in KINDS:
            with self.subTest(kind):
                names = self.make(kind, "../thing")
                for name in names:
                    shutil.copy(self.path("scene", name), self.path(name))
                key = KINDS[kind][2]
                self.refuse_soon(3, key + ": '.*thing.*' lies outside the scene's folder", "check",
                                 "scene/s.lua")
                self.make(kind, self.path("thing"))
                self.refuse_soon(3, key + ": '.*thing.*' lies outside the scene's folder", "check",
                                 "scene/s.lua")
                self.make(kind)
                os.unlink(self.path("scene", names[0]))
                os.symlink("../" + names[0], self.path("scene", names[0]))
                self.refuse_soon(3, key + ": '.*thing.*' lies outside the scene's folder", "check",
                                 "scene/s.lua")
                # inside, but its copy would lie elsewhere
                os.unlink(self.path("scene", names[0]))
                self.make(kind, "../scene/thing")
                self.refuse_soon(3, key + ": '.*thing.*' .*without '\\.\\.'", "run", "scene/s.lua",
                                 "-o", "out")
                self.assertFalse(os.path.exists(self.path("out")))
                shutil.rmtree(self.path("scene"))

    def test_no_regular_file(self):
        """Pipes, folders and what is not there are refused and not waited for."""
        for kind in KINDS:
            with self.subTest(kind):
                names, key = self.make(kind), KINDS[kind][2]
                for name in names:
                    place = self.path("scene", name)
                    os.unlink(place)
                    self.refuse_soon(3, key + ": there is no file '%s'" % name, "check", "scene/s.lua")
                    os.mkfifo(place)
                    self.refuse_soon(3, key + ": '%s' is no regular file" % name, "check", "scene/s.lua")
                    os.unlink(place)
                    os.mkdir(place)
                    self.refuse_soon(3, key + ": '%s' is no regular file" % name, "check", "scene/s.lua")
                    os.rmdir(place)
                    self.make(kind)

    def test_too_large(self):
        """A file of terabytes, of which the disk holds nothing, is refused before it is read."""
        for kind in KINDS:
            with self.subTest(kind):
                names, key = self.make(kind), KINDS[kind][2]
                os.truncate(self.path("scene", names[0]), 1 << 42)
                self.refuse_soon(3, key + ": '%s' has 4.4e\\+03 GB, of at most" % names[0], "check",
                                 "scene/s.lua")

    def test_pipes_everywhere(self):
        """Scenes, modules and every file of a run folder: a pipe in its place is an error at once."""
        os.mkfifo(self.path("pipe.lua"))
        self.refuse_soon(5, "pipe.lua: this is no regular file", "check", "pipe.lua")
        scene = self.small_scene(2)
        os.unlink(self.path("size.lua"))
        os.mkfifo(self.path("size.lua"))
        self.refuse_soon(3, "require: there is no file 'size.lua'", "check", scene)
        os.unlink(self.path("size.lua"))
        self.small_scene(2)
        self.call("run", scene, "-o", "out", "--progress", "none")
        for name, (words, told) in {
                "out/run.json": (["info", "out"], "it has no run.json"),
                "out/scene.lua": (["resume", "out"], "scene.lua: this is no regular file"),
                "out/inputs/size.lua": (["resume", "out"], "size.lua: this is no regular file"),
                "out/frames/frame_000001.kpf": (["info", "out", "--frame", 1, "--hash"],
                                                "frame_000001.kpf: this is not a file"),
                "out/stats.csv": (["plot", "out"], "stats.csv: this is no regular file"),
                # a lock is not read: it may be anything that can be locked
                "out/.lock": (["resume", "out"], None)}.items():
            with self.subTest(name):
                if os.path.exists(self.path(name)):
                    os.rename(self.path(name), self.path("kept"))
                os.mkfifo(self.path(name))
                if told is None:
                    self.call(*words, timeout=SECONDS_MOST)
                else:
                    self.refuse_soon(5, re.escape(told), *words)
                os.unlink(self.path(name))
                if os.path.exists(self.path("kept")):
                    os.rename(self.path("kept"), self.path(name))


if __name__ == "__main__":
    main()
