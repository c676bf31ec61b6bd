import assert from "node:assert/strict";
import { test } from "node:test";
import { place, plain, render, settled } from "../../webview/markdown";

const hostile: [string, string, RegExp][] = [
  ["a script", "<script>alert(1)</script>", /<script/i],
  ["an event handler", '<img src=x onerror="alert(1)">', /<img/i],
  ["a javascript link", "[x](javascript:alert(1))", /<a[^>]*javascript/i],
  ["a data link", "[x](data:text/html,<script>)", /<a[^>]*data:text/i],
  ["a file link", "[x](file:///etc/passwd)", /<a[^>]*file:/i],
  ["a command link", "[x](command:workbench.action.quit)", /<a[^>]*command:/i],
  ["a picture on the web", "![x](https://example.com/a.png?secret)", /<img/i],
  ["an attribute that ends early", "`a.go:1\" onclick=\"x`", /<[^>]* onclick/i],
  ["a language that ends early", '```"><b>\nx\n```', /<b>/],
  ["an inline style", "|a|\n|:-:|\n|b|", /style=/],
];
for (const [name, text, never] of hostile) {
  test(`text can do nothing: ${name}`, () => assert.doesNotMatch(render(text), never));
}

test("code has its buttons, colours, and its text whole", () => {
  const html = render("```go\nif a < b { return }\n```");
  assert.match(html, /data-do="copy"/);
  assert.match(html, /data-do="insert"/);
  assert.match(html, /hljs-keyword/);
  assert.match(html, /a &lt; b/);
});

test("a chart has a place of its own", () => assert.match(render('```chart\n{"type":"bar"}\n```'), /<figure class="chart" data-chart="{&quot;type/));

test("places in text and in code are links", () => {
  assert.match(render("see net/dial.go:12-40."), /data-path="net\/dial\.go:12-40"/);
  assert.match(render("see `client.go:41`"), /data-path="client\.go:41"/);
  assert.match(render("see [the test](net/x_test.go)"), /data-path="net\/x_test\.go"/);
  assert.doesNotMatch(render("[net/a.go:1](https://example.com)"), /data-path/);
});

test("what is a place", () => {
  assert.deepEqual(place("net/dial.go:12-40"), { path: "net/dial.go", line: 12 });
  assert.deepEqual(place("net/dial.go"), { path: "net/dial.go", line: undefined });
  assert.deepEqual(place("a.go:3"), { path: "a.go", line: 3 });
  for (const no of ["fmt.Println", "a.go", "12:30", "http://x.y/z.go:1", "v1.2.3:4", "x = y.z:1"]) {
    assert.equal(place(no), undefined, no);
  }
});

test("a line without its marks", () => {
  assert.equal(plain("I'll look at how the **transport** retries, then at the `test`."), "I'll look at how the transport retries, then at the test.");
  assert.equal(plain("## Why [it](x) is _flaky_"), "Why it is flaky");
});

const texts = [
  "One.\n\nTwo.\n\nThree",
  "A list:\n\n- a\n\n- b\n\n  more of b\n\nAfter.\n\nEnd",
  "1. a\n\n2. b\n\nEnd.\n\nx",
  "Code:\n\n```go\nfunc a() {\n\n}\n```\n\nafter\n\nend",
  "````md\n```\n\ninner\n```\n````\n\nend.\n\nx",
  "| a | b |\n|---|---|\n| 1 | 2 |\n\nAfter.\n\nx",
  "> quoted\n\n> more\n\nend\n\nx",
  "    indented\n\n    more\n\nend\n\nx",
];
test("a cut at a settled place changes nothing of what is drawn", () => {
  for (const text of texts) {
    let from = 0;
    let out = "";
    for (let n = 0; n <= text.length; n++) {
      const { at } = settled(text.slice(0, n), from);
      assert.ok(at >= from && at <= n);
      out += render(text.slice(from, at));
      from = at;
    }
    assert.equal(out + render(text.slice(from)), render(text), text);
    assert.ok(from > 0, text);
  }
});
