// The editor of a cell: CodeMirror with Python, its keys, and names from the running Python.
import { autocompletion, closeBrackets, closeBracketsKeymap, closeCompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: "var(--keyword)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--number)" },
  { tag: tags.comment, color: "var(--comment)", fontStyle: "italic" },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], color: "var(--name)" },
]);

/** @param {(text: string) => Promise<{ name: string, about: string }[]>} complete */
const completion = (complete) => async (/** @type {import("@codemirror/autocomplete").CompletionContext} */ context) => {
  const word = context.matchBefore(/[\w.]+/);
  if (!word || (!context.explicit && !word.text.includes("."))) return null;
  const found = await complete(word.text);
  const from = word.from + word.text.lastIndexOf(".") + 1;
  return { from, validFor: /^\w*$/, options: found.map(({ name, about }) => ({ label: name.slice(name.lastIndexOf(".") + 1), info: about || undefined })) };
};

/** Make an editor; Shift+Enter and Ctrl+Enter run. Without `complete` it is one for plain text.
 * @param {HTMLElement} parent
 * @param {{ source: string, label: string, changed: (source: string) => void, run: (onwards: boolean) => void,
 *   complete?: (text: string) => Promise<{ name: string, about: string }[]> }} given */
export function editor(parent, { source, label, changed, run, complete }) {
  const keys = [
    { key: "Shift-Enter", run: () => (run(true), true) },
    { key: "Mod-Enter", run: () => (run(false), true) },
    { key: "Escape", run: (/** @type {EditorView} */ view) => (closeCompletion(view), view.setTabFocusMode(Infinity), true) }, // Tab leaves the editor after it
  ];
  const extensions = [
    keymap.of(keys),
    history(),
    indentOnInput(),
    indentUnit.of("    "),
    bracketMatching(),
    closeBrackets(),
    complete ? [python(), syntaxHighlighting(COLOURS), autocompletion({ override: [completion(complete)] })] : [],
    keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
    EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
  ];
  return new EditorView({ parent, state: EditorState.create({ doc: source, extensions }) });
}

/** @param {EditorView} view @param {string} source */
export function replace(view, source) {
  view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: source } });
}
