package builtin

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// A toolbox is what the request offers.
type toolbox map[string]map[string]bool // tool → its arguments' names

func newToolbox(tools []model.Tool) toolbox {
	box := toolbox{}
	for _, t := range tools {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		props := map[string]bool{}
		if json.Unmarshal(t.Schema, &schema) == nil {
			for name := range schema.Properties {
				props[name] = true
			}
		}
		box[t.Name] = props
	}
	return box
}

func (b toolbox) has(name string) bool {
	_, ok := b[name]
	return ok
}

// arg picks the first of names that the tool's schema knows; the first of all
// where the schema says nothing.
func (b toolbox) arg(tool string, names ...string) string {
	for _, n := range names {
		if b[tool][n] {
			return n
		}
	}
	return names[0]
}

// A call is one tool call that a plan asks for.
type call struct {
	name string
	args map[string]any
}

// callKey identifies a call by what it does: two calls with equal keys ask the
// same question. JSON objects marshal with sorted keys.
func callKey(name string, args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return name + " " + string(args)
	}
	canonical, err := json.Marshal(v)
	if err != nil {
		return name + " " + string(args)
	}
	return name + " " + string(canonical)
}

func (c call) encode() json.RawMessage {
	b, err := json.Marshal(c.args)
	if err != nil { // only strings, numbers, bools and lists of maps of them go in
		return json.RawMessage("{}")
	}
	return b
}

func (c call) key() string { return callKey(c.name, c.encode()) }

// A run replays a plan over the transcript. A plan is straight-line code that
// asks for calls by [run.do]; what the transcript holds is answered from it,
// and the first calls that it does not hold end the replay: they are the next
// step. So the same messages always lead to the same step, after a restart too.
type run struct {
	t      *transcript
	box    toolbox
	seen   map[string]int // key → how many of it the plan has asked for
	byKey  map[string][]*step
	text   string // what to say with the calls
	wanted []call
	// starved: the limit of rounds cut the plan short.
	starved bool
}

func newRun(t *transcript, box toolbox) *run {
	r := &run{t: t, box: box, seen: map[string]int{}, byKey: map[string][]*step{}}
	for i := range t.steps {
		s := &t.steps[i]
		if s.done {
			r.byKey[s.key] = append(r.byKey[s.key], s)
		}
	}
	return r
}

// do asks for calls, which may run side by side. ok is false when the plan has
// to wait for some of them. A call of a tool that is not offered, and any new
// call beyond roundsMax, comes back as a failed result that says so.
func (r *run) do(say string, calls ...call) (results []result, ok bool) {
	results = make([]result, len(calls))
	var missing []call
	for i, c := range calls {
		if !r.box.has(c.name) && !r.t.lastCall() {
			results[i] = result{call: c, failed: true, unavailable: true, text: "the tool " + c.name + " is not offered here"}
			continue
		}
		key := c.key()
		n := r.seen[key]
		r.seen[key]++
		if n < len(r.byKey[key]) {
			results[i] = r.byKey[key][n].result
			results[i].call = c
			continue
		}
		if r.t.rounds >= roundsMax || len(missing) == callsPerRound {
			r.starved = true
			results[i] = result{call: c, failed: true, unavailable: true, text: "not asked: the limit of steps is reached"}
			continue
		}
		missing = append(missing, c)
	}
	if len(missing) > 0 {
		r.text, r.wanted = say, missing
		return nil, false
	}
	return results, true
}

// response turns the wanted calls into a reply. IDs tell the message and the
// place in it, so they are unique in a conversation and equal on replay.
func (r *run) response() response {
	out := response{text: r.text}
	for i, c := range r.wanted {
		out.calls = append(out.calls, model.Call{
			ID: fmt.Sprintf("b%d.%d", r.t.messages, i+1), Name: c.name, Args: c.encode(),
		})
	}
	return out
}

// The calls, with their arguments by the tools' contract.

func (r *run) ls(path string) call { return call{"ls", args("path", path)} }

func (r *run) read(path string, offset, limit int) call {
	a := args("path", path)
	if offset > 0 {
		a["offset"] = offset
	}
	if limit > 0 {
		a["limit"] = limit
	}
	return call{"read", a}
}

func (r *run) grep(pattern, path string, ignoreCase bool, limit int) call {
	a := args("pattern", pattern, "path", path)
	if ignoreCase {
		a["ignoreCase"] = true
	}
	if limit > 0 {
		a["limit"] = limit
	}
	return call{"grep", a}
}

func (r *run) find(pattern, path string, limit int) call {
	a := args("pattern", pattern, "path", path)
	if limit > 0 {
		a["limit"] = limit
	}
	return call{"find", a}
}

func (r *run) search(query string, k int) call {
	a := map[string]any{r.box.arg("search", "query", "q"): query}
	for _, n := range []string{"k", "limit"} {
		if r.box["search"][n] {
			a[n] = k
			break
		}
	}
	return call{"search", a}
}

func (r *run) references(name string, limit int) call {
	a := map[string]any{r.box.arg("references", "symbol", "name", "query"): name}
	if r.box["references"]["limit"] {
		a["limit"] = limit
	}
	return call{"references", a}
}

func (r *run) symbols(name string, limit int) call {
	a := map[string]any{r.box.arg("symbols", "query", "name", "symbol"): name}
	if r.box["symbols"]["limit"] {
		a["limit"] = limit
	}
	return call{"symbols", a}
}

func (r *run) bash(command, why string) call {
	a := args("command", command)
	if r.box["bash"]["description"] {
		a["description"] = why
	}
	return call{"bash", a}
}

func (r *run) write(path, content string) call {
	return call{"write", map[string]any{"path": path, "content": content}}
}

func (r *run) edit(path string, edits []textEdit) call {
	list := make([]map[string]any, len(edits))
	for i, e := range edits {
		list[i] = map[string]any{"oldText": e.old, "newText": e.new}
		if e.all {
			list[i]["all"] = true
		}
	}
	return call{"edit", map[string]any{"path": path, "edits": list}}
}

func (r *run) patch(path, diff string) call {
	return call{"edit", map[string]any{"path": path, "diff": diff}}
}

// textEdit is one entry of the edit tool's list.
type textEdit struct {
	old, new string
	all      bool
}

// args builds a map from pairs, leaving out empty values and the root.
func args(pairs ...string) map[string]any {
	a := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if v := pairs[i+1]; v != "" && !(pairs[i] == "path" && v == "." && i > 0) {
			a[pairs[i]] = v
		}
	}
	return a
}

// sortedKeys lists a map's keys in order: no output depends on map order.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

func joinAnd(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return strings.Join(list[:len(list)-1], ", ") + " and " + list[len(list)-1]
}
