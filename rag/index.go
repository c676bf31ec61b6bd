package rag

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Options of an index. The zero value is right for an editor's server.
type Options struct {
	// OnStatus is told of every change of Status, from the goroutine that made
	// it and never from two at once. It must return soon.
	OnStatus func(Status)
	// NoHistory leaves the git history out.
	NoHistory bool
}

// Index finds code in one folder. All methods may be called at any time from
// any goroutine; queries never wait for indexing.
type Index struct {
	src  Source
	opts Options
	st   *store
	hist *history

	table atomic.Pointer[table]
	seq   atomic.Uint64 // of readings of files

	// write guards everything that changes the index: ids, the batch, the
	// manifest, the table. It is held for one batch at a time.
	write   sync.Mutex
	nextID  uint32
	active  int               // calls of bring under way
	gone    map[string]uint64 // path → seq of a removal that a reading under way must not undo
	dropped []goneFile        // replaced versions, removed with the next batch
	closed  bool

	statusMu sync.Mutex // never taken while write is wanted
	status   Status

	runs   sync.WaitGroup
	cancel context.CancelFunc
	ctx    context.Context
}

// Open opens the index kept in dir (made when absent) for the files of src. It
// reads what an earlier process left, which is at once searchable, and indexes
// nothing: call Start. Whatever is wrong with dir costs time, not service: see
// Status().Message.
func Open(dir string, src Source, opts Options) (*Index, error) {
	st, files, err := openStore(dir)
	if err != nil {
		return nil, fmt.Errorf("open the index of %s: %w", src.Root(), err)
	}
	x := &Index{src: src, opts: opts, st: st, gone: map[string]uint64{}}
	x.ctx, x.cancel = context.WithCancel(context.Background())
	x.hist = openHistory(src.Root(), st.dir, opts.NoHistory)
	if err := x.adopt(files); err != nil {
		x.cancel()
		return nil, errors.Join(fmt.Errorf("open the index of %s: %w", src.Root(), err), st.close())
	}
	t := x.table.Load()
	x.status = Status{State: StateIndexing, Files: len(t.sorted), Chunks: t.chunks, Message: st.note}
	return x, nil
}

// adopt makes the table of what is on disk. Documents that the manifest does not
// name were written just before a crash; they are dropped.
func (x *Index) adopt(files map[string]*entry) error {
	t := newTable(files)
	x.nextID = uint32(len(t.byID))
	r, err := x.st.lex.reader()
	if err != nil {
		return err
	}
	defer r.Close()
	orphans := map[uint32]int{}
	r.eachLive(func(ref docRef) {
		x.nextID = max(x.nextID, ref.file+1)
		if t.file(ref.file) == nil {
			orphans[ref.file] = max(orphans[ref.file], int(ref.chunk)+1)
		}
	})
	for id, chunks := range orphans {
		x.dropped = append(x.dropped, goneFile{id, chunks})
	}
	x.table.Store(t)
	return nil
}

// Start brings the index up to date in the background, the git history last.
// ctx bounds that work.
func (x *Index) Start(ctx context.Context) {
	x.background(ctx, func(ctx context.Context) {
		if err := x.Refresh(ctx); err != nil && ctx.Err() == nil {
			x.setStatus(func(s *Status) { s.State, s.Message = StateDegraded, err.Error() })
		}
	})
}

// background runs f unless the index is closed; Close waits for it.
func (x *Index) background(ctx context.Context, f func(context.Context)) {
	x.write.Lock()
	defer x.write.Unlock()
	if x.closed {
		return
	}
	x.runs.Add(1)
	go func() {
		defer x.runs.Done()
		ctx, stop := x.bounded(ctx)
		defer stop()
		f(ctx)
	}()
}

// bounded ends with ctx and with the index.
func (x *Index) bounded(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(x.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// Refresh compares all files with the index, indexes what differs, and reads
// what is new in the git history. It returns when all of that is searchable.
func (x *Index) Refresh(ctx context.Context) error {
	ctx, stop := x.bounded(ctx)
	defer stop()
	files, err := x.src.Files(ctx, nil)
	if err != nil {
		return fmt.Errorf("list the files of %s: %w", x.src.Root(), err)
	}
	if err := x.bring(ctx, files, x.missing(files)); err != nil {
		return err
	}
	x.hist.refresh(ctx)
	if x.hist.took() {
		x.bump()
	}
	x.settle()
	return nil
}

// missing gives the indexed paths that are not among files, which are sorted.
func (x *Index) missing(files []File) []string {
	var out []string
	i := 0
	for _, e := range x.table.Load().sorted {
		for i < len(files) && files[i].Path < e.path {
			i++
		}
		if i == len(files) || files[i].Path != e.path {
			out = append(out, e.path)
		}
	}
	return out
}

// Update indexes what has become of these files or folders, as one batch where
// they are few. What it did is searchable when it returns.
func (x *Index) Update(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	ctx, stop := x.bounded(ctx)
	defer stop()
	files, err := x.src.Files(ctx, paths)
	if err != nil {
		return fmt.Errorf("look at the changed files of %s: %w", x.src.Root(), err)
	}
	here := make(map[string]bool, len(files))
	for _, f := range files {
		here[f.Path] = true
	}
	t := x.table.Load()
	var gone []string
	for _, p := range paths {
		if e := t.at(p); e != nil && !here[p] {
			gone = append(gone, p)
		}
		for _, e := range t.below(p) {
			if p != "" && !here[e.path] {
				gone = append(gone, e.path)
			}
		}
	}
	if err := x.bring(ctx, files, gone); err != nil {
		return err
	}
	x.settle()
	return nil
}

// Status says how far the index is.
func (x *Index) Status() Status {
	x.statusMu.Lock()
	defer x.statusMu.Unlock()
	return x.status
}

// setStatus changes the status and tells of it when it did change.
func (x *Index) setStatus(change func(*Status)) {
	x.statusMu.Lock()
	defer x.statusMu.Unlock()
	was := x.status
	change(&x.status)
	t := x.table.Load()
	x.status.Files, x.status.Chunks, x.status.Generation = len(t.sorted), t.chunks, t.generation
	if x.status != was && x.opts.OnStatus != nil {
		x.opts.OnStatus(x.status)
	}
}

// settle says that nothing is left to do.
func (x *Index) settle() {
	x.setStatus(func(s *Status) {
		s.State, s.Done, s.Message = StateReady, s.Total, x.st.note
		if x.st.dir == "" {
			s.State = StateDegraded
		}
	})
}

// bump makes a new generation when something outside the table has changed what a
// query finds.
func (x *Index) bump() {
	x.write.Lock()
	defer x.write.Unlock()
	t := *x.table.Load()
	t.generation++
	x.table.Store(&t)
}

// Close waits for background work to end and releases the folder. Queries
// after it fail.
func (x *Index) Close() error {
	x.write.Lock()
	if x.closed {
		x.write.Unlock()
		return nil
	}
	x.closed = true // nothing is committed or begun from here on
	x.write.Unlock()
	x.cancel()
	x.runs.Wait()
	return x.st.close()
}
