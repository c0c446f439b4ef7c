// Unit tests of the text of a module. Run by `node --test`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { spelled, tokens } from "../../../../byoc_lab/lab/view/static/text/relay_text.js";

test("direction marks are escaped", () => {
  assert.equal(spelled("a\u202eevil\u202c"), "a\\u202eevil\\u202c");
  assert.equal(spelled("nn.conv2d \u00e9"), "nn.conv2d \u00e9");
});

test("the joined tokens of a line equal the line", () => {
  for (const line of ["%1 = nn.relu(%0) /* ty=Tensor[(1), float32] */;", "%a\u202eb", "x".repeat(100000)]) {
    assert.equal(tokens(line).map((t) => t.text).join(""), line);
  }
});
