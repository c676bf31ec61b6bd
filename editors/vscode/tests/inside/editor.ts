import assert from "node:assert/strict";
import * as vscode from "vscode";
import { EDITOR_OPS, answer } from "../../src/editor";

/** A language server inside of the editor, for a language of its own. */
function provider(): vscode.Disposable {
  const at = new vscode.Range(0, 4, 0, 8);
  const language = "plaintext";
  return vscode.Disposable.from(
    vscode.languages.registerDefinitionProvider(language, { provideDefinition: (d) => new vscode.Location(d.uri, at) }),
    vscode.languages.registerReferenceProvider(language, { provideReferences: (d) => [new vscode.Location(d.uri, at), new vscode.Location(d.uri, new vscode.Range(1, 0, 1, 4))] }),
    vscode.languages.registerHoverProvider(language, { provideHover: () => new vscode.Hover("**words**") }),
    vscode.languages.registerDocumentSymbolProvider(language, { provideDocumentSymbols: () => [new vscode.DocumentSymbol("Name", "detail", vscode.SymbolKind.Function, at, at)] }),
    vscode.languages.registerRenameProvider(language, {
      provideRenameEdits: (d, _p, name) => {
        const edit = new vscode.WorkspaceEdit();
        edit.replace(d.uri, at, name);
        return edit;
      },
    }),
    vscode.languages.registerDocumentFormattingEditProvider(language, { provideDocumentFormattingEdits: () => [vscode.TextEdit.replace(at, "tidy")] }),
  );
}

suite("the editor's own language servers answer the agent", () => {
  const range = { start: { line: 0, character: 4 }, end: { line: 0, character: 8 } };
  let uri: string;
  let document: vscode.TextDocument;
  let languages: vscode.Disposable;
  const problems = vscode.languages.createDiagnosticCollection("test");
  suiteSetup(async () => {
    const file = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, "words.txt");
    await vscode.workspace.fs.writeFile(file, Buffer.from("the word\nword\n"));
    document = await vscode.workspace.openTextDocument(file);
    uri = file.toString();
    languages = provider();
    const d = new vscode.Diagnostic(new vscode.Range(0, 4, 0, 8), "wrong", vscode.DiagnosticSeverity.Warning);
    d.source = "test";
    problems.set(file, [d]);
  });
  suiteTeardown(() => {
    languages.dispose();
    problems.dispose();
  });
  const position = { line: 0, character: 5 };

  test("definition", async () => assert.deepEqual(await answer({ op: "definition", uri, position }), [{ uri, range }]));
  test("references", async () => assert.equal(((await answer({ op: "references", uri, position })) as unknown[]).length, 2));
  test("hover", async () => assert.deepEqual(await answer({ op: "hover", uri, position }), { contents: { kind: "markdown", value: "**words**" } }));
  test("symbols count kinds as LSP does", async () => {
    assert.deepEqual(await answer({ op: "symbols", uri }), [{ name: "Name", kind: 12, detail: "detail", range, selectionRange: range, children: [] }]);
  });
  test("diagnostics count severities as LSP does", async () => {
    assert.deepEqual(await answer({ op: "diagnostics", uri }), [{ range, severity: 2, source: "test", code: undefined, message: "wrong" }]);
  });
  test("rename", async () => assert.deepEqual(await answer({ op: "rename", uri, position, newName: "tidy" }), { changes: { [uri]: [{ range, newText: "tidy" }] } }));
  test("format", async () => {
    const edits = (await answer({ op: "format", uri })) as { range: typeof range; newText: string }[]; // the editor makes them as small as it can
    let line = document.lineAt(0).text;
    for (const e of edits.toReversed()) {
      line = line.slice(0, e.range.start.character) + e.newText + line.slice(e.range.end.character);
    }
    assert.equal(line, "the tidy");
  });
  test("save writes what is open and changed", async () => {
    const edit = new vscode.WorkspaceEdit();
    edit.insert(document.uri, new vscode.Position(0, 0), "saved: ");
    assert.ok(await vscode.workspace.applyEdit(edit));
    assert.ok(document.isDirty);
    assert.equal(await answer({ op: "save", uri, version: document.version - 1 }), false); // somebody has typed since
    assert.ok(document.isDirty);
    assert.equal(await answer({ op: "save", uri, version: document.version }), true);
    assert.match(String(await vscode.workspace.fs.readFile(document.uri)), /^saved: the word/);
  });
  test("what nobody knows is null", async () => {
    assert.equal(await answer({ op: "somersault", uri }), null);
    assert.equal(await answer({ op: "definition", uri: "file:///nowhere/at/all.txt", position }), null);
    assert.equal(EDITOR_OPS.length, 8);
  });
});
