package llmtest

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
)

// sampleText is prose, Go, shell and JSON: what the prompts of coding agents look like.
//
//go:embed sample.txt
var sampleText string

// mergeCount is how many merges the tokenizer has: enough for some 3.5 bytes a
// token. With one token a byte, attention over a prompt of 30 KB takes seconds.
const mergeCount = 1200

// words is how the gpt-2 tokenizer divides text before it merges, near enough
// to learn from: within ASCII.
var words = regexp.MustCompile(`'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+`)

// learnMerges is byte-pair encoding: again and again the most frequent pair of
// neighbours becomes one token. Ties go to the pair that sorts first.
func learnMerges(text string, count int) [][2]string {
	frequency := map[string]int{}
	for _, w := range words.FindAllString(text, -1) {
		frequency[w]++
	}
	type word struct {
		parts []string
		times int
	}
	var all []word
	for w, times := range frequency {
		parts := make([]string, len(w))
		for i := range len(w) {
			parts[i] = byteLevel(w[i : i+1])
		}
		all = append(all, word{parts, times})
	}
	pairs := map[[2]string]int{} // how often two parts are neighbours
	tally := func(w word, sign int) {
		for i := 1; i < len(w.parts); i++ {
			pairs[[2]string{w.parts[i-1], w.parts[i]}] += sign * w.times
		}
	}
	for _, w := range all {
		tally(w, 1)
	}
	var merges [][2]string
	for len(merges) < count {
		var best [2]string
		most := 1 // a pair that occurs once teaches nothing
		for p, n := range pairs {
			if n > most || n == most && n > 1 && slices.Compare(p[:], best[:]) < 0 {
				best, most = p, n
			}
		}
		if most == 1 {
			break
		}
		merges = append(merges, best)
		for k, w := range all {
			if merged := merge(w.parts, best); len(merged) < len(w.parts) {
				tally(w, -1)
				all[k].parts = merged
				tally(all[k], 1)
			}
		}
	}
	return merges
}

// merge is parts with each neighbouring pair made one; parts itself if there is none.
func merge(parts []string, pair [2]string) []string {
	for i := 1; i < len(parts); i++ {
		if parts[i-1] == pair[0] && parts[i] == pair[1] {
			parts = slices.Concat(parts[:i-1], []string{pair[0] + pair[1]}, parts[i+1:])
		}
	}
	return parts
}

// without is the merges whose products, and products of products, are none of
// these tokens.
func without(merges [][2]string, tokens map[string]bool) [][2]string {
	gone := maps.Clone(tokens)
	var kept [][2]string
	for _, m := range merges {
		if product := m[0] + m[1]; gone[product] || gone[m[0]] || gone[m[1]] {
			gone[product] = true
		} else {
			kept = append(kept, m)
		}
	}
	return kept
}
