package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// luaPrefix keeps our class names apart from other plugins'.
const luaPrefix = "agent_lsp."

// luaFace is the LuaCATS types of the Neovim plugin, and the method names.
func luaFace(m *model) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "-- %s\n\nlocal M = {}\n\nM.version = %d\n\n", generated, m.version)
	luaList(&b, "methods", "Requests from the client.", m.methods)
	luaList(&b, "server_requests", "Requests from the server.", m.requests)
	luaList(&b, "notifications", "Notifications from the server.", m.notifications)
	for _, o := range m.objects {
		luaDoc(&b, o.doc)
		switch {
		case o.values != nil:
			fmt.Fprintf(&b, "---@alias %s%s\n", luaPrefix, o.name)
			for _, v := range o.values {
				fmt.Fprintf(&b, "---| %s%s\n", strconv.Quote(v.text), hashed(v.doc))
			}
			b.WriteString("\n")
		case o.oneOf != nil:
			var parts []string
			for _, one := range o.oneOf {
				parts = append(parts, luaPrefix+o.name+"."+strings.ReplaceAll(one.name, "-", "_"))
			}
			fmt.Fprintf(&b, "---@alias %s%s %s\n\n", luaPrefix, o.name, strings.Join(parts, "|"))
			for i, one := range o.oneOf {
				luaClass(&b, strings.TrimPrefix(parts[i], luaPrefix), one.fields)
			}
		default:
			luaClass(&b, o.name, o.fields)
		}
	}
	b.WriteString("return M\n")
	return b.Bytes(), nil
}

func luaClass(b *bytes.Buffer, name string, fields []field) {
	fmt.Fprintf(b, "---@class %s%s\n", luaPrefix, name)
	for _, f := range fields {
		fmt.Fprintf(b, "---@field %s%s %s%s\n", f.name, mark(f), luaType(f.typ), spaced(f.doc))
	}
	b.WriteString("\n")
}

func luaList(b *bytes.Buffer, name, doc string, methods []method) {
	luaDoc(b, doc)
	fmt.Fprintf(b, "M.%s = {\n", name)
	for _, x := range methods {
		fmt.Fprintf(b, "  %s, -- %s\n", strconv.Quote(x.name), x.doc)
	}
	b.WriteString("}\n\n")
}

func luaDoc(b *bytes.Buffer, doc string) {
	if doc != "" {
		fmt.Fprintf(b, "--- %s\n", doc)
	}
}

func spaced(doc string) string {
	if doc == "" {
		return ""
	}
	return " " + doc
}

func hashed(doc string) string {
	if doc == "" {
		return ""
	}
	return " # " + doc
}

func luaType(s shape) string {
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
		out = luaPrefix + s.ref
	case list:
		if out = luaType(*s.elem); strings.Contains(out, "|") {
			out = "(" + out + ")"
		}
		out += "[]"
	case table:
		out = "table<string, " + luaType(*s.elem) + ">"
	case literal:
		var parts []string
		for _, l := range s.literals {
			parts = append(parts, strconv.Quote(l))
		}
		out = strings.Join(parts, "|")
	}
	if s.nullable {
		out += "|vim.NIL"
	}
	return out
}
