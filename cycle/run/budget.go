package run

import (
	"fmt"
	"time"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// Spent is what a run has used up of its budget.
type Spent struct {
	Tokens int
	USD    float64
	Begun  int64 // when it got its slot, in Unix milliseconds, moved by each pause, which costs nothing; 0 = not yet
	Paused int64 // since when
}

// apply folds what concerns the budget.
func (s Spent) apply(e cycle.Event) Spent {
	switch e := e.(type) {
	case cycle.RunStarted:
		s.Begun = e.Time.UnixMilli()
	case cycle.UsageReported:
		s.Tokens += max(0, e.Input) + max(0, e.Output)
		s.USD += max(0, e.CostUSD)
	case cycle.RunPaused:
		s.Paused = e.Time.UnixMilli()
	case cycle.RunResumed:
		if d := e.Time.UnixMilli() - s.Paused; s.Begun != 0 && s.Paused >= s.Begun && d > 0 {
			s.Begun += d
		}
		s.Paused = 0
	}
	return s
}

// spent says which budget is used up, in words for the person; "" = none. It
// is asked before each model call: what is under way is never torn.
func (r Run) spent(at time.Time) string {
	const goOn = "; what was done is kept: send another message to go on with a new budget, or raise %s in the settings"
	b, s := r.Budget, r.Spent
	took := time.Duration(at.UnixMilli()-s.Begun) * time.Millisecond
	switch {
	case b.Tokens > 0 && s.Tokens >= b.Tokens:
		return fmt.Sprintf("the run has used up its budget of %d tokens: %d so far"+goOn, b.Tokens, s.Tokens, "budget_tokens")
	case b.USD > 0 && s.USD >= b.USD:
		return fmt.Sprintf("the run has used up its budget of %.2f US dollars: %.4f so far"+goOn, b.USD, s.USD, "budget_usd")
	case b.Seconds > 0 && s.Begun != 0 && took >= time.Duration(b.Seconds)*time.Second:
		return fmt.Sprintf("the run has used up its budget of %d seconds: %d so far"+goOn, b.Seconds, int(took.Seconds()), "budget_seconds")
	}
	return ""
}
