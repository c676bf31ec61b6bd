package rag

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// This file and posting.go are the only ones that know the search engine.
// Bleve keeps the inverted index: terms → chunks with their counts. Scores are
// computed here and not by Bleve, whose BM25 takes the number of distinct
// terms for the length of a document and so buries long ones.

// Fields of a chunk's document. The two path fields stand at a file's first
// chunk only.
const (
	fieldBody = "b" // the text, code and comments alike
	fieldSym  = "s" // names of what is defined here
	fieldDir  = "d" // words of the directories
	fieldBase = "f" // words of the file's name
)

// boltTimeout bounds the wait for another process's lock on the same index.
const boltTimeout = "1s"

// analysisWorkers is for Bleve's own queue. Our fields arrive analysed, so that
// it has nothing to do there.
const analysisWorkers = 1

const docIDBytes = 6 // file id, then number of the chunk; big-endian

func docID(file uint32, chunk int) string {
	var b [docIDBytes]byte
	binary.BigEndian.PutUint32(b[:4], file)
	binary.BigEndian.PutUint16(b[4:], uint16(chunk))
	return string(b[:])
}

// docRef is a chunk as a posting names it.
type docRef struct {
	file  uint32
	chunk uint16
}

// chunkDoc is a chunk ready to be indexed: term counts by field.
type chunkDoc struct {
	chunk  int
	fields []*termField
}

// termField is a field whose terms have been counted already.
type termField struct {
	name  string
	freqs index.TokenFrequencies
}

var _ document.Field = (*termField)(nil)

func (f *termField) Name() string                                     { return f.name }
func (f *termField) ArrayPositions() []uint64                         { return nil }
func (f *termField) Options() index.FieldIndexingOptions              { return index.IndexField }
func (f *termField) Analyze()                                         {}
func (f *termField) Value() []byte                                    { return nil }
func (f *termField) NumPlainTextBytes() uint64                        { return 0 }
func (f *termField) Size() int                                        { return 64 * len(f.freqs) }
func (f *termField) EncodedFieldType() byte                           { return 't' }
func (f *termField) AnalyzedLength() int                              { return 1 } // stored with every posting; ours are in the table
func (f *termField) AnalyzedTokenFrequencies() index.TokenFrequencies { return f.freqs }

// counter counts the terms of one field of one chunk, by number. It is used again and
// again, so that a chunk costs three allocations and not one for each of its terms.
type counter struct {
	n     []int // by number of the term
	order []uint32
	total int
}

func (c *counter) add(term uint32, n int) {
	for int(term) >= len(c.n) {
		c.n = append(c.n, 0)
	}
	if c.n[term] == 0 {
		c.order = append(c.order, term)
	}
	c.n[term] += n
	c.total += n
}

// field gives what was counted as a field, nil when that is nothing, and begins anew.
// terms are the terms by number.
func (c *counter) field(name string, terms []string) *termField {
	if len(c.order) == 0 {
		return nil
	}
	size := 0
	for _, t := range c.order {
		size += len(terms[t])
	}
	text := make([]byte, 0, size)
	slab := make([]index.TokenFreq, len(c.order))
	f := &termField{name: name, freqs: make(index.TokenFrequencies, len(c.order))}
	for i, t := range c.order {
		text = append(text, terms[t]...)
		slab[i].Term = text[len(text)-len(terms[t]) : len(text) : len(text)]
		slab[i].SetFrequency(c.n[t])
		f.freqs[terms[t]] = &slab[i]
		c.n[t] = 0
	}
	c.order, c.total = c.order[:0], 0
	return f
}

// lexical is the inverted index on disk, or in memory when dir is "".
type lexical struct {
	bleve bleve.Index
	async *asyncErrors

	mu   sync.Mutex
	refs map[uint64][]docRef // segment id → its documents, in order
}

var errIndexGone = errors.New("the index is closed")

func init() {
	scorch.RegistryAsyncErrorCallbacks[asyncCallback] = reportAsync
}

// openLexical opens or creates. fresh says that it is empty.
func openLexical(dir string) (l *lexical, fresh bool, err error) {
	config := map[string]any{"bolt_timeout": boltTimeout, "asyncErrorCallbackName": asyncCallback}
	l = &lexical{refs: map[uint64][]docRef{}}
	if dir != "" {
		if _, serr := os.Stat(dir); serr == nil {
			l.async = watchAsync(dir)
			l.bleve, err = bleve.OpenUsing(dir, config)
			if err != nil {
				l.async.stop()
				return nil, false, fmt.Errorf("open the index %s: %w", dir, err)
			}
			return l, false, nil
		}
	}
	m := bleve.NewIndexMapping()
	m.StoreDynamic, m.DocValuesDynamic, m.IndexDynamic = false, false, false
	l.async = watchAsync(dir)
	l.bleve, err = bleve.NewUsing(dir, m, scorch.Name, bleve.Config.DefaultKVStore, config)
	if err != nil {
		l.async.stop()
		return nil, false, fmt.Errorf("create the index %s: %w", dir, err)
	}
	return l, true, nil
}

func (l *lexical) close() error {
	defer l.async.stop()
	return l.bleve.Close()
}

// write commits additions and removals in one batch, durable when it returns.
func (l *lexical) write(adds map[uint32][]chunkDoc, gone []goneFile) error {
	b := l.bleve.NewBatch()
	for id, docs := range adds {
		for _, d := range docs {
			doc := document.NewDocument(docID(id, d.chunk))
			for _, f := range d.fields {
				doc.AddField(f)
			}
			if err := b.IndexAdvanced(doc); err != nil {
				return err
			}
		}
	}
	for _, g := range gone {
		for c := range g.chunks {
			b.Delete(docID(g.id, c))
		}
	}
	if b.Size() == 0 {
		return nil
	}
	select {
	case <-l.async.failed: // of a merge, long ago: this batch may well succeed
	default:
	}
	done := make(chan error, 1)
	go func() { done <- l.bleve.Batch(b) }()
	select {
	case err := <-done:
		return err
	case err := <-l.async.failed:
		// The engine retries for ever on, say, a full disk. The batch ends with
		// it, or when the index is closed; nobody should wait for that.
		return fmt.Errorf("write the index: %w", err)
	}
}

// compact makes one segment of all: smaller by a third, and faster to query. A large
// build is worth it once; what comes later is merged by the engine as it sees fit.
func (l *lexical) compact(ctx context.Context) {
	if adv, err := l.bleve.Advanced(); err == nil {
		if s, ok := adv.(*scorch.Scorch); ok {
			_ = s.ForceMerge(ctx, nil) // without it the index is only larger
		}
	}
}

// goneFile is a version of a file whose chunks are to be removed.
type goneFile struct {
	id     uint32
	chunks int
}

// lexReader is a consistent view of the index. Close it.
type lexReader struct {
	snap *scorch.IndexSnapshot
	segs []lexSegment
}

type lexSegment struct {
	seg     segment.Segment
	deleted *roaring.Bitmap
	refs    []docRef
	fields  map[string]*segmentField
}

// segmentField is a field of a segment with the space that its lookups reuse.
type segmentField struct {
	dict  segment.TermDictionary
	list  segment.PostingsList
	items segment.PostingsIterator
}

func (l *lexical) reader() (*lexReader, error) {
	adv, err := l.bleve.Advanced()
	if err != nil {
		return nil, err
	}
	r, err := adv.Reader()
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, errIndexGone
	}
	snap, ok := r.(*scorch.IndexSnapshot)
	if !ok {
		_ = r.Close()
		return nil, fmt.Errorf("the index has an unknown reader %T", r)
	}
	if snap == nil { // the engine's way to say that it is closed
		return nil, errIndexGone
	}
	lr := &lexReader{snap: snap}
	live := map[uint64]bool{}
	for _, s := range snap.Segments() {
		refs, err := l.segmentRefs(s)
		if err != nil {
			_ = snap.Close()
			return nil, err
		}
		live[s.Id()] = true
		lr.segs = append(lr.segs, lexSegment{s.Segment(), s.Deleted(), refs, map[string]*segmentField{}})
	}
	l.forget(live)
	return lr, nil
}

func (r *lexReader) Close() { _ = r.snap.Close() }

// segmentRefs decodes the ids of a segment's documents once; segments never change.
func (l *lexical) segmentRefs(s *scorch.SegmentSnapshot) ([]docRef, error) {
	l.mu.Lock()
	refs, ok := l.refs[s.Id()]
	l.mu.Unlock()
	if ok && len(refs) == int(s.Segment().Count()) {
		return refs, nil
	}
	n := s.Segment().Count()
	refs = make([]docRef, n)
	for i := range n {
		id, err := s.DocID(i)
		if err != nil {
			return nil, err
		}
		if len(id) != docIDBytes {
			return nil, fmt.Errorf("the index holds a foreign document %q", id)
		}
		refs[i] = docRef{binary.BigEndian.Uint32(id), binary.BigEndian.Uint16(id[4:])}
	}
	l.mu.Lock()
	l.refs[s.Id()] = refs
	l.mu.Unlock()
	return refs, nil
}

// refsKept bounds how many segments that no reader of late has seen stay decoded.
const refsKept = 64

func (l *lexical) forget(live map[uint64]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.refs) <= len(live)+refsKept {
		return
	}
	for id := range l.refs {
		if !live[id] {
			delete(l.refs, id)
		}
	}
}

// each calls f for every chunk that has the term in the field. Chunks of versions that
// have been replaced or removed may be among them: the caller knows its files.
func (r *lexReader) each(field, term string, f func(ref docRef, seg, doc, freq int)) error {
	for si := range r.segs {
		s := &r.segs[si]
		d, ok := s.fields[field]
		if !ok {
			dict, err := s.seg.Dictionary(field)
			if err != nil {
				return err
			}
			d = &segmentField{dict: dict}
			s.fields[field] = d
		}
		var err error
		// Removed chunks are not asked to be left out: every caller passes over them as it
		// does over replaced ones, and taking them out of each list costs a third of a query.
		if d.list, err = d.dict.PostingsList([]byte(term), nil, d.list); err != nil {
			return err
		}
		d.items = d.list.Iterator(true, false, false, d.items)
		for {
			p, err := d.items.Next()
			if err != nil {
				return err
			}
			if p == nil {
				break
			}
			n := int(p.Number())
			f(s.refs[n], si, n, int(p.Frequency()))
		}
	}
	return nil
}

// docs says how many documents each segment holds, removed ones included.
func (r *lexReader) docs() []int {
	n := make([]int, len(r.segs))
	for i, s := range r.segs {
		n[i] = len(s.refs)
	}
	return n
}

// eachLive calls f for every chunk that has not been removed.
func (r *lexReader) eachLive(f func(docRef)) {
	for _, s := range r.segs {
		for i, ref := range s.refs {
			if s.deleted == nil || !s.deleted.Contains(uint32(i)) {
				f(ref)
			}
		}
	}
}
