package rag

import (
	"fmt"
	"strings"
)

// SearchText shows a set for a terminal: one item a line, with its reasons.
//
//	rag/index.go:41-66  0.93  Index.Refresh  bm25 #1, symbols #2, history #4
func SearchText(s Set) string {
	var b strings.Builder
	switch s.State {
	case SetIndexing:
		b.WriteString("(still indexing: more may be found in a moment)\n")
	case SetScan:
		b.WriteString("(nothing is indexed yet: this is from a quick look at the files)\n")
	}
	if len(s.Items) == 0 {
		b.WriteString("nothing found\n")
		return b.String()
	}
	const reasons = 4
	for _, it := range s.Items {
		fmt.Fprintf(&b, "%s:%d-%d  %.2f", it.Path, it.StartLine, it.EndLine, it.Score)
		if it.Symbol != "" {
			fmt.Fprintf(&b, "  %s", it.Symbol)
		}
		for i, w := range it.Why[:min(reasons, len(it.Why))] {
			sep := ", "
			if i == 0 {
				sep = "  "
			}
			fmt.Fprintf(&b, "%s%s #%d", sep, w.Ranker, w.Rank)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
