package builtin

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"unicode"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// Name is how this model is called, provider included.
const Name = "builtin"

// The limits of one reply and of one request's work.
const (
	roundsMax     = 14 // model calls with tool calls per request; then it answers with what it has
	callsPerRound = 32 // tool calls in one reply
	retriesMax    = 2  // further attempts at an edit that did not apply
	citationsMax  = 8  // lines of evidence in an answer
	windowTokens  = 1 << 15
	outputTokens  = 4096
	bytesPerToken = 4        // the estimate behind Usage; code runs near 3.5, prose near 4.5
	tasksMax      = 6        // requests joined by "then" or "and" in one message
	wordsMax      = 4 << 10  // bytes of it, without fences and quotes, that the rules read
	jointsMax     = 32       // places in it where one request may end and another begin
	inputMax      = 64 << 10 // bytes of a message that the grammar looks at
)

// Caps says what this model can do: it is local, free and works by tools.
func Caps() model.Caps {
	return model.Caps{ContextWindow: windowTokens, OutputLimit: outputTokens, Tools: true, Local: true}
}

// New returns the engine. It has no state, so one value serves everybody.
func New() model.Model { return model.Func(stream) }

// stream answers one request. The whole reply is computed first (it takes
// milliseconds and touches nothing), then given out word by word.
func stream(ctx context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Delta{}, err)
			return
		}
		r := reply(req)
		output := len(r.text)
		for _, piece := range pieces(r.text) {
			if err := ctx.Err(); err != nil {
				yield(model.Delta{}, err)
				return
			}
			if !yield(model.Delta{Text: piece}, nil) {
				return
			}
		}
		for i, c := range r.calls {
			output += len(c.Name) + len(c.Args)
			d := model.CallDelta{Index: i, ID: c.ID, Name: c.Name, Args: string(c.Args)}
			if !yield(model.Delta{CallDelta: &d}, nil) {
				return
			}
		}
		done := model.Done{Finish: model.FinishStop, Calls: r.calls, Usage: usage(req, output)}
		if len(r.calls) > 0 {
			done.Finish = model.FinishCalls
		}
		yield(model.Delta{Done: &done}, nil)
	}
}

// response is a whole reply: a final text, or a text and the calls it waits for.
type response struct {
	text  string
	calls []model.Call
}

// reply is the engine: a pure function of the request.
func reply(req model.Request) response {
	t := readTranscript(req.Messages)
	if text, ok := utility(t, req.Messages); ok {
		return response{text: text}
	}
	return work(t, newToolbox(req.Tools))
}

// pieces cuts a text after each run of white space.
func pieces(s string) []string {
	var out []string
	start, inSpace := 0, false
	for i, r := range s {
		space := unicode.IsSpace(r)
		if inSpace && !space {
			out = append(out, s[start:i])
			start = i
		}
		inSpace = space
	}
	if start < len(s) {
		out = append(out, s[start:])
	}
	return out
}

// usage estimates what a call would have cost in tokens; it costs no money.
func usage(req model.Request, output int) model.Usage {
	input := 0
	for _, m := range req.Messages {
		input += len(m.Text) + len(m.Reasoning)
		for _, c := range m.Calls {
			input += len(c.Name) + len(c.Args)
		}
	}
	for _, t := range req.Tools {
		input += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return model.Usage{
		Input:  (input + bytesPerToken - 1) / bytesPerToken,
		Output: (output + bytesPerToken - 1) / bytesPerToken,
	}
}

// plural is "1 file", "3 files".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	switch {
	case strings.HasSuffix(word, "ch"), strings.HasSuffix(word, "s"):
		word += "es"
	case strings.HasSuffix(word, "y"):
		word = word[:len(word)-1] + "ies"
	default:
		word += "s"
	}
	return strconv.Itoa(n) + " " + word
}
