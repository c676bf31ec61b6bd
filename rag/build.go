package rag

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"sync"
)

// Limits of one batch. Larger ones index faster and hold more memory.
const (
	batchChunks  = 3000
	batchBytes   = 16 << 20
	readAhead    = 64 // files read and analysed that wait for their batch
	progressStep = 64 // files between two notices of progress
	manyFiles    = 1000
)

// prepared is a file on its way into the index.
type prepared struct {
	file File
	e    *entry // nil when the file could not be read: it is taken out
	docs []chunkDoc
	same bool // only size, time or nothing at all has changed
}

// bring makes the index hold exactly the given state of these files, and
// nothing of the gone ones.
func (x *Index) bring(ctx context.Context, files []File, gone []string) error {
	t := x.table.Load()
	todo := files[:0:0]
	for _, f := range files {
		if e := t.at(f.Path); e == nil || e.size != f.Size || e.modTime != f.ModTime {
			todo = append(todo, f)
		}
	}
	if len(todo) == 0 && len(gone) == 0 {
		return nil
	}
	x.begin()
	defer x.end()
	x.setStatus(func(s *Status) { s.State, s.Done, s.Total = StateIndexing, 0, len(todo) })
	if len(gone) > 0 {
		if err := x.commit(nil, gone, x.seq.Add(1)); err != nil {
			return err
		}
	}
	if err := x.commitAll(ctx, todo); err != nil {
		return err
	}
	if len(todo) >= manyFiles {
		debug.FreeOSMemory() // what a large build needed is not needed again soon
		x.background(x.ctx, func(ctx context.Context) {
			x.st.lex.compact(ctx)
			debug.FreeOSMemory()
		})
	}
	return nil
}

// commitAll commits files in batches, each while the next is put together.
func (x *Index) commitAll(ctx context.Context, todo []File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := x.prepare(ctx, todo)
	full, committed := make(chan []prepared), make(chan error, 1)
	go func() {
		var failed error
		for batch := range full {
			if failed == nil {
				if failed = x.commit(batch, nil, 0); failed != nil {
					cancel()
				}
			}
		}
		committed <- failed
	}()
	var batch []prepared
	chunks, bytes, done := 0, 0, 0
	for p := range out { // drained to the end, so that the workers end too
		batch = append(batch, p)
		chunks += len(p.docs)
		bytes += int(p.file.Size)
		done++
		if chunks >= batchChunks || bytes >= batchBytes {
			full <- batch
			batch, chunks, bytes = nil, 0, 0
		}
		if done%progressStep == 0 || done == len(todo) {
			x.setStatus(func(s *Status) { s.Done = done })
		}
	}
	if len(batch) > 0 && ctx.Err() == nil {
		full <- batch
	}
	close(full)
	if err := <-committed; err != nil {
		return err
	}
	return ctx.Err()
}

func (x *Index) begin() {
	x.write.Lock()
	defer x.write.Unlock()
	x.active++
}

// end forgets the removals when no older reading is left that could undo one.
func (x *Index) end() {
	x.write.Lock()
	defer x.write.Unlock()
	if x.active--; x.active == 0 {
		clear(x.gone)
	}
}

// prepare reads and analyses on all processors. The channel is closed at the end.
func (x *Index) prepare(ctx context.Context, todo []File) <-chan prepared {
	out := make(chan prepared, readAhead)
	next := make(chan File)
	go func() {
		defer close(next)
		for _, f := range todo {
			select {
			case next <- f:
			case <-ctx.Done():
				return
			}
		}
	}()
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(todo)) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var a analyzer
			for f := range next {
				select {
				case out <- x.prepareOne(&a, f):
				case <-ctx.Done():
				}
			}
		}()
	}
	go func() { wg.Wait(); close(out) }()
	return out
}

func (x *Index) prepareOne(a *analyzer, f File) prepared {
	seq := x.seq.Add(1) // before the reading: a later reading sees no older text
	src, err := x.src.Read(f.Path)
	if err != nil {
		return prepared{file: f}
	}
	if old := x.table.Load().at(f.Path); old != nil && old.hash == hashText(src) {
		e := *old
		e.seq, e.size, e.modTime = seq, f.Size, f.ModTime
		return prepared{file: f, e: &e, same: true}
	}
	e, docs := a.analyze(f.Path, src)
	e.seq, e.size, e.modTime = seq, f.Size, f.ModTime
	return prepared{file: f, e: e, docs: docs}
}

// commit makes a batch durable and visible. Between the two a query sees the old
// table and finds its documents still there: replaced versions are removed from
// the index one batch later.
func (x *Index) commit(batch []prepared, gone []string, seq uint64) error {
	x.write.Lock()
	defer x.write.Unlock()
	if x.closed {
		return errors.New("the index is closed")
	}
	t := x.table.Load()
	adds := map[uint32][]chunkDoc{}
	var entries []*entry
	var nowGone []goneFile
	var goneHere []string
	for _, p := range gone {
		if e := t.at(p); e != nil {
			x.gone[p] = seq
			goneHere = append(goneHere, p)
			nowGone = append(nowGone, goneFile{e.id, len(e.starts)})
		}
	}
	for _, p := range batch {
		old := t.at(p.file.Path)
		switch {
		case p.e == nil:
			if old != nil {
				goneHere = append(goneHere, p.file.Path)
				nowGone = append(nowGone, goneFile{old.id, len(old.starts)})
			}
			continue
		case x.gone[p.file.Path] > p.e.seq || (old != nil && old.seq > p.e.seq):
			continue // a newer state is there already
		case p.same && old != nil && old.id == p.e.id:
		default:
			if p.same { // the version it equals has been replaced meanwhile
				continue
			}
			p.e.id = x.nextID
			x.nextID++
			adds[p.e.id] = p.docs
			if old != nil {
				nowGone = append(nowGone, goneFile{old.id, len(old.starts)})
			}
		}
		delete(x.gone, p.file.Path)
		entries = append(entries, p.e)
	}
	if err := x.st.lex.write(adds, x.dropped); err != nil {
		return err
	}
	x.dropped = nowGone
	if err := x.st.man.append(entries, goneHere); err != nil {
		return err
	}
	next := t.with(entries, goneHere)
	x.table.Store(next)
	return nil
}
