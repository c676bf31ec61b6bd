package rag

import "strings"

// The reference graph is not stored: a definition's name is a term, and the files
// that mention it are that term's postings.

// Limits of the walk from the best files to their neighbours.
const (
	refSeeds    = 6  // files to start from
	refChunks   = 2  // of each, its best
	refNames    = 8  // definitions of each chunk
	refMaxShare = 20 // a name in more than one file in so many says nothing
	refMinFiles = 12 // … unless it is in no more than so many
)

// references finds files that mention what the best chunks of the best files define.
func (k *ranking) references(r *lexReader) error {
	if len(k.order) == 0 || k.first[k.order[0]] <= 0 {
		return nil
	}
	base := k.first[k.order[0]]
	limit := max(refMinFiles, len(k.t.sorted)/refMaxShare)
	done := map[string]bool{}
	for rank, i := range k.order[:min(refSeeds, len(k.order))] {
		e := k.t.sorted[i]
		w := k.first[i] / base / (1 + float64(rank)/3)
		cs := k.lex.chunksOf(e.id)
		for _, c := range cs[:min(refChunks, len(cs))] {
			names := 0
			from, to := e.span(int(c.ref.chunk))
			for _, d := range e.defs {
				if d.Start > to || d.End < from || d.Kind == "field" || d.Kind == "section" || names == refNames {
					continue
				}
				if d.End-d.Start > 3*chunkMax && (d.Start < from) {
					continue // a whole class is not what the chunk is about
				}
				t := nameTerm(d.Name)
				if t == "" || done[t] || strings.ContainsAny(d.Name, " ") {
					continue
				}
				done[t] = true
				names++
				if err := k.mention(r, t, i, w*c.score/cs[0].score, limit); err != nil {
					return err
				}
			}
		}
	}
	k.scale(featRefs)
	return nil
}

// mention adds to every file that has the term, except the one at position self. A term
// in more files than limit says nothing.
func (k *ranking) mention(r *lexReader, term string, self int, w float64, limit int) error {
	err := k.count(r, term)
	if err != nil || len(k.files) > limit {
		return err
	}
	v := w * idf(float64(len(k.t.sorted)), float64(len(k.files)))
	for _, f := range k.files {
		if p := k.pos[f]; p != self {
			n := float64(k.tf[f])
			k.add(featRefs, p, v*n/(n+1))
		}
	}
	return nil
}

// count counts a term's occurrences: k.files are those that have it, k.tf is how often,
// by file id.
func (k *ranking) count(r *lexReader, term string) error {
	for _, f := range k.files {
		k.tf[f] = 0
	}
	k.files = k.files[:0]
	return r.each(fieldBody, term, func(ref docRef, _, _, freq int) {
		if k.t.file(ref.file) == nil {
			return
		}
		if k.tf[ref.file] == 0 {
			k.files = append(k.files, ref.file)
		}
		k.tf[ref.file] += int32(freq)
	})
}

// expanded scores files by the words that the history adds to the query.
func (k *ranking) expanded(r *lexReader) error { return k.byWords(r, k.hist.expand, featExpand) }

func (k *ranking) translated(r *lexReader) error {
	return k.byWords(r, k.hist.translate, featTranslate)
}

func (k *ranking) byWords(r *lexReader, terms []queryTerm, to feature) error {
	n := float64(len(k.t.sorted))
	avg := float64(k.t.tokens)/(n+1) + 1
	for _, q := range terms {
		if err := k.count(r, q.text); err != nil {
			return err
		}
		w := q.weight * idf(n, float64(len(k.files)))
		for _, f := range k.files {
			x := float64(k.tf[f])
			norm := fileK1 * (1 - fileB + fileB*float64(k.t.byID[f].tokens)/avg)
			k.add(to, k.pos[f], w*x*(fileK1+1)/(x+norm))
		}
	}
	k.scale(to)
	return nil
}
