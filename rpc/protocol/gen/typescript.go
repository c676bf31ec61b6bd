package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// tsFace is the types of the VS Code extension.
func tsFace(m *model) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s\n\nexport const protocolVersion = %d;\n\n", generated, m.version)
	tsMap(&b, "Methods", "methods", "Requests from the client.", m.methods, true)
	tsMap(&b, "ServerRequests", "serverRequests", "Requests from the server.", m.requests, true)
	tsMap(&b, "Notifications", "notifications", "Notifications from the server.", m.notifications, false)
	for _, o := range m.objects {
		tsDoc(&b, "", o.doc)
		switch {
		case o.values != nil:
			var parts []string
			for _, v := range o.values {
				parts = append(parts, strconv.Quote(v.text))
			}
			fmt.Fprintf(&b, "export type %s = %s;\n\n", o.name, strings.Join(parts, " | "))
		case o.oneOf != nil:
			fmt.Fprintf(&b, "export type %s =", o.name)
			for _, one := range o.oneOf {
				b.WriteString("\n  | {")
				for i, f := range one.fields {
					if i > 0 {
						b.WriteString(";")
					}
					fmt.Fprintf(&b, " %s%s: %s", f.name, mark(f), tsType(f.typ))
				}
				b.WriteString(" }")
			}
			b.WriteString(";\n\n")
		default:
			fmt.Fprintf(&b, "export interface %s {\n", o.name)
			for _, f := range o.fields {
				tsDoc(&b, "  ", f.doc)
				fmt.Fprintf(&b, "  %s%s: %s;\n", f.name, mark(f), tsType(f.typ))
			}
			b.WriteString("}\n\n")
		}
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

// tsMap writes methods as a type from names to payloads, and as a list.
func tsMap(b *bytes.Buffer, typ, list, doc string, methods []method, results bool) {
	tsDoc(b, "", doc)
	fmt.Fprintf(b, "export interface %s {\n", typ)
	for _, x := range methods {
		tsDoc(b, "  ", x.doc)
		if results {
			fmt.Fprintf(b, "  %q: { params: %s; result: %s };\n", x.name, tsPayload(x.params), tsPayload(x.result))
		} else {
			fmt.Fprintf(b, "  %q: %s;\n", x.name, tsPayload(x.params))
		}
	}
	fmt.Fprintf(b, "}\n\nexport const %s: readonly (keyof %s)[] = [\n", list, typ)
	for _, x := range methods {
		fmt.Fprintf(b, "  %q,\n", x.name)
	}
	b.WriteString("];\n\n")
}

func tsPayload(name string) string {
	if name == "" {
		return "Record<string, never>"
	}
	return name
}

func tsDoc(b *bytes.Buffer, indent, doc string) {
	if doc != "" {
		fmt.Fprintf(b, "%s/** %s */\n", indent, strings.ReplaceAll(doc, "*/", "*\\/"))
	}
}

func mark(f field) string {
	if f.optional {
		return "?"
	}
	return ""
}

func tsType(s shape) string {
	out := "unknown"
	switch s.kind {
	case text:
		out = "string"
	case integer, number:
		out = "number"
	case boolean:
		out = "boolean"
	case ref:
		out = s.ref
	case list:
		if out = tsType(*s.elem); strings.Contains(out, " ") {
			out = "(" + out + ")"
		}
		out += "[]"
	case table:
		out = "Record<string, " + tsType(*s.elem) + ">"
	case literal:
		var parts []string
		for _, l := range s.literals {
			parts = append(parts, strconv.Quote(l))
		}
		out = strings.Join(parts, " | ")
	}
	if s.nullable {
		out += " | null"
	}
	return out
}
