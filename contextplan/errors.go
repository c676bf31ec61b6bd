package contextplan

import (
	"fmt"
	"strings"
)

// Codes of the errors in their JSON form.
const (
	CodeBadRequest     = "bad_request"
	CodeBudgetOverflow = "budget_overflow"
)

// InputError says which candidate (empty: the budget or the policy) has which field wrong, and how.
type InputError struct {
	Candidate string
	Field     string
	Problem   string
}

func (e *InputError) Error() string {
	if e.Candidate == "" {
		return fmt.Sprintf("plan input: %s: %s", e.Field, e.Problem)
	}
	return fmt.Sprintf("plan input: candidate %q: %s: %s", e.Candidate, e.Field, e.Problem)
}

// OverflowError says that what must be in the plan does not fit: Needed is more than Prompt. Required lists all of it,
// in the order of the plan, each with its tokens and its reason (required, pinned, or dependency of one of those).
type OverflowError struct {
	Prompt   int
	Needed   int
	Required []Item
}

// maxListed bounds how many items the message names; Required always has them all.
const maxListed = 8

func (e *OverflowError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: what must be in the plan needs %d tokens, the prompt holds %d:", CodeBudgetOverflow, e.Needed, e.Prompt)
	for i, item := range e.Required {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(e.Required)-i)
			break
		}
		fmt.Fprintf(&b, " %s (%s, %d)", item.ID, item.Reason, item.Tokens)
	}
	b.WriteString("; unpin or shorten some of it, choose a larger context window or reserve less output")
	return b.String()
}
