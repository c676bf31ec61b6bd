package contextplan

// Section says what kind of thing a candidate is, and with that where in the prompt it goes.
type Section string

// The stable sections come first in a plan, in this order; the timeline follows, by seq.
const (
	System       Section = "system"
	Instructions Section = "instructions"
	Pinned       Section = "pinned"
	Memory       Section = "memory"
	Summary      Section = "summary"

	History    Section = "history"
	Retrieval  Section = "retrieval"
	Focus      Section = "focus"
	Reflection Section = "reflection"
	Request    Section = "request"
)

// Sections lists every section in the order in which ties are broken.
func Sections() []Section {
	return []Section{System, Instructions, Pinned, Memory, Summary, History, Retrieval, Focus, Reflection, Request}
}

// Reason is why a candidate is in a plan or out of it. Each candidate has exactly one.
type Reason string

const (
	ReasonRequired   Reason = "required"   // in: the caller, or a member of its group, says it must be
	ReasonPinned     Reason = "pinned"     // in: the person pinned it, or a member of its group
	ReasonTTL        Reason = "ttl"        // out: its turns are over
	ReasonBudget     Reason = "budget"     // in: it ranked within the budget; out: it would not fit into what is left
	ReasonDependency Reason = "dependency" // in: something included depends on it; out: what it depends on can't come along
	ReasonDuplicate  Reason = "duplicate"  // out: the same content is included already
	ReasonShadowed   Reason = "shadowed"   // out: its lines lie inside an included span of the same path
	ReasonSuperseded Reason = "superseded" // out: a newer version of it is included
)

// Overflow policies: what to do when that which must be in does not fit.
const (
	OverflowFail           = "fail"            // an *OverflowError; the default
	OverflowTruncateLatest = "truncate-latest" // the latest request is cut, and the plan says so
)

// Limits. Inputs beyond them are refused with an *InputError, so that no sum can overflow.
const (
	MaxCandidates = 1 << 20 // candidates in one Input
	MaxTokens     = 1 << 40 // tokens of one candidate, and of each number of the budget
)

// Budget is what the model can take, in tokens. The prompt may hold ContextWindow - ReserveOutput.
type Budget struct {
	ContextWindow int `json:"contextWindow"`
	ReserveOutput int `json:"reserveOutput"`
}

// Prompt is the number of tokens that a plan under b may hold.
func (b Budget) Prompt() int { return b.ContextWindow - b.ReserveOutput }

// Span is a range of lines of a file, 1-based, both ends included.
type Span struct {
	Path  string `json:"path"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// Candidate is one thing that the planner could include. Absent numbers are 0.
type Candidate struct {
	ID          string   `json:"id"` // unique in its Input
	Section     Section  `json:"section"`
	Tokens      int      `json:"tokens"`
	Priority    float64  `json:"priority,omitempty"` // higher goes first
	Score       float64  `json:"score,omitempty"`    // among equal priority, higher goes first
	Seq         int      `json:"seq,omitempty"`      // given when it first enters a plan, kept from then on
	Sent        bool     `json:"sent,omitempty"`     // the previous plan held it
	Required    bool     `json:"required,omitempty"`
	Pinned      bool     `json:"pinned,omitempty"`
	TTL         *int     `json:"ttl,omitempty"`         // turns left; nil: no limit, 0: expired
	Group       string   `json:"group,omitempty"`       // candidates of one group go in or out together
	DependsOn   []string `json:"dependsOn,omitempty"`   // ids that must be in if this is; each must exist
	Supersedes  []string `json:"supersedes,omitempty"`  // ids of older versions; may have left already
	ContentHash string   `json:"contentHash,omitempty"` // equal hash, equal content
	Span        *Span    `json:"span,omitempty"`
}

// Input is all that a plan is made from: the same Input, in any order, gives the same bytes.
type Input struct {
	Budget     Budget      `json:"budget"`
	Overflow   string      `json:"overflow,omitempty"` // OverflowFail when empty
	Candidates []Candidate `json:"candidates"`
}

// PlanBudget is what the plan may hold, and what it does hold, in tokens.
type PlanBudget struct {
	Prompt    int `json:"prompt"`
	Estimated int `json:"estimated"`
}

// Item is one candidate's place in a plan, or its absence, with the reason. Detail says it to a person.
type Item struct {
	ID      string  `json:"id"`
	Section Section `json:"section"`
	Tokens  int     `json:"tokens"`
	Reason  Reason  `json:"reason"`
	Detail  string  `json:"detail"`
}

// Overflow says that the latest request was cut, from how many tokens to how many. The planner decides the number; the
// caller, who has the text, makes the cut.
type Overflow struct {
	Candidate string `json:"candidate"`
	From      int    `json:"from"`
	To        int    `json:"to"`
}

// Plan is the ordered selection for one model call. PlanID is a hash of everything else but the breakpoints.
type Plan struct {
	PlanID   string     `json:"planId"`
	Budget   PlanBudget `json:"budget"`
	Included []Item     `json:"included"` // in the order in which they are sent
	Excluded []Item     `json:"excluded"` // in the order in which they would have been sent
	Overflow *Overflow  `json:"overflow"` // nil: nothing was cut
	// Breakpoints are indexes into Included, ascending, after which a prompt cache should be told to remember: the last
	// stable item, and the last item that the previous plan held.
	Breakpoints []int `json:"breakpoints"`
}
