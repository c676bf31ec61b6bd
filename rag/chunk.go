package rag

import (
	"bytes"
	"strings"
)

// Sizes of chunks, in lines. Equal sizes matter more than whole definitions:
// small neighbours are put together, long definitions are cut.
const (
	chunkTarget   = 40
	chunkMin      = 10
	chunkMax      = 60
	maxChunks     = 1 << 16 // of one file; the rest of it joins the last one
	maxDocComment = 30      // lines of comment that a definition takes along
)

// splitLines cuts text at line feeds, carriage returns taken off. A final
// newline makes no empty line after it.
func splitLines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	s := string(bytes.TrimSuffix(b, []byte("\n")))
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// chunkStarts divides the lines of a file: every line is in exactly one chunk.
// It gives the 0-based first line of each.
func chunkStarts(l *lang, lines []string, defs []Def) []int {
	n := len(lines)
	if n == 0 {
		return nil
	}
	cuts := make([]int, 0, len(defs)+1)
	for _, d := range defs {
		if d.Kind != "field" && d.Start <= n {
			if c := docStart(l, lines, d.Start-1); len(cuts) == 0 || c > cuts[len(cuts)-1] {
				cuts = append(cuts, c)
			}
		}
	}
	cuts = append(cuts, n)
	starts := []int{0}
	at := 0 // start of the open chunk
	for i, c := range cuts {
		for c-at > chunkMax { // longer than one chunk: cut inside
			cut := calmLine(lines, at+chunkTarget-8, min(at+chunkTarget+8, c-chunkMin))
			starts = append(starts, cut)
			at = cut
		}
		if c < n && c-at >= chunkMin && i+1 < len(cuts) && cuts[i+1]-at > chunkTarget {
			starts = append(starts, c)
			at = c
		}
		if len(starts) >= maxChunks {
			break
		}
	}
	return starts
}

// docStart moves up over the comment and the attributes right above a line.
func docStart(l *lang, lines []string, i int) int {
	for j := i; j > 0 && i-j < maxDocComment; j-- {
		text := strings.TrimSpace(lines[j-1])
		if text == "" {
			return j
		}
		note := false
		for _, p := range l.lineNote {
			note = note || strings.HasPrefix(text, p)
		}
		if !note {
			return j
		}
	}
	return max(0, i-maxDocComment)
}

// calmLine picks the line in [a, b) after which a cut hurts least: a blank one,
// else the least indented.
func calmLine(lines []string, a, b int) int {
	best, bestCost := a, 1<<30
	for i := a; i < b; i++ {
		cost := 0
		if strings.TrimSpace(lines[i-1]) != "" {
			cost = 1 + indentOf(lines[i])
		}
		if cost < bestCost {
			best, bestCost = i, cost
		}
	}
	return best
}
