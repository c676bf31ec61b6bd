package agent

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// Limits of a workflow.
const (
	workflowStepsMax  = 12
	stepBudgetDefault = 12 // iterations of one step
	stepBudgetMax     = 40
	stepTriesMax      = 2 // of a step that is retried
	stepGoalMax       = 2000
)

// The checks that say when a step is done.
const (
	checkReplied = "replied"    // the model answered
	checkEdited  = "edited"     // a file was changed
	checkCommand = "command-ok" // the last command succeeded
)

// What happens when a step fails.
const (
	onFailStop  = "stop"
	onFailRetry = "retry"
	onFailSkip  = "skip"
)

// stepVerbs are the words that a step can begin with, and what must have
// happened for it to be done.
var stepVerbs = map[string]string{}

func init() {
	for check, list := range map[string]string{
		checkEdited: "fix add implement update change refactor rename replace write create insert delete remove move extract migrate port convert upgrade " +
			"bump translate set split merge sort tidy mark deprecate expose wire introduce enable disable support harden adapt configure " +
			"rewrite clean simplify optimize optimise append apply edit correct repair make format restructure modernize redesign",
		checkCommand: "push tag release publish start measure run test build lint compile execute install commit deploy benchmark vet",
		checkReplied: "report summarize summarise explain describe tell show list analyze analyse review audit find search look read check verify inspect " +
			"document generate produce compare note say answer ensure confirm think plan print identify investigate debug profile reproduce count",
	} {
		for verb := range strings.FieldsSeq(list) {
			stepVerbs[verb] = check
		}
	}
}

var (
	listLine   = regexp.MustCompile(`(?m)^\s*(?:\d{1,2}[.)]|[-*•])\s+(\S.*)$`)
	stepBreak  = regexp.MustCompile(`\s*[;\n]\s*|\.\s+|\s*,\s*|\s+and\s+|\s+then\s+|\s*→\s*|\s*->\s*`)
	stepLead   = regexp.MustCompile(`^(?i:(?:and|then|first|second|third|next|finally|lastly|last|also|afterwards|after that|please|now|#\w+|can you|could you|i want you to|you should|let's|to)\b[,:]?\s+)+`)
	quoted     = regexp.MustCompile("`[^`]*`|\"[^\"\n]*\"|\\[\\[[^\\]]*\\]\\]")
	failRule   = regexp.MustCompile(`(?i)^(?:(?:but )?(?:if|when|should) (?:it|that|this|they|the \w+|any(?: of them)?|one)(?: still)? fails?|on (?:failure|error))\b[,:]?\s*(?:then )?(?:just )?(stop|abort|skip|go on|continue|ignore|retry|try (?:it )?again)\b`)
	untilPass  = regexp.MustCompile(`(?i)\b(?:until|till) (?:it|they|all(?: of them)?|the tests?) (?:pass|passes|are green|is green|succeeds?)\b|\bretry\b|\btry again\b`)
	nounPhrase = regexp.MustCompile(`^(?i:test|build|report|document|format|commit|review|change) (?i:files?|cases?|suites?|data|helpers?|scripts?|messages?|generators?|logs?|tags?|names?)\b`)
	optional   = regexp.MustCompile(`(?i)\b(?:if possible|optionally|if you can|nice to have)\b`)
)

// workflowFrom reads the steps of a request by rules. ok is false where it is
// one piece of work.
func workflowFrom(input string) (w cycle.Workflow, ok bool) {
	w = cycle.Workflow{Goal: firstLine(input), Status: cycle.WorkflowProposed, Method: "rules", Steps: []cycle.WorkflowStep{}}
	parts := listed(input)
	if parts == nil {
		parts = clauses(input)
	}
	for _, p := range parts {
		if m := failRule.FindStringSubmatch(p); m != nil && len(w.Steps) > 0 {
			w.Steps[len(w.Steps)-1].OnFail = onFailOf(m[1])
			continue
		}
		w.Steps = append(w.Steps, newStep(p))
	}
	if len(w.Steps) < 2 || len(w.Steps) > workflowStepsMax {
		return w, false
	}
	return w, true
}

func onFailOf(words string) string {
	switch strings.ToLower(strings.Fields(words)[0]) {
	case "skip", "go", "continue", "ignore":
		return onFailSkip
	case "retry", "try":
		return onFailRetry
	}
	return onFailStop
}

// listed is the lines of a numbered or bulleted list of at least two.
func listed(input string) []string {
	var out []string
	for _, m := range listLine.FindAllStringSubmatch(input, -1) {
		out = append(out, strings.TrimSpace(m[1]))
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// clauses cuts a sentence where a new clause begins with a verb of work: not
// inside quotes, and not at an "and" between two nouns.
func clauses(input string) []string {
	masked := quoted.ReplaceAllStringFunc(input, func(m string) string { return strings.Repeat("x", len(m)) })
	var out []string
	from := 0
	for _, at := range stepBreak.FindAllStringIndex(masked, -1) {
		rest := masked[at[1]:]
		if _, ok := verbOf(rest); !ok && !failRule.MatchString(rest) || strings.Contains(masked[from:at[0]], "between ") {
			continue
		}
		if part := strings.TrimSpace(input[from:at[0]]); part != "" {
			out = append(out, part)
		}
		from = at[1]
	}
	if part := strings.TrimRight(strings.TrimSpace(input[from:]), "."); part != "" {
		out = append(out, part)
	}
	for len(out) > 0 { // what comes before the first verb belongs to it
		if _, ok := verbOf(out[0]); ok {
			break
		}
		if len(out) == 1 {
			return out
		}
		out[1] = out[0] + ", " + out[1]
		out = out[1:]
		if _, ok := verbOf(out[0]); !ok {
			break
		}
	}
	return out
}

// verbOf is the verb of work that a clause begins with.
func verbOf(clause string) (string, bool) {
	clause = stepLead.ReplaceAllString(strings.TrimSpace(clause), "")
	if nounPhrase.MatchString(clause) {
		return "", false
	}
	word := strings.ToLower(strings.TrimRight(firstWord(clause), ".,:;!?"))
	_, ok := stepVerbs[word]
	return word, ok
}

func newStep(part string) cycle.WorkflowStep {
	goal := strings.TrimSpace(stepLead.ReplaceAllString(strings.TrimSpace(part), ""))
	s := cycle.WorkflowStep{Goal: strings.ToValidUTF8(goal[:min(len(goal), stepGoalMax)], ""), Check: checkReplied, OnFail: onFailStop, Budget: stepBudgetDefault, Status: cycle.StepPending, Tools: []string{}}
	if verb, ok := verbOf(part); ok {
		s.Check = stepVerbs[verb]
	}
	switch {
	case untilPass.MatchString(part):
		s.OnFail = onFailRetry
	case optional.MatchString(part):
		s.OnFail = onFailSkip
	}
	switch s.Check {
	case checkEdited:
		s.Tools = []string{"read", "search", "write"}
	case checkCommand:
		s.Tools = []string{"read", "shell"}
	default:
		s.Tools = []string{"read", "search"}
	}
	return s
}

// workflowOf reads a model's answer to prompts/workflow.md. ok is false where
// it is none, or one step only.
func workflowOf(reply, input string) (w cycle.Workflow, ok bool) {
	if i := strings.LastIndex(reply, "</think>"); i >= 0 {
		reply = reply[i:]
	}
	i, j := strings.IndexByte(reply, '{'), strings.LastIndexByte(reply, '}')
	if i < 0 || j < i {
		return w, false
	}
	var spec struct {
		Steps []struct{ Goal, Check, OnFail string }
	}
	if json.Unmarshal([]byte(reply[i:j+1]), &spec) != nil || len(spec.Steps) < 2 || len(spec.Steps) > workflowStepsMax {
		return w, false
	}
	w = cycle.Workflow{Goal: firstLine(input), Status: cycle.WorkflowProposed, Method: "model", Steps: []cycle.WorkflowStep{}}
	for _, s := range spec.Steps {
		step := newStep(s.Goal)
		if step.Goal == "" {
			return w, false
		}
		if slices.Contains([]string{checkReplied, checkEdited, checkCommand}, s.Check) {
			step.Check = s.Check
		}
		if slices.Contains([]string{onFailStop, onFailRetry, onFailSkip}, s.OnFail) {
			step.OnFail = s.OnFail
		}
		w.Steps = append(w.Steps, step)
	}
	return w, true
}

var stepMarks = map[string]string{cycle.StepPending: "[ ]", cycle.StepRunning: "[>]", cycle.StepDone: "[x]", cycle.StepFailed: "[!]", cycle.StepSkipped: "[-]"}

// checklist is a workflow for a person.
func checklist(w cycle.Workflow) string {
	var b strings.Builder
	for i, s := range w.Steps {
		b.WriteString(stepMarks[s.Status] + " " + strconv.Itoa(i+1) + ". " + firstLine(s.Goal))
		if s.OnFail != onFailStop {
			b.WriteString(" (if it fails: " + s.OnFail + ")")
		}
		if s.Note != "" {
			b.WriteString(": " + s.Note)
		}
		b.WriteByte('\n')
	}
	return strings.TrimRight(b.String(), "\n")
}
