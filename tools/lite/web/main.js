// The page: starts Python, shows one article at a time, and makes the cells of notebooks live.
import { find, value } from "./dom.js";
import { Exercises } from "./exercises.js";
import { inflatedText } from "./inflated.js";
import { Kernel } from "./kernel.js";
import { Models } from "./models.js";
import { Notebook } from "./notebook.js";
import { Playground } from "./playground.js";
import { showSource } from "./source.js";

const FIRST = "playground";
const stored = value("stored");
/** @type {Map<string, Notebook>} */
const opened = new Map();
/** @type {Notebook | undefined} */
let notebook;
/** @type {Playground | undefined} */
let playground;
/** The notebooks of articles, by their names. @type {Record<string, any>} */
let files;
/** @type {import("./notebook.js").Host} */
let host;

/** @param {string} state @param {string} words */
function show(state, words) {
  document.body.dataset.python = state;
  find("words").textContent = words;
}

/** @param {number} bytes */
function showMemory(bytes) {
  find("status").title = `Python has ${Math.round(bytes / 1e6)} MB of memory`;
}

/** An ingredient: inside of the page, or beside it. @param {string} id */
function ingredient(id) {
  const text = find(id).textContent;
  return text.length > 100 ? { text } : { address: new URL(text, location.href).href };
}

/** What the address names; "" if that cannot be read. */
function wantedPlace() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch (error) {
    if (error instanceof URIError) return "";
    throw error;
  }
}

/** Show the article that the address names, such as "#01_one_region", "#glossary/region",
 * "#playground/" with an input, and "#source/" with a file and a line. */
function open() {
  const wanted = wantedPlace();
  const [name, ...rest] = wanted.split("/");
  const article = document.querySelector(`article[id="${CSS.escape(name)}"]`) ?? find(FIRST);
  for (const other of document.querySelectorAll("article")) other.hidden = other !== article;
  for (const link of document.querySelectorAll("nav a")) {
    const isShown = link.getAttribute("href") === `#${article.id}`;
    link.toggleAttribute("aria-current", isShown);
    if (isShown) link.scrollIntoView({ block: "nearest" });
  }
  document.body.dataset.article = article.id;
  document.title = `${article.getAttribute("aria-label")} · byoc_lab`;
  if (files[article.id] && !opened.has(article.id)) opened.set(article.id, new Notebook(article, files[article.id], stored[article.id] ?? {}, host));
  notebook = opened.get(article.id);
  if (article.id === FIRST) {
    playground ??= new Playground(article, host);
    playground.open(rest.join("/"));
  }
  if (article.id === "licences") showLicences(article.querySelector("pre"));
  if (article.id === "source") showSource(article, rest.join("/"));
  for (const id of ["run-all", "reset", "download", "upload"]) find(id).hidden = !files[article.id];
  const place = wanted === name ? null : find(wanted);
  if (place) place.scrollIntoView();
  else window.scrollTo(0, 0);
}

/** @param {HTMLElement} place */
async function showLicences(place) {
  place.textContent ||= await inflatedText(find("licence-texts"));
}

/** @param {string} theme "light", "dark", or "" for the system's */
function paint(theme) {
  document.documentElement.dataset.theme = theme;
  if (theme) document.body.dataset.jpThemeLight = String(theme === "light"); // the widgets look there
}

function listen() {
  const click = (/** @type {string} */ id, /** @type {() => void} */ act) => find(id).addEventListener("click", act);
  click("run-all", () => notebook?.runAll());
  click("interrupt", () => host.kernel.restart());
  click("reset", () => notebook?.reset());
  click("download", () => notebook?.download());
  click("upload", () => find("uploaded").click());
  click("theme", () => {
    const shown = document.documentElement.dataset.theme || (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    paint(shown === "dark" ? "light" : "dark");
  });
  find("uploaded").addEventListener("change", async () => {
    const [file] = find("uploaded").files;
    const count = notebook?.upload(await file.text()) ?? 0;
    find("words").textContent = count ? `Took the code of ${count} cells from ${file.name}` : `${file.name} has no cell of this notebook`;
    find("uploaded").value = ""; // the same file can be taken again
  });
  window.addEventListener("hashchange", open);
}

async function start() {
  files = JSON.parse(await inflatedText(find("notebooks")));
  const source = new Blob([value("view")], { type: "text/javascript" });
  const { default: view } = await import(URL.createObjectURL(source));
  const kernel = new Kernel({ worker: value("worker"), python: ingredient("python"), files: ingredient("files") }, show, showMemory);
  host = { kernel, models: new Models(kernel), view, exercises: new Exercises(files, opened) };
  listen();
  open();
}

document.addEventListener("DOMContentLoaded", start);
