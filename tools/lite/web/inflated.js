// Bytes that the page holds as base64 of gzip.

/** @param {string} text @returns {ReadableStream<Uint8Array>} */
export function inflated(text) {
  const from = /** @type {any} */ (Uint8Array).fromBase64 ?? ((/** @type {string} */ given) => Uint8Array.from(atob(given), (c) => c.charCodeAt(0)));
  return new Blob([from(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
}

/** The text that the page holds in an element. @param {HTMLElement} element @returns {Promise<string>} */
export const inflatedText = (element) => new Response(inflated(element.textContent ?? "")).text();
