package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// payload is what one method carries in one direction.
type payload struct {
	method, part string // part is params or result
	typ          reflect.Type
}

// payloads lists everything that our methods carry.
func payloads(t *testing.T) []payload {
	var out []payload
	add := func(method, part string, typ reflect.Type) {
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ != reflect.TypeFor[agent.Empty]() && typ != reflect.TypeFor[json.RawMessage]() {
			out = append(out, payload{method, part, typ})
		}
	}
	server := reflect.TypeFor[protocol.Server]()
	remote := reflect.TypeFor[Remote]()
	for i := range server.NumMethod() {
		m := server.Method(i)
		name := wireName(t, remote, m.Name)
		add(name, "params", m.Type.In(1))
		add(name, "result", m.Type.Out(0))
	}
	add("agent/cycle", "params", reflect.TypeFor[agent.CycleNotification]())
	add("agent/stream", "params", reflect.TypeFor[agent.StreamChunk]())
	add("agent/edits/changed", "params", reflect.TypeFor[agent.EditsChanged]())
	add("agent/index", "params", reflect.TypeFor[agent.IndexStatus]())
	add("loop:control", "params", reflect.TypeFor[protocol.ControlMessage]())
	add("loop:current", "params", reflect.TypeFor[protocol.LoopEvent]())
	add("agent/permission", "params", reflect.TypeFor[agent.PermissionParams]())
	add("agent/permission", "result", reflect.TypeFor[agent.PermissionResult]())
	add("agent/editor", "params", reflect.TypeFor[agent.EditorParams]())
	return out
}

// wireName asks a Remote which method it calls.
func wireName(t *testing.T, remote reflect.Type, goName string) (name string) {
	m, ok := remote.MethodByName(goName)
	if !ok {
		t.Fatalf("Remote has no %s", goName)
	}
	in := reflect.New(m.Type.In(2).Elem())
	m.Func.Call([]reflect.Value{reflect.ValueOf(Remote{nameCaller(func(n string) { name = n })}), reflect.ValueOf(t.Context()), in})
	return name
}

func schemaFile(t *testing.T) []byte {
	data, err := os.ReadFile("../docs/protocol.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// words are values for string types that are sets.
var words = map[reflect.Type]string{
	reflect.TypeFor[cycle.CycleStatus]():       "completed",
	reflect.TypeFor[cycle.AnomalyReason]():     "stop-while-idle",
	reflect.TypeFor[contextplan.Section]():     "history",
	reflect.TypeFor[contextplan.Reason]():      "budget",
	reflect.TypeFor[protocol.ControlType]():    "RESULT",
	reflect.TypeFor[protocol.ControlCommand](): "escalate",
	reflect.TypeFor[protocol.LoopEventType]():  "STATE",
}

// opSamples is one op of each kind, with all its fields.
var opSamples = []cycle.Op{
	{Op: cycle.OpCycle, Cycle: "m1", Kind: "direct", Text: "hi"},
	{Op: cycle.OpStep, Cycle: "m1", Step: 1, Type: "ai-block", Kind: "reasoning", ID: "o1", Text: "let me"},
	{Op: cycle.OpText, Cycle: "m1", Step: 1, Text: " see"},
	{Op: cycle.OpCall, Cycle: "m1", Step: 1, Group: 0, Call: 0, Type: "read-group", CallID: "c1", Tool: "grep", Args: json.RawMessage(`{"pattern":"x"}`)},
	{Op: cycle.OpResult, Cycle: "m1", Step: 1, Group: 0, Call: 0, Status: "ok", Text: "found"},
	{Op: cycle.OpRound, Cycle: "m1", N: 1, Input: []string{"m1"}},
	{Op: cycle.OpOutput, Cycle: "m1", ID: "o1"},
	{Op: cycle.OpFeedback, Cycle: "m1", ID: "c1"},
	{Op: cycle.OpPush, ID: "m2", Text: "then"},
	{Op: cycle.OpPop},
	{Op: cycle.OpQueue, Queued: []cycle.Queued{{ID: "m2", Text: "then"}}},
	{Op: cycle.OpAnomaly, Index: 3, Reason: cycle.DuplicateCallID},
	{Op: cycle.OpStatus, Cycle: "m1", Status: "completed"},
}

var cycleSample = cycle.RequestCycle{
	ID: "m1", Root: cycle.Root{ID: "m1", Kind: cycle.RootDirect, Text: "hi"}, Status: cycle.CycleCompleted,
	Steps: []cycle.ResolutionStep{
		{Type: cycle.StepNonSteer, ID: "m1", Text: "hi"},
		{Type: cycle.StepAIBlock, ID: "o1", Text: "let me see", Kind: cycle.OutputReasoning, Groups: []cycle.Group{{Type: cycle.GroupRead, Calls: []cycle.Call{
			{CallID: "c1", Tool: "grep", Args: json.RawMessage(`{}`), Result: &cycle.Result{Status: cycle.ResultOK, Text: "found"}},
			{CallID: "c2", Tool: "read", Args: json.RawMessage(`{}`)},
		}}}},
		{Type: cycle.StepSteer, ID: "m3", Text: "faster"},
	},
	Rounds: []cycle.InferenceRound{{N: 1, Input: []string{"m1"}, Output: []string{"o1", "c1"}, Feedback: []string{"c1", "m3"}}},
}

// fill gives every field a value that isn't zero.
func fill(v reflect.Value) {
	t := v.Type()
	switch t {
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"any":1}`))
		return
	case reflect.TypeFor[[]json.RawMessage](): // only agent.CyclesResult has one
		v.Set(reflect.ValueOf([]json.RawMessage{marshal(cycleSample)}))
		return
	case reflect.TypeFor[[]cycle.Op]():
		v.Set(reflect.ValueOf(opSamples))
		return
	}
	switch t.Kind() {
	case reflect.String:
		word := words[t]
		if word == "" {
			word = "text \u00e9 <b>"
		}
		v.SetString(word)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		fill(v.Elem())
	case reflect.Interface:
		v.Set(reflect.ValueOf("any"))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		value := reflect.New(t.Elem()).Elem()
		fill(value)
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("key").Convert(t.Key()), value)
	case reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	}
}

// TestWireCorpus holds the wire's shapes: protocol/testdata/wire has a sample
// of everything that our methods carry, with all its fields. Each must be what
// Go writes, be read again without loss, also with fields that nobody knows,
// and fit the published schema. A renamed field shows up here; -update is for
// fields that were added.
func TestWireCorpus(t *testing.T) {
	const dir = "protocol/testdata/wire"
	var top jsonschema.Schema
	if err := json.Unmarshal(schemaFile(t), &top); err != nil {
		t.Fatal(err)
	}
	carried := map[string]map[string]struct{ Params, Result *jsonschema.Schema }{}
	for _, group := range []string{"methods", "serverRequests", "notifications"} {
		data, _ := json.Marshal(top.Extra[group])
		var m map[string]struct{ Params, Result *jsonschema.Schema }
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		carried[group] = m
	}
	for _, p := range payloads(t) {
		t.Run(p.method+" "+p.part, func(t *testing.T) {
			sample := reflect.New(p.typ)
			fill(sample.Elem())
			data, err := encode(sample.Interface())
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, strings.NewReplacer("/", "_", ":", "_").Replace(p.method)+"."+p.part+".json")
			pretty := indent(t, data)
			if *update {
				if err := os.WriteFile(path, pretty, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(want, pretty) {
				t.Fatalf("%s is another (%v; -update rewrites it)\n%s", path, err, firstDifference(string(pretty), string(want)))
			}
			again := reflect.New(p.typ)
			if err := decodeParams(withUnknown(t, want), again.Interface()); err != nil {
				t.Fatal(err)
			}
			if back, err := encode(again.Interface()); err != nil || !reflect.DeepEqual(parsed(t, back), parsed(t, data)) {
				t.Errorf("read and written again it is\n%s, not\n%s (%v)", back, data, err)
			}
			for _, group := range carried {
				if c, ok := group[p.method]; ok {
					schema := c.Params
					if p.part == "result" {
						schema = c.Result
					}
					fits(t, &top, schema, want)
				}
			}
		})
	}
}

func parsed(t *testing.T, data []byte) (v any) {
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func indent(t *testing.T, data []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), '\n')
}

// withUnknown adds a field that nobody knows to every object.
func withUnknown(t *testing.T, data []byte) []byte {
	var v any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	var add func(v any, table bool) any
	add = func(v any, table bool) any {
		switch v := v.(type) {
		case map[string]any:
			_, free := v["any"] // a value of any shape, which must come back as it is
			if _, isCycle := v["root"]; isCycle {
				return v // likewise
			}
			for k, x := range v {
				if k == "args" {
					continue // likewise
				}
				fields, _ := x.(map[string]any)
				_, isTable := fields["key"]
				v[k] = add(x, isTable)
			}
			if !free && !table {
				v["x-unknown"] = map[string]any{"later": true}
			}
		case []any:
			for i, x := range v {
				v[i] = add(x, false)
			}
		}
		return v
	}
	out, err := json.Marshal(add(v, false))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fits holds a value against the schema, and that no field of a record is
// missing in the one or the other.
func fits(t *testing.T, top, schema *jsonschema.Schema, data []byte) {
	t.Helper()
	v := parsed(t, data)
	resolved, err := (&jsonschema.Schema{Ref: schema.Ref, Defs: top.Defs}).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(v); err != nil {
		t.Errorf("the schema doesn't take the sample: %v", err)
	}
	var walk func(at string, s *jsonschema.Schema, v any)
	walk = func(at string, s *jsonschema.Schema, v any) {
		if s.Ref != "" {
			s = top.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
		}
		switch v := v.(type) {
		case map[string]any:
			for name, p := range s.Properties {
				if _, ok := v[name]; !ok {
					t.Errorf("%s.%s is in the schema and not on the wire", at, name)
				}
				walk(at+"."+name, p, v[name])
			}
			for name := range v {
				if s.Properties != nil && s.Properties[name] == nil {
					t.Errorf("%s.%s is on the wire and not in the schema", at, name)
				}
			}
		case []any:
			for _, x := range v {
				if s.Items != nil && s.Items.OneOf == nil {
					walk(at+"[]", s.Items, x)
				}
			}
		}
	}
	walk(schema.Ref, schema, v)
}

// nameCaller only notes which method is called.
type nameCaller func(method string)

func (f nameCaller) Call(_ context.Context, method string, _, _ any) error {
	f(method)
	return nil
}

// TestCommandsAreDocumented holds the table of docs/protocol.md against the
// commands that there are.
func TestCommandsAreDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "## Commands")
	table, _, _ = strings.Cut(table, "## Types")
	for _, name := range commandNames() {
		if !strings.Contains(table, "| `"+name+"` |") {
			t.Errorf("docs/protocol.md lacks the command %s", name)
		}
	}
	if n := strings.Count(table, "| `agent."); n != len(commands) {
		t.Errorf("docs/protocol.md has %d commands, there are %d", n, len(commands))
	}
}
