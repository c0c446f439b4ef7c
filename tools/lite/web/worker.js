// The worker of the page: takes Python's ingredients, starts it, and hands messages to and fro.
import { inflated } from "./inflated.js";
import { Runtime, unpacked } from "./runtime.js";

/** @type {Runtime} */
let python;

/** @param {string} stage */
const tell = (stage) => postMessage({ kind: "progress", stage });

/** The bytes of an ingredient, which is in the page or beside it.
 * @param {import("./kernel.js").Ingredient} given */
async function bytesOf({ text, address }) {
  if (text !== undefined) return inflated(text);
  const { body } = await fetch(String(address));
  return /** @type {ReadableStream} */ (body).pipeThrough(new DecompressionStream("gzip"));
}

/** @param {any} given */
async function start({ python: wasm, files, module, image }) {
  tell("Reading Python");
  if (!module) {
    const headers = { "content-type": "application/wasm" };
    module = await WebAssembly.compileStreaming(new Response(await bytesOf(wasm), { headers }));
    postMessage({ kind: "module", module }); // it is compiled once, whatever is interrupted
  }
  tell("Reading the library");
  const archive = new Uint8Array(await new Response(await bytesOf(files)).arrayBuffer());
  tell("Starting Python");
  const text = new TextDecoder();
  const hear = (/** @type {Uint8Array} */ bytes) => postMessage(JSON.parse(text.decode(bytes)));
  const print = (/** @type {Uint8Array} */ bytes) => postMessage({ kind: "output", stream: "stderr", text: text.decode(bytes) });
  python = await Runtime.start(module, unpacked(archive), hear, print, image);
  if (image) python.run("import random, numpy; random.seed(); numpy.random.seed()"); // not those of before
  else importAll();
  postMessage({ kind: "ready" });
}

/** Import what every cell needs; Python is started again from what it then is, ten times as fast. */
function importAll() {
  python.run("import sys; sys.path.append('/lab')");
  tell("Importing NumPy");
  python.run("import numpy");
  tell("Importing byoc_lab");
  python.run("import byoc_lab_lite");
  const image = python.image();
  postMessage({ kind: "image", image }, { transfer: [image.memory] });
}

/** Python's literal of a string is JSON's. @param {any} message */
function act(message) {
  try {
    python.run(`__import__("byoc_lab_lite").receive(${JSON.stringify(JSON.stringify(message))})`);
    postMessage({ kind: "memory", bytes: python.memory });
  } catch (error) {
    postMessage({ kind: "ended", text: String(error) });
  }
}

self.onmessage = ({ data }) => {
  if (data.do === "start") start(data).catch((error) => postMessage({ kind: "ended", text: String(error) }));
  else act(data);
};
