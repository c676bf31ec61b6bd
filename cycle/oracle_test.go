package cycle

import (
	"encoding/json"
	"strings"
)

// oracle projects a log in a third way that shares nothing with the other two but the wire format. It works on
// plain JSON values, says for each event by itself what it is by looking back over all before it, and takes its
// time.
func oracle(t failer, events []Event, policy Policy) any {
	t.Helper()
	o := &oracleLog{queueAuto: policy.Auto == DeliveryFollowUp}
	for _, e := range events {
		if strings.HasPrefix(e.Type(), RuntimePrefix) {
			continue
		}
		line, err := Encode(e)
		if err != nil {
			t.Fatalf("the generator made an event that can't be encoded: %v", err)
		}
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%v", err)
		}
		o.events = append(o.events, v)
	}
	o.judge()
	return o.model()
}

type oracleLog struct {
	queueAuto bool
	events    []map[string]any
	role      []string // of each event: root, steer, wait, text, more, call, result, stop, or an anomaly's reason
	cycle     []int    // of each event: the index of its cycle's root, -1 for none
	promoted  map[int]int
	waiting   []int
}

func str(v any) string { s, _ := v.(string); return s }

// judge gives every event its role.
func (o *oracleLog) judge() {
	root := -1
	o.promoted = map[int]int{} // root of a follow-up → the stop that promoted it
	for i, e := range o.events {
		role := ""
		switch e["type"] {
		case "user-message":
			role = o.judgeMessage(i, root >= 0)
			if role == "root" {
				root = i
			}
		case "agent-output":
			role = o.judgeOutput(i, root)
		case "tool-result":
			role = o.judgeResult(i, root)
		case "run-stop":
			role = "stop"
			if root < 0 {
				role = "stop-while-idle"
			}
		}
		o.role = append(o.role, role)
		if role == "wait" || root < 0 {
			o.cycle = append(o.cycle, -1)
		} else {
			o.cycle = append(o.cycle, root)
		}
		if role == "wait" {
			o.waiting = append(o.waiting, i)
		}
		if role == "stop" {
			root = -1
			if len(o.waiting) > 0 {
				root, o.waiting = o.waiting[0], o.waiting[1:]
				o.promoted[root] = i
			}
		}
	}
}

func (o *oracleLog) judgeMessage(i int, active bool) string {
	for _, before := range o.events[:i] {
		if before["type"] == "user-message" && before["id"] == o.events[i]["id"] {
			return "duplicate-message-id"
		}
	}
	d := o.events[i]["delivery"]
	if !active {
		return "root"
	}
	if d == "followUp" || d == "auto" && o.queueAuto {
		return "wait"
	}
	return "steer"
}

// in lists the events before i that have this role in this cycle.
func (o *oracleLog) in(root int, role string, i int) (list []int) {
	for j := 0; j < i && j < len(o.role); j++ {
		if o.cycle[j] == root && o.role[j] == role {
			list = append(list, j)
		}
	}
	return list
}

func (o *oracleLog) judgeOutput(i, root int) string {
	if root < 0 {
		return "output-while-idle"
	}
	e := o.events[i]
	if e["output"] == "tool-call" {
		for _, j := range o.in(root, "call", i) {
			if o.events[j]["callId"] == e["callId"] {
				return "duplicate-call-id"
			}
		}
		return "call"
	}
	for _, j := range o.in(root, "text", i) {
		if o.events[j]["id"] == e["id"] && o.events[j]["output"] == e["output"] {
			return "more"
		}
	}
	return "text"
}

func (o *oracleLog) judgeResult(i, root int) string {
	if root < 0 {
		return "result-for-unknown-call"
	}
	for _, j := range o.in(root, "result", i) {
		if o.events[j]["callId"] == o.events[i]["callId"] {
			return "result-already-given"
		}
	}
	for _, j := range o.in(root, "call", i) {
		if o.events[j]["callId"] == o.events[i]["callId"] {
			return "result"
		}
	}
	return "result-for-unknown-call"
}

func (o *oracleLog) model() any {
	state := "idle"
	cycles, queued, anomalies := []any{}, []any{}, []any{}
	for i := range o.events {
		switch o.role[i] {
		case "root":
			cycles = append(cycles, o.cycleOf(i, "direct", i))
		case "stop":
			for root, stop := range o.promoted {
				if stop == i {
					cycles = append(cycles, o.cycleOf(root, "followUp", i))
				}
			}
		default:
			if strings.Contains(o.role[i], "-") {
				anomalies = append(anomalies, map[string]any{"index": float64(i), "reason": o.role[i]})
			}
		}
	}
	for _, i := range o.waiting {
		queued = append(queued, map[string]any{"id": o.events[i]["id"], "text": str(o.events[i]["text"])})
	}
	if len(cycles) > 0 && cycles[len(cycles)-1].(map[string]any)["status"] == "active" {
		state = "active"
	}
	return map[string]any{"state": state, "cycles": cycles, "queued": queued, "anomalies": anomalies}
}

// cycleOf describes the cycle of a root, whose work begins after event start.
func (o *oracleLog) cycleOf(root int, kind string, start int) any {
	e := o.events[root]
	status := "active"
	var items []int // what makes rows: steers, texts, calls
	for i := start + 1; i < len(o.events); i++ {
		if o.cycle[i] != root {
			continue
		}
		switch o.role[i] {
		case "stop":
			status = str(o.events[i]["reason"])
		case "steer", "text", "call":
			items = append(items, i)
		}
	}
	id, text := e["id"], str(e["text"])
	return map[string]any{
		"id": id, "root": map[string]any{"id": id, "kind": kind, "text": text}, "status": status,
		"steps":  append([]any{map[string]any{"type": "non-steer", "id": id, "text": text}}, o.steps(root, items)...),
		"rounds": o.rounds(root, start, items),
	}
}

// steps cuts the items into rows: every steer and text begins one, and so does a call right after a user step.
func (o *oracleLog) steps(root int, items []int) (steps []any) {
	for at := 0; at < len(items); {
		i := items[at]
		if o.role[i] == "steer" {
			steps = append(steps, map[string]any{"type": "steer", "id": o.events[i]["id"], "text": str(o.events[i]["text"])})
			at++
			continue
		}
		item := map[string]any{"kind": "assistant", "id": "", "text": ""}
		if o.role[i] == "text" {
			all := str(o.events[i]["text"])
			for _, j := range o.in(root, "more", len(o.events)) {
				if o.events[j]["id"] == o.events[i]["id"] && o.events[j]["output"] == o.events[i]["output"] {
					all += str(o.events[j]["text"])
				}
			}
			item = map[string]any{"kind": o.events[i]["output"], "id": o.events[i]["id"], "text": all}
			at++
		}
		var calls []int
		for at < len(items) && o.role[items[at]] == "call" {
			calls = append(calls, items[at])
			at++
		}
		steps = append(steps, map[string]any{"type": "ai-block", "text": item, "groups": o.groups(root, calls)})
	}
	return steps
}

func (o *oracleLog) groups(root int, calls []int) []any {
	kinds := map[string]string{"ls": "read", "read": "read", "grep": "read", "find": "read", "write": "write", "edit": "write", "bash": "bash"}
	groups := []any{}
	last := ""
	for _, i := range calls {
		e := o.events[i]
		call := map[string]any{"callId": e["callId"], "tool": e["tool"], "args": map[string]any{}, "result": nil}
		if args, ok := e["args"]; ok {
			call["args"] = args
		}
		for _, j := range o.in(root, "result", len(o.events)) {
			if o.events[j]["callId"] == e["callId"] {
				call["result"] = map[string]any{"status": o.events[j]["status"], "text": str(o.events[j]["text"])}
			}
		}
		kind := kinds[str(e["tool"])]
		if kind == "" {
			kind = "other"
		}
		if kind != last {
			groups = append(groups, map[string]any{"type": kind + "-group", "calls": []any{}})
			last = kind
		}
		g := groups[len(groups)-1].(map[string]any)
		g["calls"] = append(g["calls"].([]any), any(call))
	}
	return groups
}

// rounds first finds at which items rounds begin, then fills each by where events lie between the beginnings.
func (o *oracleLog) rounds(root, start int, items []int) []any {
	fed := func(from, to int) []any {
		ids := []any{}
		for i := from; i < to; i++ {
			if o.cycle[i] == root && i > start && o.role[i] == "steer" {
				ids = append(ids, o.events[i]["id"])
			}
			if o.cycle[i] == root && o.role[i] == "result" {
				ids = append(ids, o.events[i]["callId"])
			}
		}
		return ids
	}
	var begins, numbers []int
	for _, i := range items {
		if o.role[i] == "steer" {
			continue
		}
		given, numbered := o.events[i]["round"].(float64)
		switch {
		case len(begins) == 0 && numbered && given >= 1:
			begins, numbers = append(begins, i), append(numbers, int(given))
		case len(begins) == 0:
			begins, numbers = append(begins, i), append(numbers, 1)
		case numbered && int(given) > numbers[len(numbers)-1]:
			begins, numbers = append(begins, i), append(numbers, int(given))
		case !numbered && len(fed(begins[len(begins)-1], i)) > 0:
			begins, numbers = append(begins, i), append(numbers, numbers[len(numbers)-1]+1)
		}
	}
	rounds := []any{}
	for k, from := range begins {
		to := len(o.events)
		if k+1 < len(begins) {
			to = begins[k+1]
		}
		input := append([]any{o.events[root]["id"]}, fed(start, from)...)
		if k > 0 {
			input = fed(begins[k-1], from)
		}
		output := []any{}
		for i := from; i < to; i++ {
			switch {
			case o.cycle[i] != root:
			case o.role[i] == "text":
				output = append(output, o.events[i]["id"])
			case o.role[i] == "call":
				output = append(output, o.events[i]["callId"])
			}
		}
		rounds = append(rounds, map[string]any{"n": float64(numbers[k]), "input": input, "output": output, "feedback": fed(from, to)})
	}
	return rounds
}
