package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Times and limits of watching.
const (
	WatchQuiet   = 50 * time.Millisecond  // a batch ends after so long without an event …
	WatchLongest = 500 * time.Millisecond // … or so long after its first one
	PollEvery    = 5 * time.Second        // where the system gives no watches
	maxBatch     = 10_000                 // paths; more become a rescan
)

// Batch is what has happened since the last one.
type Batch struct {
	// Paths of files and folders that came, went or changed, sorted, relative to the
	// root. A folder stands for all below it.
	Paths []string
	// Rescan says that not everything could be told: look at all files.
	Rescan bool
	// HeadMoved says that another commit is checked out.
	HeadMoved bool
}

func (b *Batch) empty() bool { return len(b.Paths) == 0 && !b.Rescan && !b.HeadMoved }

// Watcher tells of changes in a folder. It watches folders only, as an editor's
// atomic save makes a watch on a file go blind.
type Watcher struct {
	s      *Scanner
	out    chan Batch
	cancel context.CancelFunc
	done   chan struct{}

	mu   sync.Mutex
	note string

	// Below: for the loop alone.
	fs      *fsnotify.Watcher
	watched map[string]bool // folders, relative
	pending Batch
	seen    map[string]bool // pending.Paths
	poll    time.Duration
}

// Watch begins to watch. Every change after it returns is told on Changes. Where the
// system has no watches left it polls, and Note says so.
func (s *Scanner) Watch(ctx context.Context) (*Watcher, error) {
	return s.watch(ctx, fsnotify.NewWatcher, PollEvery)
}

func (s *Scanner) watch(ctx context.Context, notify func() (*fsnotify.Watcher, error), poll time.Duration) (*Watcher, error) {
	w := &Watcher{s: s, out: make(chan Batch), done: make(chan struct{}), watched: map[string]bool{}, seen: map[string]bool{}, poll: poll}
	ctx, w.cancel = context.WithCancel(ctx)
	var state map[string]Entry
	err := w.begin(ctx, notify)
	if err != nil && !outOfWatches(err) {
		w.cancel()
		return nil, fmt.Errorf("watch %s: %w", s.dir, err)
	}
	if err != nil {
		w.stopNotify(err)
		if state, err = w.snapshot(ctx); err != nil {
			w.cancel()
			return nil, fmt.Errorf("watch %s: %w", s.dir, err)
		}
	}
	go w.run(ctx, state)
	return w, nil
}

// Changes gives the batches. It is closed by Close.
func (w *Watcher) Changes() <-chan Batch { return w.out }

// Note says what is wrong with watching, "" when nothing is.
func (w *Watcher) Note() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.note
}

// Close ends watching and waits for its end.
func (w *Watcher) Close() error {
	w.cancel()
	<-w.done
	return nil
}

// outOfWatches tells the limits of the system, which polling gets around.
func outOfWatches(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ENOSYS)
}

func (w *Watcher) begin(ctx context.Context, notify func() (*fsnotify.Watcher, error)) (err error) {
	if w.fs, err = notify(); err != nil {
		return err
	}
	err = w.addAll(ctx)
	if err != nil && !outOfWatches(err) {
		_ = w.fs.Close()
	}
	return err
}

// addAll watches every folder that holds a file to be looked at, the folders above
// them, and where git keeps what is checked out.
func (w *Watcher) addAll(ctx context.Context) error {
	if err := w.add("."); err != nil {
		return err
	}
	for _, d := range []string{".git", ".git/logs"} {
		if fi, err := w.s.root.Lstat(d); err == nil && fi.IsDir() {
			if err := w.add(d); err != nil {
				return err
			}
		}
	}
	return w.addBelow(ctx, nil)
}

func (w *Watcher) addBelow(ctx context.Context, paths []string) error {
	files, err := w.s.Scan(ctx, paths)
	if err != nil {
		return err
	}
	for _, f := range files {
		for d := path.Dir(f.Path); d != "." && !w.watched[d]; d = path.Dir(d) {
			if err := w.add(d); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Watcher) add(dir string) error {
	if w.watched[dir] {
		return nil
	}
	err := w.fs.Add(filepath.Join(w.s.dir, filepath.FromSlash(dir)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
		return nil // gone again, or closed to us
	}
	if err == nil {
		w.watched[dir] = true
	}
	return err
}

// run is the only goroutine. While nobody takes the batch that is ready, it grows.
func (w *Watcher) run(ctx context.Context, state map[string]Entry) {
	defer close(w.done)
	defer close(w.out)
	defer func() {
		if w.fs != nil {
			_ = w.fs.Close()
		}
	}()
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	tick := time.NewTicker(w.poll)
	tick.Stop()
	if w.fs == nil {
		tick.Reset(w.poll)
	}
	var first time.Time
	ready := false
	var next Batch
	stale := true // next is not what would be sent now
	for {
		var events <-chan fsnotify.Event
		var errs <-chan error
		if w.fs != nil {
			events, errs = w.fs.Events, w.fs.Errors
		}
		var out chan Batch
		if ready {
			out = w.out
			if stale {
				next, stale = w.take(), false
			}
		}
		var failed error
		select {
		case <-ctx.Done():
			return
		case ev := <-events:
			failed = w.event(ctx, ev)
		case err := <-errs:
			w.pending.Rescan = true // an overflow, or something we know even less of
			if errors.Is(err, fsnotify.ErrEventOverflow) {
				failed = w.addAll(ctx)
			}
		case <-tick.C:
			state = w.compare(ctx, state)
		case <-quiet.C:
			ready = !w.pending.empty()
			continue
		case out <- next:
			w.pending, w.seen, ready, first = Batch{}, map[string]bool{}, false, time.Time{}
			continue
		}
		stale = true
		if failed != nil && ctx.Err() == nil {
			w.stopNotify(failed)
			state, _ = w.snapshot(ctx)
			w.pending.Rescan = true
			tick.Reset(w.poll)
		}
		if w.pending.empty() || ready {
			continue
		}
		if first.IsZero() {
			first = time.Now()
		}
		quiet.Reset(max(0, min(WatchQuiet, WatchLongest-time.Since(first))))
	}
}

// take is the batch as it would be sent now.
func (w *Watcher) take() Batch {
	b := w.pending
	if b.Rescan {
		b.Paths = nil
	}
	b.Paths = slices.Clone(b.Paths)
	slices.Sort(b.Paths)
	return b
}

func (w *Watcher) changed(p string) {
	if w.seen[p] || w.pending.Rescan {
		return
	}
	if len(w.pending.Paths) >= maxBatch {
		w.pending.Rescan = true
		return
	}
	w.seen[p] = true
	w.pending.Paths = append(w.pending.Paths, p)
}

func (w *Watcher) event(ctx context.Context, ev fsnotify.Event) error {
	rel, err := filepath.Rel(w.s.dir, ev.Name)
	if err != nil || ev.Op == fsnotify.Chmod {
		return nil
	}
	p := filepath.ToSlash(rel)
	if p == ".git" || strings.HasPrefix(p, ".git/") {
		if p == ".git/HEAD" || p == ".git/logs/HEAD" {
			w.pending.HeadMoved = true
		}
		return nil
	}
	if ev.Has(fsnotify.Remove) || ev.Has(fsnotify.Rename) {
		w.forget(p)
		w.changed(p)
		return nil
	}
	fi, err := w.s.root.Lstat(p)
	if err != nil {
		w.changed(p)
		return nil
	}
	if !fi.IsDir() {
		if Lookable(p) {
			w.changed(p)
		}
		if path.Base(p) == ".gitignore" || path.Base(p) == IgnoreFile {
			w.pending.Rescan = true // what it says now concerns any file
			return w.addAll(ctx)
		}
		return nil
	}
	// A new folder: first the watch, then a look at what came before it.
	ign := newIgnores(w.s.root, ".gitignore")
	if !Lookable(p) || ign.ignoredDir(p) {
		return nil
	}
	if err := w.addTree(p, ign, 0); err != nil {
		return err
	}
	w.changed(p)
	return nil
}

// addTree watches a folder and those in it, empty ones too: they are new, and files
// may be on their way.
func (w *Watcher) addTree(dir string, ign *ignores, depth int) error {
	if err := w.add(dir); err != nil || depth > maxDepth {
		return err
	}
	d, err := w.s.root.Open(dir)
	if err != nil {
		return nil
	}
	entries, _ := d.ReadDir(-1)
	_ = d.Close()
	for _, e := range entries {
		sub := path.Join(dir, e.Name())
		if e.IsDir() && Lookable(sub) && !ign.ignoredDir(sub) {
			if err := w.addTree(sub, ign, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget drops the watches of a folder that went. A moved folder's watches would go
// on to tell of its files under their old names.
func (w *Watcher) forget(dir string) {
	if !w.watched[dir] {
		return
	}
	for d := range w.watched {
		if d == dir || strings.HasPrefix(d, dir+"/") {
			_ = w.fs.Remove(filepath.Join(w.s.dir, filepath.FromSlash(d)))
			delete(w.watched, d)
		}
	}
}

// stopNotify changes over to polling.
func (w *Watcher) stopNotify(why error) {
	w.mu.Lock()
	w.note = fmt.Sprintf("changes in %s are looked for every %v: the system has no file watches left (%v); raise fs.inotify.max_user_watches",
		w.s.dir, w.poll, why)
	w.mu.Unlock()
	if w.fs != nil {
		_ = w.fs.Close()
	}
	w.fs, w.watched = nil, map[string]bool{}
}

func (w *Watcher) snapshot(ctx context.Context) (map[string]Entry, error) {
	files, err := w.s.Scan(ctx, nil)
	if err != nil {
		return nil, err
	}
	m := make(map[string]Entry, len(files)+1)
	for _, f := range files {
		m[f.Path] = f
	}
	if fi, err := os.Lstat(filepath.Join(w.s.dir, ".git", "HEAD")); err == nil {
		m[".git/HEAD"] = Entry{".git/HEAD", fi.Size(), fi.ModTime().UnixNano()}
	}
	return m, nil
}

// compare polls once.
func (w *Watcher) compare(ctx context.Context, was map[string]Entry) map[string]Entry {
	now, err := w.snapshot(ctx)
	if err != nil {
		return was
	}
	for p, e := range now {
		if was[p] != e {
			w.told(p)
		}
	}
	for p := range was {
		if _, ok := now[p]; !ok {
			w.told(p)
		}
	}
	return now
}

func (w *Watcher) told(p string) {
	if p == ".git/HEAD" {
		w.pending.HeadMoved = true
		return
	}
	w.changed(p)
}
