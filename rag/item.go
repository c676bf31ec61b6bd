package rag

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Item is one piece of evidence: a span of a file's current text.
//
// Lines are 1-based and inclusive. ContentHash is the hash of exactly those
// lines, so that whoever holds an Item can tell whether the text has changed.
type Item struct {
	Path        string   `json:"path"` // relative to the root, with slashes
	StartLine   int      `json:"start_line"`
	EndLine     int      `json:"end_line"`
	Score       float64  `json:"score"` // what it is worth among the items of its Set; the best has 1
	Why         []Why    `json:"why"`   // strongest first; never empty
	Symbol      string   `json:"symbol,omitempty"`
	Around      *Lines   `json:"around,omitempty"`  // what the span is a part of: for whoever has room for more
	NodeIDs     []string `json:"nodeIds,omitempty"` // "file:PATH" and "sym:PATH#NAME"
	ContentHash string   `json:"contentHash"`
	Generation  uint64   `json:"generation,omitempty"` // of the index that answered
}

// Lines is a range of lines, 1-based and inclusive.
type Lines struct {
	StartLine int `json:"start_line"`
	EndLine   int `json:"end_line"`
}

// Why says that a ranker found the item's file, at which rank (1 is best), and
// what it contributed to the item's score.
type Why struct {
	Ranker string  `json:"ranker"`
	Rank   int     `json:"rank"`
	Score  float64 `json:"score"`
}

// Set is a RetrievalSet: the ordered evidence for one query.
type Set struct {
	RetrievalSetID string `json:"retrievalSetId"`
	Query          string `json:"query,omitempty"`
	Items          []Item `json:"items"`
	// State is "ready" when the whole index answered, "indexing" when a part
	// of it did, and "scan" when nothing was indexed yet and the files
	// themselves were searched for a bounded time.
	State string `json:"state,omitempty"`
	// Terms are the words of the query that took part, heaviest first.
	Terms []string `json:"terms,omitempty"`
}

// Set states.
const (
	SetReady    = "ready"
	SetIndexing = "indexing"
	SetScan     = "scan"
)

// setIDBytes is how much of the hash a RetrievalSetID keeps: 128 bits.
const setIDBytes = 16

// setID is the content hash of the set's canonical form. The generation and
// the state are left out: the id names the evidence, not the moment.
func setID(s Set) string {
	c := Set{Query: s.Query, Items: make([]Item, len(s.Items))}
	for i, it := range s.Items {
		it.Generation = 0
		c.Items[i] = it
	}
	b, err := json.Marshal(c)
	if err != nil { // only NaN or Inf scores could do that; fusion makes neither
		b = []byte(err.Error())
	}
	sum := sha256.Sum256(b)
	return "rs-" + hex.EncodeToString(sum[:setIDBytes])
}

// contentHash names a span's text.
func contentHash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:setIDBytes])
}
