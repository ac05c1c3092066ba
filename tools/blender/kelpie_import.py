"""Builds a Blender scene from a run of Kelpie, ready for Cycles.

    blender -b --python tools/blender/kelpie_import.py -- RUN [options]

    --kelpie PROGRAM   what writes the files Blender needs; found beside this script or on the path
    --frames A:B       only these frames
    --save FILE.blend  where to; RUN/RUN.blend when neither this nor --render is given
    --render FILE.png  draw one frame with Cycles (--frame N, --samples N, --size WxH)

Meshes that keep their vertices (cloth, soft and rigid bodies) become meshes with a point cache,
volumes a sequence of VDB files, liquids, particles and hair are read from PLY files as the frame
changes. Everything hangs below an empty that turns the run's up axis to Blender's z. Colours and the
camera are those of the scene. A saved file keeps the reader of frames as a text of its own, which
Blender runs on loading when scripts are allowed."""

import argparse
import glob
import math
import os
import re
import shutil
import subprocess
import sys

import bpy
import mathutils

HERE = os.path.dirname(os.path.abspath(__file__)) if "__file__" in globals() else ""
READER = "kelpie_frames.py"

# What a saved file runs on its own: PLY files of the current frame into the objects marked for them.
READER_TEXT = r'''
import array
import os
import struct
import bpy

TYPES = {"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I",
         "float": "f", "double": "d"}


def read_ply(path):
    """Coordinates x y z x y z ..., corners of triangles and ends of edges, of a binary PLY file."""
    with open(path, "rb") as file:
        elements, tables = [], {}
        for line in iter(file.readline, b"end_header\n"):
            words = line.decode("utf-8").split()
            if words[0] == "element":
                elements.append((words[1], int(words[2]), [], []))
            elif words[0] == "property":
                is_list = words[1] == "list"
                elements[-1][2].append(words[-1])
                elements[-1][3].append(TYPES[words[2]] + "3" + TYPES[words[3]] if is_list else TYPES[words[1]])
        for name, n, fields, letters in elements:
            row = struct.Struct("<" + "".join(letters))
            tables[name] = (fields, row.iter_unpack(file.read(n * row.size)))
    fields, rows = tables["vertex"]
    x, y, z = (fields.index(c) for c in "xyz")
    points = array.array("f", (row[c] for row in rows for c in (x, y, z)))
    corners = array.array("i", (c for row in tables["face"][1] for c in row[1:4]) if "face" in tables else ())
    ends = array.array("i", (c for row in tables["edge"][1] for c in row[:2]) if "edge" in tables else ())
    return points, corners, ends


def fill_mesh(mesh, points, corners):
    n = len(corners) // 3
    mesh.clear_geometry()
    mesh.vertices.add(len(points) // 3)
    mesh.vertices.foreach_set("co", points)
    mesh.loops.add(3 * n)
    mesh.loops.foreach_set("vertex_index", corners)
    mesh.polygons.add(n)
    mesh.polygons.foreach_set("loop_start", array.array("i", range(0, 3 * n, 3)))
    mesh.polygons.foreach_set("loop_total", array.array("i", [3]) * n)
    mesh.polygons.foreach_set("use_smooth", [True] * n)
    mesh.update(calc_edges=True)
    mesh.validate()


def fill_curve(curve, points, ends):
    """Strands are chains of edges i, i + 1; a new one begins where a point ends no edge."""
    n = len(points) // 3
    follows = set(ends[1::2])
    starts = [i for i in range(n) if i not in follows] + [n]
    lengths = [b - a for a, b in zip(starts, starts[1:])]
    if [len(spline.points) for spline in curve.splines] != lengths:
        curve.splines.clear()
        for length in lengths:
            curve.splines.new("POLY").points.add(length - 1)
    for spline, start, length in zip(curve.splines, starts, lengths):
        four = array.array("f")
        for i in range(start, start + length):
            four.extend((*points[3 * i:3 * i + 3], 1.0))
        spline.points.foreach_set("co", four)


def load_frame(scene, _=None):
    for holder in bpy.data.objects:
        pattern = holder.get("kelpie_files")
        if not pattern:
            continue
        path = bpy.path.abspath(pattern) % max(scene.frame_current, 0)
        if not os.path.exists(path):
            continue
        points, corners, ends = read_ply(path)
        if holder.type == "CURVE":
            fill_curve(holder.data, points, ends)
        else:
            fill_mesh(holder.data, points, corners)


def register():
    for handlers in (bpy.app.handlers.frame_change_pre, bpy.app.handlers.render_pre):
        for known in [h for h in handlers if h.__name__ == "load_frame"]:
            handlers.remove(known)
    bpy.app.handlers.frame_change_pre.append(load_frame)


register()
'''


# ---- the run

def parse_arguments():
    words = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []
    parser = argparse.ArgumentParser(prog="kelpie_import.py", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--kelpie")
    parser.add_argument("--frames")
    parser.add_argument("--save")
    parser.add_argument("--render")
    parser.add_argument("--frame", type=int)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--size", default="960x540")
    return parser.parse_args(words)


def find_program(given):
    beside = os.path.join(HERE, "..", "..", "build", "kelpie")
    for path in (given, os.environ.get("KELPIE_PROGRAM"), beside, shutil.which("kelpie")):
        if path and os.path.exists(path):
            return path
    sys.exit("kelpie_import: the program kelpie was not found; say where with --kelpie")


def export(arguments):
    """PLY, PC2 and VDB files of the run, made anew."""
    words = [find_program(arguments.kelpie), "export", arguments.run, "--to", "ply,pc2,vdb"]
    done = subprocess.run(words + (["--frames", arguments.frames] if arguments.frames else []), check=False)
    if done.returncode != 0:
        sys.exit("kelpie_import: the frames of %s could not be exported" % arguments.run)
    return os.path.join(os.path.abspath(arguments.run), "export")


def read_scene(run):
    """Blocks of used.lua as (kind, name, {key: value}) with numbers and lists of numbers."""
    with open(os.path.join(run, "used.lua"), encoding="utf-8") as file:
        text = file.read()
    blocks = []
    for kind, name, body in re.findall(r'^(\w+) (?:"([^"]*)" )?\{\n(.*?)^\}', text, re.M | re.S):
        values = {}
        for key, value in re.findall(r"^  (\w+) = (.*?),?$", body, re.M):
            numbers = re.fullmatch(r"\{([-+0-9.e, ]*)\}", value)
            if numbers:
                values[key] = [float(word) for word in numbers.group(1).split(",") if word.strip()]
            elif re.fullmatch(r"[-+]?[0-9.]+(e[-+]?\d+)?", value):
                values[key] = float(value)
            else:
                values[key] = value.strip('"')
        blocks.append((kind, name, values))
    return blocks


def clean(name):
    return re.sub(r"[^A-Za-z0-9_\-+.\x80-\uffff]", "_", name)


def numbered(folder, name, extension):
    """{frame: path} of the files of one object."""
    found = glob.glob(os.path.join(glob.escape(folder), glob.escape(name) + "_" + "[0-9]" * 6 + "." + extension))
    return {int(path[-7 - len(extension):-1 - len(extension)]): path for path in sorted(found)}


# ---- materials

def principled(name, color, roughness=0.5, **more):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*color, 1.0)
    shader.inputs["Roughness"].default_value = roughness
    for key, value in more.items():
        shader.inputs[key].default_value = value
    material.diffuse_color = (*color, 1.0)
    return material


def liquid_material(name):
    return principled(name, (0.85, 0.95, 1.0), 0.02, Transmission=1.0, IOR=1.33)


def volume_material(name, fields):
    """Smoke by its density; fire glows with the colour of its temperature."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    out = tree.nodes.new("ShaderNodeOutputMaterial")
    shader = tree.nodes.new("ShaderNodeVolumePrincipled")
    shader.inputs["Density"].default_value = 20.0
    shader.inputs["Density Attribute"].default_value = "density" if "density" in fields else ""
    shader.inputs["Color"].default_value = (0.4, 0.4, 0.4, 1.0)
    if "flame" in fields:
        flame = tree.nodes.new("ShaderNodeAttribute")
        flame.attribute_name = "flame"
        scale = tree.nodes.new("ShaderNodeMath")
        scale.operation = "MULTIPLY"
        scale.inputs[1].default_value = 0.01
        tree.links.new(flame.outputs["Fac"], scale.inputs[0])
        tree.links.new(scale.outputs[0], shader.inputs["Blackbody Intensity"])
        shader.inputs["Temperature Attribute"].default_value = "temperature"
    tree.links.new(shader.outputs["Volume"], out.inputs["Volume"])
    return material


# ---- objects

class Builder:
    """What the objects of a run have in common."""

    def __init__(self, run, export_folder):
        self.run = run
        self.blocks = read_scene(run)
        self.folder = export_folder
        self.colors = {clean(name): values["color"] for _, name, values in self.blocks
                       if name and len(values.get("color", [])) == 3}
        self.kinds = {clean(name): kind for kind, name, _ in self.blocks if name}
        self.root = bpy.data.objects.new("Kelpie", None)
        bpy.context.scene.collection.objects.link(self.root)
        up = self.up_axis()
        self.root.rotation_euler = {"x": (0, -math.pi / 2, 0), "y": (math.pi / 2, 0, 0), "z": (0, 0, 0)}[up]

    def values(self, kind):
        return next((values for k, _, values in self.blocks if k == kind), {})

    def up_axis(self):
        gravity = self.values("simulation").get("gravity", [0, -9.81, 0])
        strongest = max(range(3), key=lambda c: abs(gravity[c]))
        return "xyz"[strongest] if gravity[strongest] != 0 else "y"

    def add(self, name, data, material):
        holder = bpy.data.objects.new(name, data)
        holder.parent = self.root
        bpy.context.scene.collection.objects.link(holder)
        data.materials.append(material)
        return holder

    def color(self, name, usual):
        return self.colors.get(name, usual)

    def cached_mesh(self, name, cache):
        """Vertices that stay: the mesh of the first frame and its motion."""
        first = min(numbered(os.path.join(self.folder, "ply"), name, "ply").items())
        mesh = bpy.data.meshes.new(name)
        points, corners, _ = READER_SPACE["read_ply"](first[1])
        READER_SPACE["fill_mesh"](mesh, points, corners)
        base = name[:-len("_mesh")]
        holder = self.add(name, mesh, principled(name, self.color(base, (0.6, 0.6, 0.62))))
        modifier = holder.modifiers.new("Kelpie", "MESH_CACHE")
        modifier.cache_format = "PC2"
        modifier.filepath = cache
        modifier.frame_start = first[0]
        modifier.forward_axis = "POS_Y"
        modifier.up_axis = "POS_Z"
        if self.kinds.get(base) in ("collider", "body"):
            mesh.polygons.foreach_set("use_smooth", [False] * len(mesh.polygons))
        return holder

    def sequence(self, name, data, material):
        """Read anew with every frame."""
        holder = self.add(name, data, material)
        holder["kelpie_files"] = os.path.join(self.folder, "ply", name + "_%06d.ply")
        return holder

    def particles(self, name):
        """Points that carry a small ball each."""
        mesh = bpy.data.meshes.new(name)
        material = principled(name, self.color(name, (0.15, 0.4, 0.75)), 0.3)
        holder = self.sequence(name, mesh, material)
        spacing = next((v["spacing"] for _, n, v in self.blocks
                        if n and clean(n) == name and isinstance(v.get("spacing"), float)), 0.02)
        ball = bpy.data.meshes.new(name + "_ball")
        phi = (1 + 5 ** 0.5) / 2
        corners = [(s * 1, t * phi, 0) for s in (-1, 1) for t in (-1, 1)]
        corners = [(*c[k:], *c[:k]) for k in range(3) for c in corners]
        scale = 0.5 * spacing / math.hypot(1, phi)
        corners = [[scale * x for x in c] for c in corners]
        edge = 2.0 * scale * 1.01
        triangles = [(a, b, c) for a in range(12) for b in range(a + 1, 12) for c in range(b + 1, 12)
                     if all(math.dist(corners[p], corners[q]) < edge for p, q in ((a, b), (b, c), (a, c)))]
        ball.from_pydata(corners, [], triangles)
        ball.polygons.foreach_set("use_smooth", [True] * len(triangles))
        ball.materials.append(material)
        child = bpy.data.objects.new(name + "_ball", ball)
        child.parent = holder
        bpy.context.scene.collection.objects.link(child)
        holder.instance_type = "VERTS"
        return holder

    def strands(self, name):
        curve = bpy.data.curves.new(name, "CURVE")
        curve.dimensions = "3D"
        base = name[:-len("_curves")]
        radius = next((v["radius"] for _, n, v in self.blocks
                       if n and clean(n) == base and isinstance(v.get("radius"), float)), 5e-4)
        curve.bevel_depth = radius
        curve.bevel_resolution = 0
        return self.sequence(name, curve, principled(name, self.color(base, (0.2, 0.1, 0.05)), 0.35))

    def volume(self, name):
        files = numbered(os.path.join(self.folder, "vdb"), name, "vdb")
        data = bpy.data.volumes.new(name)
        data.filepath = files[min(files)]
        data.is_sequence = True
        data.frame_start = min(files)
        data.frame_offset = min(files) - 1
        data.frame_duration = len(files)
        data.grids.load()
        fields = {grid.name for grid in data.grids}
        return self.add(name, data, volume_material(name, fields))

    def build(self):
        names = {re.sub(r"_\d{6}\.\w+$", "", os.path.basename(path))
                 for path in glob.glob(os.path.join(glob.escape(self.folder), "ply", "*.ply"))}
        for name in sorted(names):
            cache = os.path.join(self.folder, "pc2", name + ".pc2")
            if name == "bodies":
                continue  # they are there as meshes
            if os.path.exists(cache):
                self.cached_mesh(name, cache)
            elif name.endswith("_mesh"):
                self.sequence(name, bpy.data.meshes.new(name), liquid_material(name))
            elif name.endswith("_curves"):
                self.strands(name)
            elif name + "_mesh" not in names:
                self.particles(name)
        for path in glob.glob(os.path.join(glob.escape(self.folder), "vdb", "*_volume_[0-9]*.vdb")):
            name = re.sub(r"_\d{6}\.vdb$", "", os.path.basename(path))
            if name not in bpy.data.objects:
                self.volume(name)

    def camera(self):
        """Where the scene has it; else around the domain as `kelpie render` frames it."""
        values = self.values("render")
        lo, hi = (mathutils.Vector(self.values("domain").get(key, [0, 0, 0])) for key in ("min", "max"))
        target = mathutils.Vector(values.get("camera_target", [0, 0, 0]))
        place = mathutils.Vector(values.get("camera_position", [0, 0, 0]))
        fov = math.radians(values.get("camera_fov_deg", 32.0))
        if place == target:
            azimuth = math.radians(values.get("camera_azimuth_deg", 28.0))
            elevation = math.radians(values.get("camera_elevation_deg", 18.0))
            is_z_up = self.up_axis() == "z"
            up = mathutils.Vector((0, 0, 1) if is_z_up else (0, 1, 0))
            back = mathutils.Vector((0, -1, 0) if is_z_up else (0, 0, 1))
            level = math.cos(azimuth) * back + math.sin(azimuth) * mathutils.Vector((1, 0, 0))
            to_eye = math.cos(elevation) * level + math.sin(elevation) * up
            target = 0.5 * (lo + hi)
            distance = 0.45 * (hi - lo).length / math.tan(0.5 * fov) / values.get("camera_zoom", 1.0)
            place = target + distance * to_eye
        turn = self.root.rotation_euler.to_matrix()
        place, target = turn @ place, turn @ target
        data = bpy.data.cameras.new("Camera")
        data.sensor_fit = "VERTICAL"
        data.angle = fov
        data.clip_end = 1e4
        camera = bpy.data.objects.new("Camera", data)
        camera.location = place
        camera.rotation_euler = (target - place).to_track_quat("-Z", "Y").to_euler()
        bpy.context.scene.collection.objects.link(camera)
        bpy.context.scene.camera = camera

    def floor(self):
        """A large plane below the domain, so that things stand on something."""
        lo, hi = (self.values("domain").get(key, [0, 0, 0]) for key in ("min", "max"))
        up = "xyz".index(self.up_axis())
        reach = 20.0 * max(b - a for a, b in zip(lo, hi))
        corners = []
        for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
            corner = [0.5 * (p + q) for p, q in zip(lo, hi)]
            corner[up] = lo[up] - 1e-3 * reach / 20.0
            corner[(up + 1) % 3] += a * reach
            corner[(up + 2) % 3] += b * reach
            corners.append(corner)
        mesh = bpy.data.meshes.new("Floor")
        mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
        self.add("Floor", mesh, principled("Floor", (0.5, 0.5, 0.5), 0.8))

    def light(self):
        sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
        sun.data.energy = 2.0
        sun.data.angle = 0.05
        sun.rotation_euler = (math.radians(40), math.radians(10), math.radians(30))
        bpy.context.scene.collection.objects.link(sun)
        world = bpy.data.worlds.new("Sky")
        world.use_nodes = True
        world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.55, 0.65, 0.8, 1)
        world.node_tree.nodes["Background"].inputs["Strength"].default_value = 0.6
        bpy.context.scene.world = world


READER_SPACE = {"__name__": "kelpie_frames"}


def build(arguments):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    exec(compile(READER_TEXT, READER, "exec"), READER_SPACE)  # pylint: disable=exec-used
    folder = export(arguments)
    builder = Builder(os.path.abspath(arguments.run), folder)
    builder.build()
    builder.floor()
    builder.camera()
    builder.light()
    text = bpy.data.texts.new(READER)
    text.write(READER_TEXT)
    text.use_module = True
    frames = [int(m.group(1)) for path in glob.glob(os.path.join(glob.escape(folder), "*", "*"))
              for m in [re.search(r"_(\d{6})\.(ply|vdb)$", path)] if m]
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = (min(frames), max(frames)) if frames else (0, 0)
    scene.render.fps = max(1, round(builder.values("output").get("fps", 24.0)))
    scene.render.engine = "CYCLES"
    scene.cycles.samples = arguments.samples
    scene.cycles.use_denoising = False  # not every build has the denoiser
    width, height = arguments.size.split("x")
    scene.render.resolution_x, scene.render.resolution_y = int(width), int(height)
    scene.frame_set(arguments.frame if arguments.frame is not None else scene.frame_end)


def main():
    arguments = parse_arguments()
    build(arguments)
    if arguments.render:
        bpy.context.scene.render.filepath = os.path.abspath(arguments.render)
        bpy.ops.render.render(write_still=True)
    if arguments.save or not arguments.render:
        run = os.path.abspath(arguments.run)
        path = arguments.save or os.path.join(run, os.path.basename(run) + ".blend")
        bpy.ops.wm.save_as_mainfile(filepath=os.path.abspath(path))
        print("kelpie_import: " + path)


if __name__ == "__main__":
    main()
