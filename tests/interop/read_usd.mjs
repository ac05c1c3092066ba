// Tells of a USD file in ASCII as one object of JSON: `node --input-type=module - FILE < read_usd.mjs`, in the
// folder that holds node_modules. tinyusdz, which knows the schemas, must accept the file and gives its meshes at
// the start; the parser of three.js gives every sample.
import fs from "fs";
import { USDAParser } from "three/addons/loaders/usd/USDAParser.js";

// tinyusdz is built for browsers, and looks for one
process.type = "renderer";
globalThis.window = globalThis;
const { default: start } = await import("tinyusdz/tinyusdz.js");

const bytes = fs.readFileSync(process.argv[2]);
const tiny = await start({ wasmBinary: fs.readFileSync("node_modules/tinyusdz/tinyusdz.wasm") });
const scene = new tiny.TinyUSDZLoaderNative();
const is_accepted = scene.loadFromBinary(new Uint8Array(bytes), "scene.usda");
const told = { accepted: is_accepted ? "" : scene.error(), meshes: {}, prims: {}, head: {} };
const nodes = (node) => [node.primName, ...(node.children ?? []).flatMap(nodes)];
told.nodes = is_accepted ? nodes(scene.getDefaultRootNode()) : [];
for (let i = 0; i < scene.numMeshes(); ++i) {
  const mesh = scene.getMesh(i);
  told.meshes[mesh.absPath] = { points: Array.from(mesh.points), corners: Array.from(mesh.faceVertexIndices) };
}

// three.js stumbles over metadata of an attribute whose name holds a colon; only interpolations stand there
const plain = bytes.toString().replace(/ \(\s*interpolation = "\w+"\s*\)/g, "");
for (const [path, spec] of Object.entries(new USDAParser().parseData(plain).specsByPath)) {
  const { timeSamples: samples, typeName: type, default: value } = spec.fields;
  if (path === "/") {
    told.head = spec.fields;
  } else if (samples) {
    told.prims[path] = { type, times: samples.times, values: samples.values };
  } else {
    told.prims[path] = { type, value };
  }
}
console.log(JSON.stringify(told));
