// The source of byoc_lab that links lead to: one file at a time, with one line marked.
import { find, make } from "./dom.js";
import { inflatedText } from "./inflated.js";

/** The texts of files by their paths. @type {Promise<Map<string, string>> | undefined} */
let texts;

/** @param {HTMLElement} article @param {string} place a path and the number of a line, "byoc_lab/version.py/3" */
export async function showSource(article, place) {
  texts ??= inflatedText(find("sources")).then((text) => new Map(Object.entries(JSON.parse(text))));
  const at = place.lastIndexOf("/");
  const [path, number] = [place.slice(0, at), Number(place.slice(at + 1))];
  const text = (await texts).get(path);
  const lines = (text?.trimEnd() ?? "This page has no such file.").split("\n").map((line) => make("span", { class: "line" }, `${line}\n`));
  find("source-path").textContent = text === undefined ? "Source" : path;
  article.querySelector("pre")?.replaceChildren(...lines);
  lines[number - 1]?.setAttribute("aria-current", "true");
  lines[number - 1]?.scrollIntoView({ block: "center" });
}
