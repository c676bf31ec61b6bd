package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/rag"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

const module = "github.com/agent-lsp/agent-lsp/"

// names are the wire's names of types whose Go names are only clear beside
// their package's.
var names = map[reflect.Type]string{
	reflect.TypeFor[cycle.RequestCycle]():   "Cycle",
	reflect.TypeFor[cycle.ResolutionStep](): "Step",
	reflect.TypeFor[cycle.Op]():             "CycleOp",
	reflect.TypeFor[cycle.Meta]():           "CyclesMeta",
	reflect.TypeFor[rag.Set]():              "RetrievalSet",
	reflect.TypeFor[rag.Item]():             "RetrievalItem",
	reflect.TypeFor[rag.Why]():              "RetrievalWhy",
	reflect.TypeFor[contextplan.Item]():     "PlannedItem",
	reflect.TypeFor[agent.Code]():           "ErrorCode",
}

// codeDocs says of each error code what it means.
var codeDocs = map[agent.Code]string{
	agent.CodeNotFound:         "what was named doesn't exist, or not any more",
	agent.CodeInvalidState:     "it can't be done in the present state",
	agent.CodeBadRequest:       "the request is malformed; the message names the field",
	agent.CodeNoModel:          "no model is configured that can do it",
	agent.CodeBudgetOverflow:   "what must be sent doesn't fit into the model's context",
	agent.CodePermissionDenied: "the person, or a rule of theirs, said no",
	agent.CodeIndexUnavailable: "the index can't be used",
	agent.CodeStoreUnavailable: "the store can't be read or written",
	agent.CodeDuplicate:        "the request is being worked on already",
	agent.CodeModelFailed:      "the model's provider failed",
	agent.CodeUnsupported:      "the other side can't do this",
	protocol.CodeCancelled:     "$/cancelRequest came first",
	protocol.CodeInternal:      "a fault of the server; its log has more",
}

// Shapes of a step on the wire; cycle.ResolutionStep writes them.
type (
	// UserStep is a message of the person: the cycle's root, or a steer.
	UserStep struct {
		Type string `json:"type" ts:"\"non-steer\" | \"steer\""`
		ID   string `json:"id"`
		Text string `json:"text"`
	}
	// AIBlock is one text of the model and the tool calls that follow it.
	AIBlock struct {
		Type   string        `json:"type" ts:"\"ai-block\""`
		Text   TextItem      `json:"text"`
		Groups []cycle.Group `json:"groups"`
	}
	// TextItem is a text of the model.
	TextItem struct {
		Kind cycle.OutputKind `json:"kind"`
		ID   string           `json:"id"`
		Text string           `json:"text"`
	}
)

// loader turns Go types into objects.
type loader struct {
	m       *model
	root    string
	sources map[string]*source // by package path
	done    map[reflect.Type]string
	byName  map[string]reflect.Type
	err     error
}

// load reads the protocol.
func load(root string) (*model, error) {
	l := &loader{
		m: &model{root: root, version: protocol.Version}, root: root, sources: map[string]*source{},
		done: map[reflect.Type]string{}, byName: map[string]reflect.Type{},
	}
	proto, err := parseDir(filepath.Join(root, "rpc", "protocol"))
	if err != nil {
		return nil, err
	}
	if l.m.methods, err = l.face(proto, "Server", reflect.TypeFor[protocol.Server]()); err != nil {
		return nil, err
	}
	if l.m.notifications, err = l.face(proto, "Notifications", reflect.TypeFor[protocol.Notifications]()); err != nil {
		return nil, err
	}
	if l.m.requests, err = l.face(proto, "Requests", reflect.TypeFor[protocol.Requests]()); err != nil {
		return nil, err
	}
	for _, t := range []reflect.Type{
		reflect.TypeFor[cycle.RequestCycle](), reflect.TypeFor[protocol.ClientOptions](),
		reflect.TypeFor[protocol.ServerOffer](), reflect.TypeFor[protocol.ErrorData](),
	} {
		l.shape(t)
	}
	if l.err != nil {
		return nil, l.err
	}
	slices.SortFunc(l.m.objects, func(a, b *object) int { return strings.Compare(a.name, b.name) })
	for _, o := range l.m.objects {
		for _, f := range append(slices.Clone(o.fields), flat(o.oneOf)...) {
			if r := innermost(f.typ); r.kind == ref && l.m.object(r.ref) == nil {
				return nil, fmt.Errorf("%s.%s: there is no type %s", o.name, f.name, r.ref)
			}
		}
	}
	return l.m, l.rest()
}

func flat(list []*object) (out []field) {
	for _, o := range list {
		out = append(out, o.fields...)
	}
	return out
}

func innermost(s shape) shape {
	for s.elem != nil {
		s = *s.elem
	}
	return s
}

// rest loads what isn't types: the ops' table, codes, limits.
func (l *loader) rest() error {
	doc := l.source("cycle").docs["Op"]
	begin, end := strings.Index(doc, "\top "), strings.LastIndex(doc, "\n\n")
	if begin < 0 || end < begin {
		return fmt.Errorf("the comment of cycle.Op has no table")
	}
	for line := range strings.Lines(doc[begin:end]) {
		l.m.opsTable += strings.TrimPrefix(line, "\t")
	}
	for _, dir := range []string{"agent", "rpc/protocol"} {
		values, err := l.source(dir).strings("Code")
		if err != nil {
			return err
		}
		for _, v := range values {
			doc := codeDocs[agent.Code(v.text)]
			if doc == "" {
				return fmt.Errorf("the error code %s has no description in codeDocs", v.text)
			}
			l.m.codes = append(l.m.codes, code{v.text, doc})
		}
	}
	rpc, err := parseDir(filepath.Join(l.root, "rpc"))
	if err != nil {
		return err
	}
	l.m.limits, err = rpc.limits("MaxFrame", "MaxHeader", "RequestsRunning", "RequestsWaiting", "ControlsWaiting",
		"OutboxDeltas", "OutboxBytes", "OutboxMessages")
	return err
}

// face reads an interface: names and comments from the source, types by reflection.
func (l *loader) face(src *source, name string, t reflect.Type) ([]method, error) {
	list, err := src.methodDocs(name)
	if err != nil {
		return nil, err
	}
	for i := range list {
		m := &list[i]
		f, ok := t.MethodByName(m.goName)
		if !ok {
			return nil, fmt.Errorf("%s.%s is in the source only", name, m.goName)
		}
		in := f.Type.In(f.Type.NumIn() - 1)
		m.params, m.goIn = l.payload(in)
		if f.Type.NumOut() > 0 {
			m.result, m.goOut = l.payload(f.Type.Out(0))
		}
	}
	return list, l.err
}

// payload is the object that a method takes or gives.
func (l *loader) payload(t reflect.Type) (name, goName string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return "unknown", "json.RawMessage"
	}
	if t == reflect.TypeFor[agent.Empty]() {
		return "", "agent.Empty"
	}
	s := l.shape(t)
	return s.ref, t.String()
}

func (l *loader) source(dir string) *source {
	if s, ok := l.sources[dir]; ok {
		return s
	}
	s, err := parseDir(filepath.Join(l.root, filepath.FromSlash(dir)))
	if err != nil {
		l.fail(err)
		s = &source{}
	}
	l.sources[dir] = s
	return s
}

func (l *loader) fail(err error) {
	if l.err == nil {
		l.err = err
	}
}

// sourceOf finds the source of a type's package.
func (l *loader) sourceOf(t reflect.Type) *source {
	return l.source(strings.TrimPrefix(t.PkgPath(), module))
}
