"""Builds a Blender scene from a run of Kelpie, ready for Cycles.

    blender -b --python tools/blender/kelpie_import.py -- RUN [options]

    --kelpie PROGRAM   what writes the files Blender needs; found beside this script or on the path
    --frames A:B       only these frames
    --save FILE.blend  where to; RUN/RUN.blend when neither this nor --render is given
    --render FILE.png  draw one frame with Cycles (--frame N, --samples N, --size WxH)

Meshes that keep their vertices (cloth, soft and rigid bodies) become meshes with a point cache,
volumes a sequence of VDB files, liquids, particles and hair are read from PLY files as the frame
changes. Everything hangs below an empty that turns the run's up axis to Blender's z. Colours, looks,
camera, sun and ground are those of the scene: liquids with a surface are clear and take in light,
smoke scatters, hot gas glows, hair is Cycles' own. A saved file keeps the reader of frames as a text
of its own, which Blender runs on loading when scripts are allowed."""

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
SURFACE_OF = "surface_of_"  # and the liquid's name, as files have it
SPRAY_OF = "spray_of_"
USUAL_COLOR = [0.62, 0.66, 0.7]  # of a look that names none
USUAL_LIQUID = [0.1, 0.35, 0.7]  # of a liquid that names none

# What a saved file runs on its own: PLY files of the current frame into the objects marked for them.
READER_TEXT = r'''
import array
import os
import struct
import bpy

TYPES = {"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I",
         "float": "f", "double": "d"}


def read_ply(path):
    """Coordinates x y z x y z ..., corners of triangles, ends of edges, velocities and radii (maybe
    none) of a binary PLY file."""
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
    rows = list(rows)
    points, velocities, radii = (
        array.array("f", (row[c] for row in rows for c in map(fields.index, names)))
        if names[0] in fields else array.array("f")
        for names in (("x", "y", "z"), ("vx", "vy", "vz"), ("radius",)))
    corners = array.array("i", (c for row in tables["face"][1] for c in row[1:4]) if "face" in tables else ())
    ends = array.array("i", (c for row in tables["edge"][1] for c in row[:2]) if "edge" in tables else ())
    return points, corners, ends, velocities, radii


def fill_mesh(mesh, points, corners, velocities=(), fps=24.0):
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
    if len(velocities) == len(points) and "velocity" not in mesh.attributes:
        # metres per frame: what Cycles blurs the motion by
        scaled = array.array("f", (v / fps for v in velocities))
        mesh.attributes.new("velocity", "FLOAT_VECTOR", "POINT").data.foreach_set("vector", scaled)
    mesh.update(calc_edges=True)
    mesh.validate()


def fill_radii(holder, radii):
    """Of points that are drawn as balls."""
    usual, n = holder.get("kelpie_radius"), len(holder.data.vertices)
    if usual is None:
        return
    scale = holder["kelpie_radius_scale"]
    own = array.array("f", (scale * r for r in (radii if len(radii) == n else [usual] * n)))
    if "radius" not in holder.data.attributes:
        holder.data.attributes.new("radius", "FLOAT", "POINT")
    holder.data.attributes["radius"].data.foreach_set("value", own)


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
        points, corners, ends, velocities, radii = read_ply(path)
        if holder.type == "CURVES":
            if len(points) == 3 * len(holder.data.points):
                holder.data.position_data.foreach_set("vector", points)
                holder.data.update_tag()
        elif holder.type == "CURVE":
            fill_curve(holder.data, points, ends)
        else:
            fill_mesh(holder.data, points, corners, velocities, scene.render.fps)
            fill_radii(holder, radii)


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
    build = os.path.join(HERE, "..", "..", "build")
    beside = [os.path.join(build, name) for name in ("kelpie", "release/kelpie")]
    for path in (given, os.environ.get("KELPIE_PROGRAM"), *beside, shutil.which("kelpie")):
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


def read_views(arguments):
    """Camera, lens and sun of every frame, as pictures of this size have them: {frame: {name: number}}."""
    words = [find_program(arguments.kelpie), "render", arguments.run, "--cameras", "--size", arguments.size]
    done = subprocess.run(words + (["--frames", arguments.frames] if arguments.frames else []), check=False,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit("kelpie_import: the cameras of %s are not known" % arguments.run)
    names, *rows = (line.split(",") for line in done.stdout.splitlines())
    return {int(row[0]): dict(zip(names[1:], map(float, row[1:]))) for row in rows}


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


def number(values, key, usual):
    value = values.get(key)
    return value if isinstance(value, float) else usual


def clean(name):
    return re.sub(r"[^A-Za-z0-9_\-+.\x80-\uffff]", "_", name)


def numbered(folder, name, extension):
    """{frame: path} of the files of one object."""
    found = glob.glob(os.path.join(glob.escape(folder), glob.escape(name) + "_" + "[0-9]" * 6 + "." + extension))
    return {int(path[-7 - len(extension):-1 - len(extension)]): path for path in sorted(found)}


# ---- materials

def linear(color):
    """sRGB as looks have it, as the light Blender counts in."""
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]


def srgb(color):
    """Light as entities have it, as looks have it."""
    return [12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in color]


def set_input(node, value, *names):
    """The first of the names that this version of Blender has."""
    for name in names:
        if name in node.inputs:
            node.inputs[name].default_value = value
            return


def principled(name, color, roughness=0.5):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    shader = material.node_tree.nodes["Principled BSDF"]
    shader.inputs["Base Color"].default_value = (*linear(color), 1.0)
    shader.inputs["Roughness"].default_value = roughness
    material.diffuse_color = (*linear(color), 1.0)
    return material


def cloth_material(name, color):
    """Threads scatter at grazing angles, on both sides."""
    material = principled(name, color, 0.8)
    set_input(material.node_tree.nodes["Principled BSDF"], 0.3, "Sheen", "Sheen Weight")
    return material


def liquid_material(name, look, size):
    """Clear and mirroring by Fresnel's law; light is lost by the colour along the way."""
    color = look.get("color", [0.45, 0.75, 0.85])
    if look.get("water") == "false":
        return principled(name, color, 1.0 - look.get("gloss", 0.5))
    material = principled(name, (1.0, 1.0, 1.0), 0.0)
    tree = material.node_tree
    shader = tree.nodes["Principled BSDF"]
    set_input(shader, 1.0, "Transmission", "Transmission Weight")
    shader.inputs["IOR"].default_value = 1.333
    inside = tree.nodes.new("ShaderNodeVolumeAbsorption")
    # a colour is what is left of white after a while: what it lacks is taken out faster
    taken = [-math.log(max(c, 0.02)) / 2.3 for c in linear(color)]
    most = max(*taken, 1e-6)
    inside.inputs["Color"].default_value = (*(1.0 - c / most for c in taken), 1.0)
    inside.inputs["Density"].default_value = most * number(look, "density", 4.0 / size)
    tree.links.new(inside.outputs["Volume"], tree.nodes["Material Output"].inputs["Volume"])
    # sunlight passes: Cycles finds few of the paths a lens bends it along
    mix, clear = tree.nodes.new("ShaderNodeMixShader"), tree.nodes.new("ShaderNodeBsdfTransparent")
    path = tree.nodes.new("ShaderNodeLightPath")
    tree.links.new(path.outputs["Is Shadow Ray"], mix.inputs[0])
    tree.links.new(shader.outputs[0], mix.inputs[1])
    tree.links.new(clear.outputs[0], mix.inputs[2])
    tree.links.new(mix.outputs[0], tree.nodes["Material Output"].inputs["Surface"])
    material.diffuse_color = (*linear(color), 0.4)
    return material


def hair_material(name, color):
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    out = tree.nodes.new("ShaderNodeOutputMaterial")
    shader = tree.nodes.new("ShaderNodeBsdfHairPrincipled")
    shader.parametrization = "COLOR"
    shader.inputs["Color"].default_value = (*linear(color), 1.0)
    set_input(shader, 0.2, "Random Roughness")
    tree.links.new(shader.outputs["BSDF"], out.inputs["Surface"])
    material.diffuse_color = (*linear(color), 1.0)
    return material


# What Cycles gives off at 2000 K and one metre with a tint of one: sigma T^4 / pi, in MW.
GLOW_2000 = 5.670373e-8 * 2000.0 ** 4 * 1e-6 / math.pi


def volume_material(name, fields, look, size):
    """Smoke by its density; gas of a temperature in K gives off the light of a black body."""
    material = bpy.data.materials.new(name)
    material.use_nodes = True
    tree = material.node_tree
    tree.nodes.clear()
    out = tree.nodes.new("ShaderNodeOutputMaterial")
    shader = tree.nodes.new("ShaderNodeVolumePrincipled")
    is_hot = "temperature" in fields and ("flame" in fields or "fuel" in fields)
    shader.inputs["Density"].default_value = number(look, "density", 30.0 / size)
    shader.inputs["Density Attribute"].default_value = "density" if "density" in fields else ""
    grey = [0.25, 0.24, 0.23] if is_hot else [0.8, 0.8, 0.8]
    shader.inputs["Color"].default_value = (*linear(look.get("color", grey)), 1.0)
    if is_hot:
        tint = tree.nodes.new("ShaderNodeValue")
        tint.outputs[0].default_value = number(look, "emission", 12.0) / GLOW_2000
        tree.links.new(tint.outputs[0], shader.inputs["Blackbody Tint"])
        shader.inputs["Blackbody Intensity"].default_value = 1.0
        shader.inputs["Temperature"].default_value = 1.0
        shader.inputs["Temperature Attribute"].default_value = "temperature"
    tree.links.new(shader.outputs["Volume"], out.inputs["Volume"])
    return material


def floor_material(name, kind, size):
    material = principled(name, (0.72, 0.72, 0.72), 0.8)
    if kind == "checker":
        tree = material.node_tree
        checker, place = tree.nodes.new("ShaderNodeTexChecker"), tree.nodes.new("ShaderNodeTexCoord")
        checker.inputs["Scale"].default_value = 4.0 / size
        checker.inputs["Color1"].default_value = (0.5, 0.5, 0.5, 1.0)
        checker.inputs["Color2"].default_value = (0.4, 0.4, 0.4, 1.0)
        tree.links.new(place.outputs["Object"], checker.inputs["Vector"])
        tree.links.new(checker.outputs["Color"], tree.nodes["Principled BSDF"].inputs["Base Color"])
    return material


def balls_of_points(name, material):
    """Nodes that make a ball of each vertex, by its attribute radius."""
    group = bpy.data.node_groups.new(name + "_balls", "GeometryNodeTree")
    group.inputs.new("NodeSocketGeometry", "Geometry")
    group.outputs.new("NodeSocketGeometry", "Geometry")
    into, out, radius, points, shade = (group.nodes.new(kind) for kind in (
        "NodeGroupInput", "NodeGroupOutput", "GeometryNodeInputNamedAttribute", "GeometryNodeMeshToPoints",
        "GeometryNodeSetMaterial"))
    radius.data_type = "FLOAT"
    radius.inputs["Name"].default_value = "radius"
    shade.inputs["Material"].default_value = material
    value = next(socket for socket in radius.outputs if socket.name == "Attribute" and socket.enabled)
    group.links.new(into.outputs[0], points.inputs["Mesh"])
    group.links.new(value, points.inputs["Radius"])
    group.links.new(points.outputs[0], shade.inputs["Geometry"])
    group.links.new(shade.outputs[0], out.inputs[0])
    return group


# ---- objects

class Builder:
    """What the objects of a run have in common."""

    def __init__(self, run, export_folder):
        self.run = run
        self.blocks = read_scene(run)
        self.folder = export_folder
        self.colors = {clean(name): srgb(values["color"]) for kind, name, values in self.blocks
                       if name and kind != "look" and len(values.get("color", [])) == 3}
        self.kinds = {clean(name): kind for kind, name, _ in self.blocks if name and kind != "look"}
        self.looks = {clean(name): values for kind, name, values in self.blocks if kind == "look" and name}
        lo, hi = (self.values("domain").get(key, [0, 0, 0]) for key in ("min", "max"))
        self.size = max(math.dist(lo, hi), 1e-6)
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

    def look(self, name):
        """What the scene says of how it is drawn. A colour that nobody set is left out."""
        values = dict(self.looks.get(name, {}))
        if values.get("color") == USUAL_COLOR or values.get("color_by"):
            values.pop("color", None)
        return values

    def color(self, name, usual):
        return self.look(name).get("color") or self.colors.get(name, usual)

    def is_visible(self, name):
        return self.looks.get(name, {}).get("visible") != "false"

    def cached_mesh(self, name, cache):
        """Vertices that stay: the mesh of the first frame and its motion."""
        first = min(numbered(os.path.join(self.folder, "ply"), name, "ply").items())
        mesh = bpy.data.meshes.new(name)
        points, corners, *_ = READER_SPACE["read_ply"](first[1])
        READER_SPACE["fill_mesh"](mesh, points, corners)
        base = name[:-len("_mesh")]
        color = self.color(base, (0.72, 0.76, 0.8))
        is_cloth = self.kinds.get(base) == "cloth"
        holder = self.add(name, mesh, cloth_material(name, color) if is_cloth
                          else principled(name, color, 1.0 - 0.8 * self.look(base).get("gloss", 0.5)))
        modifier = holder.modifiers.new("Kelpie", "MESH_CACHE")
        modifier.cache_format = "PC2"
        modifier.filepath = cache
        modifier.frame_start = first[0]
        modifier.forward_axis = "POS_Y"
        modifier.up_axis = "POS_Z"
        if hasattr(mesh, "use_auto_smooth"):  # creases stay sharp; newer versions see to it themselves
            mesh.use_auto_smooth = True
            mesh.auto_smooth_angle = math.radians(40.0)
        return holder

    def sequence(self, name, data, material):
        """Read anew with every frame."""
        holder = self.add(name, data, material)
        holder["kelpie_files"] = os.path.join(self.folder, "ply", name + "_%06d.ply")
        return holder

    def particles(self, name, color=None, roughness=0.3):
        """Points, each a ball of its own radius, or of half the spacing where it has none."""
        mesh = bpy.data.meshes.new(name)
        material = principled(name, color or self.color(name, (0.15, 0.4, 0.75)), roughness)
        holder = self.sequence(name, mesh, material)
        spacing = next((v["spacing"] for _, n, v in self.blocks
                        if n and clean(n) == name and isinstance(v.get("spacing"), float)), 0.02)
        holder["kelpie_radius"] = 0.5 * spacing
        holder["kelpie_radius_scale"] = number(self.look(name), "radius_scale", 1.0)
        modifier = holder.modifiers.new("Kelpie", "NODES")
        modifier.node_group = balls_of_points(name, material)
        return holder

    def spray(self, name):
        """Drops mirror and bend the whole sky: they are nearly white, whatever colour the liquid has."""
        surface = SURFACE_OF + name[len(SPRAY_OF):]
        liquid = self.liquid_look(surface)
        is_clear = liquid.get("water") != "false"
        white, color = (0.94 if is_clear else 0.25), liquid.get("color", [0.16, 0.5, 0.66])
        own = self.look(name).get("color")
        if self.is_visible(surface):
            self.particles(name, own or [white + (1.0 - white) * c for c in color], 0.1)

    def liquid_look(self, base):
        """Of a surface: that of its own name, else that of its liquid."""
        names = base[len(SURFACE_OF):].split("_and_")
        look = self.look(base) if base in self.looks else self.look(names[0])
        if base not in self.looks and self.looks.get(names[0], {}).get("color_by"):
            look["water"] = "false"  # coloured by a field, which is not carried over
        elif base not in self.looks:
            look.pop("water", None)
        color = self.colors.get(names[0])
        if color and "color" not in look and color != srgb(USUAL_LIQUID):
            look["color"] = color
        return look

    def liquid(self, name):
        """The surface of a liquid."""
        look = self.liquid_look(name[:-len("_mesh")])
        return self.sequence(name, bpy.data.meshes.new(name), liquid_material(name, look, self.size))

    def strands(self, name):
        """Hair as Cycles knows it: made from a plain curve, since scripts cannot make it otherwise. Yarn
        stays a curve with the thickness of its thread."""
        curve = bpy.data.curves.new(name, "CURVE")
        curve.dimensions = "3D"
        base = name[:-len("_curves")]
        color = self.color(base, (0.35, 0.2, 0.1))
        holder = self.sequence(name, curve, hair_material(name, color))
        first = min(numbered(os.path.join(self.folder, "ply"), name, "ply").items())
        points, _, ends, _, radii = READER_SPACE["read_ply"](first[1])
        radii = radii or [5e-4] * (len(points) // 3)
        READER_SPACE["fill_curve"](curve, points, ends)
        if self.kinds.get(base) == "hair" and self.convert(holder):
            holder.data.points.foreach_set("radius", radii)
        else:
            curve.bevel_depth = max(radii)
            curve.bevel_resolution = 0 if self.kinds.get(base) == "hair" else 2
            start = 0
            for spline in curve.splines:
                own = radii[start:start + len(spline.points)]
                spline.points.foreach_set("radius", [r / curve.bevel_depth for r in own])
                start += len(own)
            curve.materials[0] = principled(name, color, 0.35)
        return holder

    @staticmethod
    def convert(holder):
        """A curve into hair; false where this Blender cannot."""
        bpy.ops.object.select_all(action="DESELECT")
        bpy.context.view_layer.objects.active = holder
        holder.select_set(True)
        material = holder.data.materials[0]
        try:
            bpy.ops.object.convert(target="CURVES")
        except (TypeError, RuntimeError):
            return False
        if not holder.data.materials:
            holder.data.materials.append(material)
        return holder.type == "CURVES"

    def volume(self, name):
        files = numbered(os.path.join(self.folder, "vdb"), name, "vdb")
        data = bpy.data.volumes.new(name)
        data.filepath = files[min(files)]
        data.grids.load()  # before it is a sequence, of which an unevaluated scene shows frame 0
        fields = {grid.name for grid in data.grids}
        data.grids.unload()
        data.is_sequence = True
        data.frame_start = min(files)
        data.frame_offset = min(files) - 1
        data.frame_duration = max(files) - min(files) + 1
        return self.add(name, data, volume_material(name, fields, self.look(name[:-len("_volume")]), self.size))

    def build(self):
        names = {re.sub(r"_\d{6}\.\w+$", "", os.path.basename(path))
                 for path in glob.glob(os.path.join(glob.escape(self.folder), "ply", "*.ply"))}
        for name in sorted(names):
            cache = os.path.join(self.folder, "pc2", name + ".pc2")
            base = re.sub("_(mesh|curves)$", "", name)
            if name == "bodies" or not self.is_visible(base):
                continue  # bodies are there as meshes
            if name.startswith(SURFACE_OF) and name.endswith("_mesh"):
                self.liquid(name)
            elif os.path.exists(cache):
                holder = self.cached_mesh(name, cache)
                if base + "_curves" in names:  # knitwear is drawn as its yarn
                    holder.hide_render = True
                    holder.hide_set(True)
            elif name.endswith("_mesh"):
                self.sequence(name, bpy.data.meshes.new(name),
                              principled(name, self.color(base, (0.72, 0.76, 0.8))))
            elif name.endswith("_curves"):
                self.strands(name)
            elif name.startswith(SPRAY_OF):
                self.spray(name)
            elif name + "_mesh" not in names and not (
                    any(self.is_visible(other[:-len("_mesh")]) and name in other[len(SURFACE_OF):-len("_mesh")]
                        .split("_and_") for other in names if other.startswith(SURFACE_OF))):
                self.particles(name)
        for path in glob.glob(os.path.join(glob.escape(self.folder), "vdb", "*_volume_[0-9]*.vdb")):
            name = re.sub(r"_\d{6}\.vdb$", "", os.path.basename(path))
            is_hidden = SURFACE_OF + name[:-len("_volume")] + "_mesh" in names  # a liquid's cells
            if name not in bpy.data.objects and not is_hidden:
                self.volume(name)

    def camera(self):
        """As `kelpie render` has it, in every frame: a camera that moves has keys."""
        turn = self.root.rotation_euler.to_matrix()
        first, values = self.views[min(self.views)], self.values("render")
        data = bpy.data.cameras.new("Camera")
        data.sensor_fit = "VERTICAL"
        data.clip_start, data.clip_end = 1e-3 * self.size, 1e3 * self.size
        data.dof.use_dof = any(view["aperture"] > 0.0 for view in self.views.values())
        camera = bpy.data.objects.new("Camera", data)
        scene = bpy.context.scene
        scene.collection.objects.link(camera)
        scene.camera = camera
        moves = any(view != first for view in self.views.values())
        for frame, view in sorted(self.views.items()) if moves else [(0, first)]:
            place, target = (turn @ mathutils.Vector([view[k + c] for c in "xyz"]) for k in ("", "target_"))
            data.angle = math.radians(view["fov_deg"])
            data.dof.focus_distance = view["focus"]
            if view["aperture"] > 0.0:
                data.dof.aperture_fstop = 1e-3 * data.lens / view["aperture"]
            camera.location = place
            camera.rotation_euler = (target - place).to_track_quat("-Z", "Y").to_euler()
            if moves:
                for holder, path in ((camera, "location"), (camera, "rotation_euler"), (data, "lens"),
                                     (data.dof, "focus_distance"), (data.dof, "aperture_fstop")):
                    holder.keyframe_insert(path, frame=frame)
        scene.render.use_motion_blur = values.get("shutter", 0.0) > 0.0
        scene.render.motion_blur_shutter = values.get("shutter", 0.0) or 0.5

    def floor(self):
        """A large plane below the domain, so that things stand on something."""
        values = self.values("render")
        if values.get("ground") == "none":
            return
        lo, hi = (self.values("domain").get(key, [0, 0, 0]) for key in ("min", "max"))
        up = "xyz".index(self.up_axis())
        reach = 20.0 * max(b - a for a, b in zip(lo, hi))
        corners = []
        for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
            corner = [0.5 * (p + q) for p, q in zip(lo, hi)]
            corner[up] = lo[up] - 5e-5 * reach + values.get("ground_height", 0.0)
            corner[(up + 1) % 3] += a * reach
            corner[(up + 2) % 3] += b * reach
            corners.append(corner)
        mesh = bpy.data.meshes.new("Floor")
        mesh.from_pydata(corners, [], [(0, 1, 2, 3)])
        self.add("Floor", mesh, floor_material("Floor", values.get("ground"), self.size))

    def light(self):
        """The sun and sky of the first picture."""
        values, view = self.values("render"), self.views[min(self.views)]
        towards = self.root.rotation_euler.to_matrix() @ mathutils.Vector([view["sun_" + c] for c in "xyz"])
        kind = values.get("background", "studio")
        dim = 0.05 if kind == "dark" else 1.0
        sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
        sun.data.energy = 3.0 * dim * view["sun_strength"]
        sun.data.angle = math.radians(values.get("sun_size_deg", 4.0))
        sun.rotation_euler = towards.to_track_quat("Z", "Y").to_euler()
        bpy.context.scene.collection.objects.link(sun)
        world = bpy.data.worlds.new("Sky")
        world.use_nodes = True
        sky = world.node_tree.nodes["Background"]
        sky.inputs["Color"].default_value = (*((0.35, 0.55, 0.9) if kind == "sky" else (0.7, 0.75, 0.8)), 1)
        sky.inputs["Strength"].default_value = 0.6 * dim * view["sky_strength"]
        bpy.context.scene.world = world


READER_SPACE = {"__name__": "kelpie_frames"}


def build(arguments):
    bpy.ops.wm.read_factory_settings(use_empty=True)
    exec(compile(READER_TEXT, READER, "exec"), READER_SPACE)  # pylint: disable=exec-used
    folder = export(arguments)
    builder = Builder(os.path.abspath(arguments.run), folder)
    builder.build()
    builder.floor()
    width, height = (int(word) for word in arguments.size.split("x"))
    builder.views = read_views(arguments)
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
    scene.render.resolution_x, scene.render.resolution_y = width, height
    scene.render.resolution_percentage = 100
    scene.unit_settings.system = "METRIC"
    scene.unit_settings.scale_length = 1.0
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
