package main

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// shape turns a Go type into the wire's.
func (l *loader) shape(t reflect.Type) shape {
	if t == reflect.TypeFor[json.RawMessage]() {
		return shape{kind: unknown}
	}
	switch t.Kind() {
	case reflect.Pointer:
		s := l.shape(t.Elem())
		s.nullable = true
		return s
	case reflect.Slice:
		elem := l.shape(t.Elem())
		return shape{kind: list, elem: &elem}
	case reflect.Map:
		elem := l.shape(t.Elem())
		return shape{kind: table, elem: &elem}
	case reflect.Bool:
		return shape{kind: boolean}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return shape{kind: integer}
	case reflect.Float64:
		return shape{kind: number}
	case reflect.Interface:
		return shape{kind: unknown}
	case reflect.String:
		if t.PkgPath() == "" {
			return shape{kind: text}
		}
		return l.named(t, l.set)
	case reflect.Struct:
		return l.named(t, l.record)
	}
	l.fail(fmt.Errorf("%s: the wire has no type for it", t))
	return shape{}
}

// named makes the object of a type once.
func (l *loader) named(t reflect.Type, build func(reflect.Type, *object)) shape {
	if name, ok := l.done[t]; ok {
		return shape{kind: ref, ref: name}
	}
	name := t.Name()
	if n, ok := names[t]; ok {
		name = n
	}
	if other, taken := l.byName[name]; taken {
		l.fail(fmt.Errorf("%s and %s are both called %s: give one another name in names", other, t, name))
	}
	l.done[t], l.byName[name] = name, t
	o := &object{name: name}
	if t.PkgPath() != "main" && !strings.HasSuffix(t.PkgPath(), "/gen") {
		o.doc = strings.Join(strings.Fields(trimTable(l.sourceOf(t).docs[t.Name()])), " ")
	}
	build(t, o)
	if o.fields == nil && o.values == nil && o.oneOf == nil && t.Kind() == reflect.String {
		delete(l.done, t) // a string type without constants is text
		delete(l.byName, name)
		return shape{kind: text}
	}
	l.m.objects = append(l.m.objects, o)
	return shape{kind: ref, ref: name}
}

// trimTable cuts a comment at its first indented block.
func trimTable(doc string) string {
	doc, _, _ = strings.Cut(doc, "\n\n\t")
	return doc
}

// set makes the object of a string type with constants.
func (l *loader) set(t reflect.Type, o *object) {
	values, err := l.sourceOf(t).strings(t.Name())
	if err != nil {
		l.fail(err)
	}
	o.values = values
}

// record makes the object of a struct, and the choices behind the two types
// that write their own JSON.
func (l *loader) record(t reflect.Type, o *object) {
	switch t {
	case reflect.TypeFor[cycle.ResolutionStep]():
		o.doc = "A row of the step tree."
		user, block := &object{name: "UserStep"}, &object{name: "AIBlock"}
		user.fields = l.fields(reflect.TypeFor[UserStep]())
		block.fields = l.fields(reflect.TypeFor[AIBlock]())
		o.oneOf = []*object{user, block}
	case reflect.TypeFor[cycle.Op]():
		l.ops(t, o)
	default:
		o.fields = l.fields(t)
	}
}

// opTypes narrows the fields of ops that are sets of strings.
var opTypes = map[string]reflect.Type{
	"cycle.kind": reflect.TypeFor[cycle.RootKind](), "status.status": reflect.TypeFor[cycle.CycleStatus](),
	"step.type": reflect.TypeFor[cycle.StepType](), "step.kind": reflect.TypeFor[cycle.OutputKind](),
	"call.type": reflect.TypeFor[cycle.GroupType](), "result.status": reflect.TypeFor[cycle.ResultStatus](),
	"anomaly.reason": reflect.TypeFor[cycle.AnomalyReason](),
}

// ops asks cycle.Op itself which fields each kind of op writes: always, and
// when they hold something.
func (l *loader) ops(t reflect.Type, o *object) {
	kinds, err := l.source("cycle").strings("OpKind")
	if err != nil {
		l.fail(err)
	}
	all := map[string]field{}
	for _, f := range l.fields(t) {
		all[f.name] = f
	}
	for _, k := range kinds {
		zero := cycle.Op{Op: cycle.OpKind(k.text)}
		full := cycle.Op{
			Op: zero.Op, Cycle: "x", Step: 1, Group: 1, Call: 1, Type: "x", Kind: "x", ID: "x", CallID: "x", Tool: "x",
			Args: json.RawMessage(`{}`), Status: "x", Text: "x", N: 1, Input: []string{"x"}, Queued: []cycle.Queued{{}}, Index: 1, Reason: "x",
		}
		always, some := l.keys(zero), l.keys(full)
		one := &object{name: k.text}
		for _, name := range some {
			f := all[name]
			f.optional = true
			for _, a := range always {
				f.optional = f.optional && a != name
			}
			if t, ok := opTypes[k.text+"."+name]; ok {
				f.typ = l.shape(t)
			}
			if name == "op" {
				f.typ = shape{kind: literal, literals: []string{k.text}}
			}
			one.fields = append(one.fields, f)
		}
		o.oneOf = append(o.oneOf, one)
	}
}

// keys gives the members of an op's JSON in order.
func (l *loader) keys(op cycle.Op) (out []string) {
	data, err := json.Marshal(op)
	if err != nil {
		l.fail(err)
		return nil
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	_, _ = dec.Token()
	for dec.More() {
		key, _ := dec.Token()
		out = append(out, key.(string))
		var skip json.RawMessage
		_ = dec.Decode(&skip)
	}
	return out
}

// fields gives a struct's members as encoding/json sees them.
func (l *loader) fields(t reflect.Type) []field {
	docs := map[string]string{}
	if strings.HasPrefix(t.PkgPath(), module) && path.Base(t.PkgPath()) != "gen" {
		docs = l.sourceOf(t).fieldDocs(t.Name())
	}
	var out []field
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && name == "" {
			out = append(out, l.fields(f.Type)...)
			continue
		}
		if name == "" {
			l.fail(fmt.Errorf("%s.%s has no json tag", t, f.Name))
			continue
		}
		typ := l.shape(f.Type)
		if override := f.Tag.Get("ts"); override != "" {
			typ = l.written(t, override)
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		if optional {
			typ.nullable = false
		}
		out = append(out, field{name: name, typ: typ, optional: optional, doc: docs[f.Name]})
	}
	return out
}

// written reads the type in a ts tag: a name, a list of it, or literals.
func (l *loader) written(t reflect.Type, s string) shape {
	if elem, ok := strings.CutSuffix(s, "[]"); ok {
		e := l.written(t, elem)
		return shape{kind: list, elem: &e}
	}
	switch {
	case s == "unknown":
		return shape{kind: unknown}
	case strings.HasPrefix(s, `"`):
		var out shape
		out.kind = literal
		for part := range strings.SplitSeq(s, "|") {
			text, err := strconv.Unquote(strings.TrimSpace(part))
			if err != nil {
				l.fail(fmt.Errorf("%s: the ts tag %s: %w", t, s, err))
			}
			out.literals = append(out.literals, text)
		}
		return out
	}
	return shape{kind: ref, ref: s}
}
