package agent

import (
	"encoding/json"
	"math"
	"path"

	"github.com/agent-lsp/agent-lsp/contextplan"
	"github.com/agent-lsp/agent-lsp/cycle"
	"github.com/agent-lsp/agent-lsp/tools"
)

// Lines that were read again are in the prompt twice, and where the file was
// edited in between the older text is wrong. The newer read then supersedes
// the older reads, and the evidence of earlier turns, that it covers.
//
// Only reads of earlier turns supersede: within a run each request begins with
// the whole previous one (TestRequestsOnlyGrow), so what this run reads again
// counts from the next turn on. Invariant held by TestReadAgainSupersedes.

// readSpan is the lines that a read gave, 1-based, both ends included; a read
// up to the file's end has toTheEnd for its end, however long the file is now.
type readSpan struct {
	path       string
	start, end int
}

const toTheEnd = math.MaxInt

// spanOf is what a call read; ok is false for every other call.
func spanOf(c entryCall) (s readSpan, ok bool) {
	var d tools.Detail
	if c.tool != "read" || c.result == nil || c.result.Status != cycle.ResultOK || c.result.Ref != "" {
		return s, false // a result that the output guard cut shows less than it names
	}
	if json.Unmarshal(c.result.Detail, &d) != nil || len(d.Paths) != 1 {
		return s, false
	}
	name, start, end := splitSpan(d.Paths[0])
	if !d.Truncated {
		end = toTheEnd
	}
	return readSpan{path.Clean(name), start, end}, true
}

func (s readSpan) covers(o readSpan) bool {
	return s.path == o.path && s.start <= o.start && o.end <= s.end
}

// supersede declares which pieces the reads of earlier turns replace. An
// episode is replaced when all that it did was to read what was read again.
func supersede(t *transcript, now int, list []piece) {
	type reader struct {
		at   int // index into list, of the reply
		turn int
		ids  []string // the reply, its results and the reflection on them
		read []readSpan
		only bool // all its calls are reads
	}
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].Candidate.ID] = i
	}
	var readers []reader
	for i := range t.entries {
		x := &t.entries[i]
		k, known := at[x.id]
		if x.kind != entryReply || len(x.calls) == 0 || x.turn >= now || !known {
			continue
		}
		r := reader{at: k, turn: x.turn, ids: []string{x.id}, only: true}
		for _, c := range x.calls {
			s, ok := spanOf(c)
			r.only = r.only && ok
			if ok {
				r.read = append(r.read, s)
			}
			r.ids = append(r.ids, "result:"+c.id)
		}
		if _, ok := at["reflection:"+x.id]; ok {
			r.ids = append(r.ids, "reflection:"+x.id)
		}
		if len(r.read) > 0 {
			readers = append(readers, r)
		}
	}
	for n, newer := range readers {
		c := &list[newer.at].Candidate
		for _, older := range readers[:n] {
			if older.only && coverAll(newer.read, older.read) {
				c.Supersedes = append(c.Supersedes, older.ids...)
			}
		}
		for i := range list {
			e := &list[i]
			if e.kind != entryEvidence || e.turn >= now || e.turn > newer.turn || e.Candidate.Section != contextplan.Retrieval {
				continue
			}
			span := e.Candidate.Span
			if coverAll(newer.read, []readSpan{{span.Path, span.Start, span.End}}) {
				c.Supersedes = append(c.Supersedes, e.Candidate.ID)
			}
		}
	}
}

func coverAll(newer, older []readSpan) bool {
	for _, o := range older {
		found := false
		for _, n := range newer {
			found = found || n.covers(o)
		}
		if !found {
			return false
		}
	}
	return true
}
