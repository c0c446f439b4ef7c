// The input of the playground as a part of the address: JSON, deflated, in base64url. An address may
// come from anybody: what is too large or not an input is refused, and nothing of it is run here.

const MAX_LINK = 100_000; // characters
const MAX_INPUT = 4_000_000; // bytes, inflated
const MAX_PASSES = 200;
const TEXTS = ["relay_text", "message", "table", "pipeline"];

/** passes: null for all of the pipeline. @typedef {{ relay_text: string, message: string, table: string, pipeline: string, passes: string[] | null, era: string | null }} Input */

/** @param {Input} input @returns {Promise<string | null>} null if it is too long for a link */
export async function linked(input) {
  const deflated = new Blob([JSON.stringify(input)]).stream().pipeThrough(new window.CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  const link = window.btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return link.length <= MAX_LINK ? link : null;
}

/** @param {string} link @returns {Promise<Input | null>} null if it is not an input */
export async function input(link) {
  if (link.length > MAX_LINK || !/^[\w-]+$/.test(link)) return null;
  try {
    const bytes = Uint8Array.from(atob(link.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const text = await read(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")));
    return checked(JSON.parse(text));
  } catch (error) {
    if (error instanceof TypeError || error instanceof SyntaxError || error instanceof DOMException || error instanceof RangeError) return null;
    throw error;
  }
}

/** The text of a stream. Throws RangeError if there is more than an input may have.
 * @param {ReadableStream<Uint8Array>} stream */
async function read(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > MAX_INPUT) throw new RangeError(`more than ${MAX_INPUT} bytes`);
    text += decoder.decode(value, { stream: true });
  }
}

/** @param {any} found @returns {Input | null} */
function checked(found) {
  const { passes = null, era = null } = found;
  const isText = (/** @type {unknown} */ value) => typeof value === "string";
  const isList = Array.isArray(passes) && passes.length <= MAX_PASSES && passes.every(isText);
  if (!TEXTS.every((name) => isText(found[name])) || !(passes === null || isList) || !(era === null || isText(era))) return null;
  const { relay_text, message, table, pipeline } = found;
  return { relay_text, message, table, pipeline, passes, era };
}
