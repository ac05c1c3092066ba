// Tells of binary glTF files as one object of JSON: `node --input-type=module - FILES < read_glb.mjs`, in the
// folder that holds node_modules. What Khronos' validator finds wrong, and the arrays as gltf-transform reads them.
import fs from "fs";
import { NodeIO } from "@gltf-transform/core";
import validator from "gltf-validator";

const told = {};
for (const path of process.argv.slice(2)) {
  const bytes = new Uint8Array(fs.readFileSync(path));
  const { issues } = await validator.validateBytes(bytes);
  const root = (await new NodeIO().readBinary(bytes)).getRoot();
  const primitives = root.listMeshes().flatMap((mesh) => mesh.listPrimitives()).map((primitive) => ({
    mode: primitive.getMode(),
    indices: primitive.getIndices() ? Array.from(primitive.getIndices().getArray()) : null,
    arrays: Object.fromEntries(primitive.listSemantics().map(
      (name) => [name, Array.from(primitive.getAttribute(name).getArray())])),
  }));
  const nodes = root.listNodes().map((node) => ({ name: node.getName(), matrix: node.getWorldMatrix() }));
  told[path] = { issues: issues.messages, primitives, nodes };
}
console.log(JSON.stringify(told));
