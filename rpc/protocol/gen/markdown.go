package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

//go:embed protocol.md.tmpl
var markdownTemplate string

// commandDoc is a row of the table of commands.
type commandDoc struct{ Name, Strings, Doc string }

// commandDocs describes the commands of rpc/command.go; a test there holds
// the two lists together.
var commandDocs = []commandDoc{
	{"agent.submit", "input", "sends a message; without one, like agent.edit"},
	{"agent.edit", "input", "opens a document for an instruction, which is sent when it is saved"},
	{"agent.accept", "hunk ids", "accepts hunks; without any, the one at the cursor, else the next one"},
	{"agent.reject", "hunk ids", "rejects hunks, likewise"},
	{"agent.acceptFile", "uri", "accepts all hunks of a file"},
	{"agent.rejectFile", "uri", "rejects all hunks of a file"},
	{"agent.acceptAll", "", "accepts everything that is pending"},
	{"agent.rejectAll", "", "rejects everything that is pending"},
	{"agent.pause", "run id", "pauses a run; without an id, the latest that runs"},
	{"agent.resume", "run id", "resumes a paused run"},
	{"agent.cancel", "run id", "stops a run at once"},
	{"agent.escalate", "model, reason", "gives a run another model from its next call on"},
	{"agent.showPlan", "plan id", "shows what the model was sent, what was left out, and why"},
	{"agent.showTrace", "", "shows the tool calls of the latest turn"},
	{"agent.status", "", "shows what is going on"},
	{"agent.model", "model", "chooses the session's model; without one, lists them"},
	{"agent.undoTurn", "", "puts the files back as they stood before the latest turn that changed any"},
	{"agent.undoReject", "", "brings the hunks of the last reject back"},
	{"agent.newSession", "", "begins a new session"},
}

// row is a method, code, limit or type as the template shows it.
type row struct{ Name, Value, Doc, Params, Result, Body string }

// markdownFace is docs/protocol.md.
func markdownFace(m *model) ([]byte, error) {
	example, err := os.ReadFile(filepath.Join(m.root, "rpc", "testdata", "client.py"))
	if err != nil {
		return nil, err
	}
	t, err := template.New("").Parse(markdownTemplate)
	if err != nil {
		return nil, err
	}
	data := map[string]any{
		"Generated": generated, "Version": m.version, "Example": string(example), "Ops": m.opsTable,
		"Methods": methodRows(m.methods), "Notifications": methodRows(m.notifications), "Requests": methodRows(m.requests),
		"Commands": commandDocs,
	}
	var codes, limits, objects []row
	for _, c := range m.codes {
		codes = append(codes, row{Name: c.name, Doc: c.doc})
	}
	for _, l := range m.limits {
		limits = append(limits, row{Name: l.name, Value: l.value, Doc: l.doc})
	}
	for _, o := range m.objects {
		objects = append(objects, row{Name: o.name, Doc: o.doc, Body: body(o)})
	}
	data["Codes"], data["Limits"], data["Objects"] = codes, limits, objects
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

func methodRows(list []method) (out []row) {
	for _, x := range list {
		out = append(out, row{Name: x.name, Doc: x.doc, Params: payloadLink(x.params), Result: payloadLink(x.result)})
	}
	return out
}

func payloadLink(name string) string {
	switch name {
	case "":
		return "`{}`"
	case "unknown":
		return "LSP's own, or null"
	}
	return link(name)
}

func link(name string) string { return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name)) }

// body is a type's table.
func body(o *object) string {
	var b strings.Builder
	switch {
	case o.values != nil:
		b.WriteString("| value | |\n| --- | --- |\n")
		for _, v := range o.values {
			fmt.Fprintf(&b, "| `%s` | %s |\n", v.text, cell(v.doc))
		}
	case o.oneOf != nil:
		b.WriteString("One of:\n\n| | fields |\n| --- | --- |\n")
		for _, one := range o.oneOf {
			var parts []string
			for _, f := range one.fields {
				parts = append(parts, fmt.Sprintf("`%s%s` %s", f.name, mark(f), markdownType(f.typ)))
			}
			fmt.Fprintf(&b, "| %s | %s |\n", one.name, strings.Join(parts, ", "))
		}
	case len(o.fields) == 0:
		b.WriteString("Has no fields.\n")
	default:
		b.WriteString("| field | type | |\n| --- | --- | --- |\n")
		for _, f := range o.fields {
			fmt.Fprintf(&b, "| `%s%s` | %s | %s |\n", f.name, mark(f), markdownType(f.typ), cell(f.doc))
		}
	}
	return b.String()
}

func cell(doc string) string { return strings.ReplaceAll(doc, "|", "\\|") }

func markdownType(s shape) string {
	out := "any"
	switch s.kind {
	case text:
		out = "string"
	case integer:
		out = "integer"
	case number:
		out = "number"
	case boolean:
		out = "boolean"
	case ref:
		out = link(s.ref)
	case list:
		out = "list of " + markdownType(*s.elem)
	case table:
		out = "object of " + markdownType(*s.elem)
	case literal:
		var parts []string
		for _, l := range s.literals {
			parts = append(parts, "`"+l+"`")
		}
		out = strings.Join(parts, " or ")
	}
	if s.nullable {
		out += " or null"
	}
	return out
}
