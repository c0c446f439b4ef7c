// A zip file without compression, of texts by their names.

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
const UTF8 = 0x800; // names are in UTF-8
const VERSION = 20;
const DATE = 0x21; // 1980-01-01, as no file has a time

/** @param {Uint8Array} bytes */
function checksum(bytes) {
  let sum = -1;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}

/** Numbers of 2 or 4 bytes, little end first. @param {...[2 | 4, number]} fields */
function record(...fields) {
  const bytes = new DataView(new ArrayBuffer(fields.reduce((sum, [size]) => sum + size, 0)));
  let at = 0;
  for (const [size, value] of fields) {
    if (size === 2) bytes.setUint16(at, value, true);
    else bytes.setUint32(at, value, true);
    at += size;
  }
  return bytes.buffer;
}

/** @param {Map<string, string>} files */
export function zipped(files) {
  const encoder = new TextEncoder();
  /** @type {BlobPart[]} */
  const contents = [];
  /** @type {BlobPart[]} */
  const directory = [];
  let [at, length] = [0, 0];
  for (const [path, text] of files) {
    const [name, data] = [encoder.encode(path), encoder.encode(text)];
    /** @type {[2 | 4, number][]} */
    const common = [[2, VERSION], [2, UTF8], [2, 0], [2, 0], [2, DATE], [4, checksum(data)], [4, data.length], [4, data.length], [2, name.length], [2, 0]];
    const local = record([4, 0x04034b50], ...common);
    const central = record([4, 0x02014b50], [2, VERSION], ...common, [2, 0], [2, 0], [2, 0], [4, 0], [4, at]);
    contents.push(local, name, data);
    directory.push(central, name);
    at += local.byteLength + name.length + data.length;
    length += central.byteLength + name.length;
  }
  const end = record([4, 0x06054b50], [2, 0], [2, 0], [2, files.size], [2, files.size], [4, length], [4, at], [2, 0]);
  return new Blob([...contents, ...directory, end], { type: "application/zip" });
}
