package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed todo.md
var todoWords string

// Limits of the list.
const (
	todoMax     = 50
	todoTextMax = 500
)

// TodoIn is the argument of todo. The list isn't kept by the tool: the last
// call in the log is the list, so that it replays, branches and undoes with
// everything else. Editors show it from there.
type TodoIn struct {
	Items []TodoItem `json:"items" jsonschema:"the whole list, in order; it replaces the one before"`
}

// TodoItem is one line of the list.
type TodoItem struct {
	Text   string `json:"text"`
	Status string `json:"status" jsonschema:"pending, in_progress or done"`
}

var todoMarks = map[string]string{"pending": "[ ]", "in_progress": "[>]", "done": "[x]"}

// Todo keeps the model's plan where the person can see it.
func Todo() Tool {
	return Typed(Spec{
		Name: "todo", Description: todoWords, Category: CategoryMeta, ReadOnly: true, OutputMax: 32 << 10,
	}, func(in TodoIn) string { return in.summary() }, runTodo)
}

func runTodo(_ context.Context, _ Env, in TodoIn) Result {
	if len(in.Items) > todoMax {
		return Fail(fmt.Sprintf("todo: %d items, the limit is %d; keep the list short", len(in.Items), todoMax), "bad arguments")
	}
	var b strings.Builder
	for i, it := range in.Items {
		mark, ok := todoMarks[it.Status]
		if !ok {
			return Fail(fmt.Sprintf("todo: items[%d].status is %q; it is pending, in_progress or done", i, clip(it.Status, 40)), "bad arguments")
		}
		if strings.TrimSpace(it.Text) == "" || len(it.Text) > todoTextMax {
			return Fail(fmt.Sprintf("todo: items[%d].text must have 1 to %d bytes", i, todoTextMax), "bad arguments")
		}
		fmt.Fprintf(&b, "%s %s\n", mark, oneLine(it.Text, todoTextMax))
	}
	if len(in.Items) == 0 {
		b.WriteString("(the list is empty)\n")
	}
	return Result{Status: StatusOK, Text: b.String(), Detail: Detail{Summary: in.summary()}}
}

func (in TodoIn) summary() string {
	done := 0
	for _, it := range in.Items {
		if it.Status == "done" {
			done++
		}
	}
	return fmt.Sprintf("%d of %d done", done, len(in.Items))
}
