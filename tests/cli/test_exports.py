#!/usr/bin/env python3
"""Files for other programs against the CSV of the same frames, value by value.

The readers here are written from the descriptions of the formats and share nothing with the
writers: BGEO version 5, USD ASCII, PC2, MDD, binary glTF, VTK polygons. POV-Ray and Blender read
what is meant for them where they are installed."""

import csv
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from program import PROGRAM, SOURCE, Case, main, write  # noqa: E402

SCENE = """
domain { min = {-0.4, 0, -0.4}, max = {0.4, 0.8, 0.4} }
liquid "water" { spacing = 0.08, shape = box { min = {-0.4, 0, -0.4}, max = {0, 0.2, 0.4} } }
cloth "sheet" { columns = 5, rows = 4, width = 0.3, height = 0.25, position = {0.15, 0.6, 0} }
collider "ball" { shape = sphere { center = {0.2, 0.3, 0.2}, radius = 0.05 } }
hair "tuft" { on = "ball", count = 7, segments = 4, length = 0.1 }
output { frames = 3, fps = 48 }
"""
SMOKE = """
domain { min = {0, 0, 0}, max = {0.5, 0.5, 1} }
gravity { 0, 0, -9.81 }
grid { cell = 0.125 }
smoke "plume" { empty = true }
source "vent" { into = "plume", shape = sphere { center = {0.25, 0.25, 0.2}, radius = 0.12 }, density = 1 }
output { frames = 1, fps = 24 }
"""
FRAMES = 4  # 0 to 3
ASK_BLENDER = """
import json
import bpy
told = {}
for frame in (1, 3):
    bpy.context.scene.frame_set(frame)
    graph = bpy.context.evaluated_depsgraph_get()
    for name in ("water", "sheet_mesh", "tuft_curves"):
        there = bpy.data.objects[name].evaluated_get(graph)
        if there.type == "CURVE":
            points = [p.co.xyz for spline in bpy.data.objects[name].data.splines for p in spline.points]
        else:
            points = [v.co for v in there.data.vertices]
        told["%s %d" % (name, frame)] = [x for p in points for x in there.matrix_world @ p]
print("TOLD " + json.dumps(told))
"""


def numbers(path):
    """The columns of a CSV file by name, without units."""
    with open(path, encoding="utf-8") as file:
        lines = list(csv.reader(file))
    names = [name.split(" [")[0] for name in lines[0]]
    return {name: [float(line[i]) for line in lines[1:]] for i, name in enumerate(names)}


def read_bgeo(path):
    with open(path, "rb") as file:
        data = file.read()
    place = 0

    def take(form):
        nonlocal place
        values = struct.unpack_from(">" + form, data, place)
        place += struct.calcsize(">" + form)
        return values if len(values) > 1 else values[0]

    assert data[:5] == b"BgeoV"
    place = 5
    version, points, prims, _, _, n_point, n_vertex, n_prim, n_detail = take("9i")
    assert (version, prims, n_vertex, n_prim, n_detail) == (5, 0, 0, 0, 0)
    attributes = []
    for _ in range(n_point):
        length = take("H")
        name = data[place:place + length].decode()
        place += length
        size, kind = take("H"), take("i")
        assert kind in (0, 1, 5)
        place += 4 * size
        attributes.append((name, size, "i" if kind == 1 else "f"))
    table = {"P": []}
    table.update({name: [] for name, _, _ in attributes})
    for _ in range(points):
        table["P"].append(take("4f"))
        for name, size, letter in attributes:
            table[name].append(take("%d%s" % (size, letter)))
    assert data[place:] == b"\x00\xff"
    return table


def read_cache(path):
    """Samples of a PC2 or MDD file as lists of floats, and the times or frames of the samples."""
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".pc2"):
        magic, version, points, start, rate, samples = struct.unpack_from("<12siiffi", data)
        assert magic == b"POINTCACHE2\0" and version == 1
        times, place, order = [start + rate * i for i in range(samples)], 32, "<"
    else:
        samples, points = struct.unpack_from(">ii", data)
        times, place, order = struct.unpack_from(">%df" % samples, data, 8), 8 + 4 * samples, ">"
    values = [struct.unpack_from("%s%df" % (order, 3 * points), data, place + 12 * points * i)
              for i in range(samples)]
    assert len(data) == place + 12 * points * samples
    return times, values


def read_glb(path):
    with open(path, "rb") as file:
        data = file.read()
    magic, version, total, length, kind = struct.unpack_from("<4sIII4s", data)
    assert (magic, version, total, kind) == (b"glTF", 2, len(data), b"JSON") and length % 4 == 0
    scene = json.loads(data[20:20 + length])
    size, kind = struct.unpack_from("<I4s", data, 20 + length)
    assert kind == b"BIN\0" and size == len(data) - 28 - length == scene["buffers"][0]["byteLength"]
    binary = data[28 + length:]

    def values(index):
        accessor = scene["accessors"][index]
        view = scene["bufferViews"][accessor["bufferView"]]
        width = {"SCALAR": 1, "VEC3": 3}[accessor["type"]]
        letter = {5126: "f", 5125: "I"}[accessor["componentType"]]
        found = struct.unpack_from("<%d%s" % (accessor["count"] * width, letter), binary,
                                   view["byteOffset"])
        assert view["byteLength"] == 4 * len(found)
        for c in range(3 if "min" in accessor else 0):
            assert min(found[c::3]) == struct.unpack("f", struct.pack("f", accessor["min"][c]))[0]
            assert max(found[c::3]) == struct.unpack("f", struct.pack("f", accessor["max"][c]))[0]
        return found

    primitive = scene["meshes"][0]["primitives"][0]
    table = {name: values(index) for name, index in primitive["attributes"].items()}
    if "indices" in primitive:
        table["indices"] = values(primitive["indices"])
    return scene, primitive["mode"], table


def read_usda(path):
    """Prims as {name: {"type": ..., attribute: {time code: [numbers or texts]}}}, and the head."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    assert lines[0] == "#usda 1.0"
    head, prims, stack, attribute = {}, {}, [], None
    for line in lines[1:]:
        text = line.strip()
        if not stack and " = " in text:
            head.update([text.split(" = ", 1)])
        opening = re.match(r'def (\w+) "(\w+)"$', text)
        if opening:
            stack.append(opening.group(2))
            prims["/".join(stack)] = {"type": opening.group(1)}
        elif re.match(r"[\w:]+(\[\])? [\w:]+\.timeSamples = \{$", text):
            attribute = text.split(" ")[1].split(".")[0]
            prims["/".join(stack)][attribute] = {}
        elif attribute is not None and text == "}":
            attribute = None
        elif attribute is not None:
            code, value = text.rstrip(",").split(": ", 1)
            found = [float(word) for word in re.findall(r"[-+0-9.e]+", value)] \
                if value.startswith("[") else value
            prims["/".join(stack)][attribute][int(code)] = found
        elif text == "}":
            stack.pop()
        elif stack and re.match(r"(rel|token|uniform token) \S+ = ", text):
            prims["/".join(stack)].update([text.split(" = ", 1)])
    assert not stack
    return head, prims


def held(samples, code):
    return samples[max(c for c in samples if c <= code)]


class Exports(Case):
    """One run with particles, a cloth and hair, written in every format."""

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="kelpie-")
        write(SCENE, cls.holder.name, "scene.lua")
        for words in (["run", "scene.lua", "-o", "out"],
                      ["export", "out", "--to", "csv,bgeo,pc2,mdd,glb,usda,vtp,pov"]):
            subprocess.run([PROGRAM, *words], cwd=cls.holder.name, check=True)

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    def setUp(self):
        self.folder = self.holder.name

    def export(self, kind, name):
        return self.path("out", "export", kind, name)

    def truth(self, name, frame):
        return numbers(self.export("csv", "%s_%06d.csv" % (name, frame)))

    def near(self, found, columns, names, digits=6):
        """Numbers side by side, x y z x y z ..., against columns."""
        expected = [columns[name][i] for i in range(len(columns[names[0]])) for name in names]
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertAlmostEqual(a, b, delta=10.0 ** -digits * max(1.0, abs(b)))

    def test_bgeo(self):
        for frame in range(FRAMES):
            table = read_bgeo(self.export("bgeo", "water_%06d.bgeo" % frame))
            truth = self.truth("water", frame)
            self.assertGreater(len(table["P"]), 20)
            self.near([c for p in table["P"] for c in p[:3]], truth, ["x", "y", "z"])
            self.near([c for v in table["v"] for c in v], truth, ["vx", "vy", "vz"])
            self.near(table["density"], truth, ["density"])
            self.assertEqual(table["id"], truth["id"])
            self.assertTrue(all(0.02 < r < 0.06 for r in table["pscale"]), table["pscale"][:3])
            self.assertTrue(all(p[3] == 1.0 for p in table["P"]))

    def test_caches(self):
        for kind in ("pc2", "mdd"):
            times, samples = read_cache(self.export(kind, "sheet_mesh." + kind))
            self.assertEqual(len(samples), FRAMES)
            for frame in range(FRAMES):
                self.near(samples[frame], self.truth("sheet_mesh", frame), ["x", "y", "z"])
                self.assertAlmostEqual(times[frame], frame if kind == "pc2" else frame / 48.0, 6)
            self.assertTrue(os.path.exists(self.export(kind, "sheet_mesh.obj")))
            self.assertNotEqual(samples[0], samples[3])

    def test_glb(self):
        for name, mode in (("water", 0), ("tuft_curves", 1), ("sheet_mesh", 4)):
            scene, found, table = read_glb(self.export("glb", name + "_000003.glb"))
            self.assertEqual(found, mode)
            self.near(table["POSITION"], self.truth(name, 3), ["x", "y", "z"])
            self.near(table["_VELOCITY"], self.truth(name, 3), ["vx", "vy", "vz"])
            self.assertNotIn("rotation", scene["nodes"][0])
            if mode > 0:
                self.assertLess(max(table["indices"]), len(table["POSITION"]) / 3)
                self.assertEqual(len(table["indices"]), {1: 2 * 7 * 4, 4: 3 * 2 * 5 * 4}[mode])

    def test_usda(self):
        head, prims = read_usda(self.export("usda", "scene.usda"))
        self.assertEqual(head["upAxis"], '"Y"')
        self.assertEqual(float(head["endTimeCode"]), FRAMES - 1)
        self.assertEqual(float(head["timeCodesPerSecond"]), 48)
        kinds = {"water": "Points", "sheet_mesh": "Mesh", "tuft_curves": "BasisCurves"}
        for name, kind in kinds.items():
            prim = prims["World/" + name]
            self.assertEqual(prim["type"], kind)
            for frame in range(FRAMES):
                truth = self.truth(name, frame)
                self.near(held(prim["points"], frame), truth, ["x", "y", "z"])
                self.near(held(prim["velocities"], frame), truth, ["vx", "vy", "vz"])
        self.assertEqual(prims["World/water"]["ids"][0], self.truth("water", 0)["id"])
        self.near(held(prims["World/water"]["primvars:density"], 3), self.truth("water", 3),
                  ["density"])
        self.assertEqual(set(prims["World/tuft_curves"]["curveVertexCounts"][0]), {5})
        counts = prims["World/sheet_mesh"]["faceVertexCounts"]
        self.assertEqual(counts, {0: [3.0] * 40})  # said once, since it does not change
        self.assertFalse([name for name in os.listdir(self.export("usda", "")) if "part" in name])

    def test_vtp(self):
        with open(self.export("vtp", "sheet_mesh_000003.vtp"), "rb") as file:
            text = file.read().split(b"<AppendedData")[0] + b"</VTKFile>"  # bytes follow
        root = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(root.get("type"), "PolyData")
        piece = root.find("PolyData/Piece")
        self.assertEqual((piece.get("NumberOfPoints"), piece.get("NumberOfPolys")), ("30", "40"))
        self.assertIsNotNone(piece.find("Polys"))

    def test_pov(self):
        path = self.export("pov", "scene_000003.pov")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count("  sphere { <"), len(self.truth("water", 3)["x"]))
        self.assertEqual(text.count("sphere_sweep {"), 7)
        self.assertIn("40", re.findall(r"face_indices \{ (\d+)", text))
        if shutil.which("povray") is None:
            self.skipTest("povray is not installed: its scenes were not rendered")
        done = subprocess.run(["povray", "+I" + path, "+O" + self.path("p.png"), "+W64", "+H36", "-D"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_one_frame(self):
        out, _ = self.call("export", "out", "--to", "mdd", "--frames", "2", "-o", "one")
        self.assertIn("2 files of 1 frames", out)
        _, samples = read_cache(self.path("one", "sheet_mesh.mdd"))
        self.near(samples[0], self.truth("sheet_mesh", 2), ["x", "y", "z"])


    def test_blender(self):
        """The bridge builds a scene; every object of a later frame is where the run has it."""
        if shutil.which("blender") is None:
            self.skipTest("blender is not installed: its scene was not built")
        write(ASK_BLENDER, self.folder, "ask.py")
        done = subprocess.run(
            ["blender", "-b", "--python-exit-code", "3", "--python",
             os.path.join(SOURCE, "tools", "blender", "kelpie_import.py"), "--python", self.path("ask.py"),
             "--", self.path("out"),
             "--kelpie", PROGRAM, "--save", self.path("scene.blend")], cwd=self.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(os.path.exists(self.path("scene.blend")))
        told = json.loads(re.search("^TOLD (.*)$", done.stdout, re.M).group(1))
        for name in ("water", "sheet_mesh", "tuft_curves"):
            for frame in (1, 3):
                truth = self.truth(name, frame)
                # Blender's z is our y
                turned = {"x": truth["x"], "y": [-z for z in truth["z"]], "z": truth["y"]}
                self.near(told["%s %d" % (name, frame)], turned, ["x", "y", "z"], 5)


class Volumes(Case):
    """Volumes in USD are references to VDB files beside it; z up is said."""

    def test_volume(self):
        write(SMOKE, self.folder, "smoke.lua")
        self.call("run", "smoke.lua", "-o", "out")
        self.call("export", "out", "--to", "usda")
        head, prims = read_usda(self.path("out/export/usda/scene.usda"))
        self.assertEqual(head["upAxis"], '"Z"')
        density = prims["World/plume_volume/density"]
        self.assertEqual(density["type"], "OpenVDBAsset")
        self.assertEqual(density["token fieldName"], '"density"')
        self.assertEqual(prims["World/plume_volume"]["rel field:density"],
                         "</World/plume_volume/density>")
        for frame in range(2):
            name = held(density["filePath"], frame).strip("@")
            self.assertTrue(os.path.exists(self.path("out/export/usda", name)), name)


if __name__ == "__main__":
    main()
