// The rules for the JavaScript of the view, its tests, and the laboratory in one file.
const names = (list) => Object.fromEntries(list.split(" ").map((name) => [name, "readonly"]));

export default [
  {
    files: ["**/*.js", "**/*.mjs"],
    languageOptions: {
      ecmaVersion: 2024,
      sourceType: "module",
      globals: names("AbortController AbortSignal Blob CSS HTMLElement HTMLStyleElement MutationObserver ResizeObserver ShadowRoot URL URLSearchParams Worker clearTimeout console document getComputedStyle localStorage performance requestAnimationFrame setTimeout window"),
    },
    rules: {
      eqeqeq: "error",
      "no-const-assign": "error",
      "no-dupe-keys": "error",
      "no-fallthrough": "error",
      "no-implied-eval": "error",
      "no-eval": "error",
      "no-new-func": "error",
      "no-redeclare": "error",
      "no-shadow-restricted-names": "error",
      "no-undef": "error",
      "no-unreachable": "error",
      "no-unused-vars": ["error", { args: "after-used" }],
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],
      "valid-typeof": "error",
    },
  },
  {
    files: ["tools/lite/web/*"], // a page, its worker, and a script for node
    languageOptions: {
      globals: names("DecompressionStream DOMException Response TextDecoder TextEncoder WebAssembly atob fetch location postMessage process self"),
    },
  },
];
