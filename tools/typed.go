package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// ArgsMax bounds the bytes of one call's arguments. A whole file's content
// fits; a runaway model's endless string doesn't.
const ArgsMax = 8 << 20

// typed is a tool whose arguments are a Go struct: the struct is the schema.
type typed[In any] struct {
	spec  Spec
	title func(In) string
	run   func(context.Context, Env, In) Result
}

// Typed makes a Tool from a function over a struct. The JSON schema comes from
// the struct: a field without omitempty is required, a `jsonschema` tag is its
// description. Arguments are decoded strictly, and what is wrong with them is
// an error result in words for the model. It panics when In can't be described
// by a schema, which is a mistake in the program and shows in the first test.
func Typed[In any](spec Spec, title func(In) string, run func(context.Context, Env, In) Result) Tool {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("tools: %s: no schema for its arguments: %v", spec.Name, err))
	}
	dropNullTypes(schema)
	spec.Schema, err = json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tools: %s: its schema can't be written: %v", spec.Name, err))
	}
	spec.Description = strings.TrimSpace(spec.Description)
	return &typed[In]{spec: spec, title: title, run: run}
}

// dropNullTypes turns ["null","array"] into "array": Go's nil slices are not
// something that a model should be told to send, and some providers refuse
// lists of types.
func dropNullTypes(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	dropNullTypes(s.Items)
	for _, p := range s.Properties {
		dropNullTypes(p)
	}
}

func (t *typed[In]) Spec() Spec { return t.spec }

// Title never fails: arguments that can't be read show as they came, cut short.
func (t *typed[In]) Title(args json.RawMessage) string {
	var in In
	if err := decode(args, &in); err != nil {
		return oneLine(string(args), titleMax)
	}
	return oneLine(t.title(in), titleMax)
}

func (t *typed[In]) Run(ctx context.Context, env Env, args json.RawMessage) Result {
	if err := ctx.Err(); err != nil {
		return cancelled()
	}
	var in In
	if err := decode(args, &in); err != nil {
		return Fail(fmt.Sprintf("%s: %s", t.spec.Name, err), "bad arguments")
	}
	return t.run(ctx, env, in)
}

// decode reads strict JSON into the struct that v points to. Its errors name
// the field and what it should have been.
func decode(args json.RawMessage, v any) error {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	if len(args) > ArgsMax {
		return fmt.Errorf("the arguments are %d bytes long, the limit is %d; do it in smaller pieces", len(args), ArgsMax)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(args, &fields); err != nil {
		return fmt.Errorf("the arguments must be one JSON object: %s", jsonReason(err))
	}
	t := reflect.TypeOf(v).Elem()
	if err := checkFields(t, fields, ""); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return errors.New(jsonReason(err))
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is more after the arguments' JSON object")
	}
	return nil
}

// checkFields names unknown, missing and null fields before the decoder, whose
// own words for them don't help a model.
func checkFields(t reflect.Type, fields map[string]json.RawMessage, at string) error {
	known := map[string]reflect.Type{}
	var names, missing []string
	for i := range t.NumField() {
		name, opts, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		known[name] = t.Field(i).Type
		names = append(names, name)
		if raw, ok := fields[name]; (!ok || string(raw) == "null") && !strings.Contains(opts, "omit") {
			missing = append(missing, name)
		}
	}
	for _, name := range sortedKeys(fields) {
		if _, ok := known[name]; ok {
			continue
		}
		hint := "allowed: " + strings.Join(names, ", ")
		if near := nearest(name, names); near != "" {
			hint = fmt.Sprintf("did you mean %q? %s", at+near, hint)
		}
		return fmt.Errorf("unknown argument %q; %s", at+name, hint)
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing argument %q (needed: %s)", at+missing[0], strings.Join(missing, ", "))
	}
	for _, name := range names {
		if err := checkNested(known[name], fields[name], at+name); err != nil {
			return err
		}
	}
	return nil
}

// checkNested looks into lists of objects, so that edits[1].oldtext is named
// as such.
func checkNested(t reflect.Type, raw json.RawMessage, at string) error {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Struct || len(raw) == 0 {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return fmt.Errorf("%q must be an array of objects, not %s", at, jsonKind(raw))
	}
	for i, item := range list {
		var fields map[string]json.RawMessage
		where := fmt.Sprintf("%s[%d]", at, i)
		if json.Unmarshal(item, &fields) != nil || fields == nil {
			return fmt.Errorf("%q must be an object, not %s", where, jsonKind(item))
		}
		if err := checkFields(t.Elem(), fields, where+"."); err != nil {
			return err
		}
	}
	return nil
}

func jsonKind(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); {
	case len(raw) == 0:
		return "nothing"
	case raw[0] == '{':
		return "an object"
	case raw[0] == '[':
		return "an array"
	case raw[0] == '"':
		return "a string"
	case raw[0] == 't' || raw[0] == 'f':
		return "a boolean"
	case raw[0] == 'n':
		return "null"
	}
	return "a number"
}

// jsonReason puts encoding/json's errors into words for the model.
func jsonReason(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		where := fmt.Sprintf("%q", wrong.Field)
		if wrong.Field == "" {
			where = "it"
		}
		return fmt.Sprintf("%s must be %s, not %s", where, goKind(wrong.Type), article(wrong.Value))
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

func goKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

func article(kind string) string {
	word, rest, _ := strings.Cut(kind, " ")
	if word == "bool" {
		word = "boolean"
	}
	a := "a "
	if strings.ContainsRune("aeiou", rune(word[0])) {
		a = "an "
	}
	if rest != "" {
		return a + word + " (" + rest + ")"
	}
	return a + word
}
