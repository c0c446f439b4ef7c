// Compiles the Python files of an archive with the Python that will run them:
//     node compile.mjs python.wasm given made
import { readFileSync, writeFileSync } from "node:fs";
import { Runtime, unpacked } from "./runtime.js";

const [wasm, given, made] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(wasm));
const files = unpacked(new Uint8Array(readFileSync(given)));
const runtime = await Runtime.start(module, files, () => {}, (bytes) => process.stderr.write(bytes));
const failed = runtime.run(`
import json, py_compile, struct, sys
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode

made = {}
for path in sorted(Path("/lab").rglob("*.py")):
    out = "/tmp/made.pyc"
    py_compile.compile(path, out, doraise=True, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
    made[cache_from_source(str(path)).lstrip("/")] = Path(out).read_bytes()
index = json.dumps([[name, len(data)] for name, data in made.items()]).encode()
_ = Path("/tmp/made").write_bytes(b"".join((struct.pack("<I", len(index)), index, *made.values())))
`);
if (failed) process.exit(1);
writeFileSync(made, runtime.read("tmp/made"));
