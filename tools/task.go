package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed task.md
var taskWords string

// Limits of a subtask's order.
const (
	taskPromptMax = 16 << 10
	taskTitleMax  = 80
)

// Tasker runs a subtask: a bounded loop of its own that can only read. It
// gives the summary that the subtask ended with.
type Tasker interface {
	Task(ctx context.Context, env Env, title, prompt string) (summary string, err error)
}

type taskIn struct {
	Title  string `json:"title" jsonschema:"what it is about, in a few words"`
	Prompt string `json:"prompt" jsonschema:"the whole order: what to find out, where to look, what to answer; it knows nothing of this conversation"`
}

// Task hands a question to a loop of its own. Register it where the engine can
// run one.
func Task(by Tasker) Tool {
	return Typed(Spec{
		Name: "task", Description: taskWords, Category: CategoryMeta, ReadOnly: true, OutputMax: 32 << 10,
	}, func(in taskIn) string { return in.Title }, func(ctx context.Context, env Env, in taskIn) Result {
		if strings.TrimSpace(in.Prompt) == "" || len(in.Prompt) > taskPromptMax {
			return Fail(fmt.Sprintf("task: prompt must have 1 to %d bytes", taskPromptMax), "bad arguments")
		}
		summary, err := by.Task(ctx, env, oneLine(in.Title, taskTitleMax), in.Prompt)
		if err != nil {
			return failErr("task", err)
		}
		return Result{Status: StatusOK, Text: summary, Detail: Detail{Summary: oneLine(summary, taskTitleMax)}}
	})
}
