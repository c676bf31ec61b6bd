package agent

import (
	"context"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/cycle/run"
	"github.com/agent-lsp/agent-lsp/rag"
	"github.com/agent-lsp/agent-lsp/tools"
)

// searcher is the index as the tools of a run see it.
type searcher struct {
	e *Engine
	t *timeline
	r run.Run
}

func (e *Engine) searcher(t *timeline, r run.Run) tools.Searcher { return searcher{e, t, r} }

// Search implements tools.Searcher; the RetrievalSet is stored with the run's ids.
func (s searcher) Search(ctx context.Context, query string, k int) ([]tools.Hit, string, error) {
	set, err := s.e.parts.Index.Search(ctx, rag.Query{Text: query, K: k})
	if err != nil {
		return nil, "", err
	}
	if err := s.e.storeSet(ctx, s.t, s.r, set); err != nil {
		return nil, "", err
	}
	var out []tools.Hit
	for _, it := range set.Items {
		text, at, ok := s.t.lines(it.Path, it.StartLine, it.EndLine)
		if !ok {
			continue
		}
		it.StartLine, it.EndLine = at, at+strings.Count(strings.TrimSuffix(text, "\n"), "\n")
		h := tools.Hit{Path: it.Path, StartLine: it.StartLine, EndLine: it.EndLine, Score: it.Score, Symbol: it.Symbol, Text: text}
		for i, w := range it.Why {
			if i > 0 {
				h.Why += ", "
			}
			h.Why += w.Ranker + " #" + strconv.Itoa(w.Rank)
		}
		out = append(out, h)
	}
	return out, set.RetrievalSetID, nil
}

// Symbols implements tools.Searcher.
func (s searcher) Symbols(ctx context.Context, query string, limit int) ([]tools.Location, error) {
	return s.fromSymbols(s.e.parts.Index.Symbols(query, limit)), ctx.Err()
}

// Definitions implements tools.Searcher.
func (s searcher) Definitions(ctx context.Context, name string) ([]tools.Location, error) {
	list, err := s.e.parts.Index.Definition(name)
	if err == nil {
		err = ctx.Err()
	}
	return s.fromSymbols(list), err
}

func (s searcher) fromSymbols(list []rag.Symbol) []tools.Location {
	var out []tools.Location
	for _, x := range list {
		text, at, ok := s.t.lines(x.Path, x.StartLine, x.StartLine)
		if ok {
			x.StartLine = at
		}
		out = append(out, tools.Location{Path: x.Path, Line: x.StartLine, Col: 1, Text: text, Symbol: x.Name, Kind: x.Kind})
	}
	return out
}

// References implements tools.Searcher.
func (s searcher) References(ctx context.Context, name string, limit int) ([]tools.Location, error) {
	list, _, err := s.e.parts.Index.References(ctx, name, limit) // the tool's own limit is below the index's
	var out []tools.Location
	for _, x := range list {
		out = append(out, tools.Location{Path: x.Path, Line: x.Line, Col: x.Col, Text: x.Text, Kind: "reference"})
	}
	return out, err
}
