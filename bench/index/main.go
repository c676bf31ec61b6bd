// Command index measures the index itself on a folder of source, Go's own by default:
// how fast it is made, how large it is, how soon a saved file is found, how long a
// query takes, and what all that costs in memory. The library's defaults run beside it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rag"
	"github.com/blevesearch/bleve/v2"
)

func main() {
	dir := flag.String("dir", filepath.Join(runtime.GOROOT(), "src"), "the folder to index")
	baseline := flag.Bool("baseline", true, "index with the library's defaults too")
	maxFiles := flag.Int("files", 0, "at most so many files; 0 is all")
	noWatches := flag.Bool("no-watches", false, "only measure saves where the system grants no watches; takes them away first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *noWatches {
		if err := pollingSaves(ctx, *dir); err != nil {
			fmt.Fprintln(os.Stderr, "index:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(ctx, *dir, *baseline, *maxFiles); err != nil {
		fmt.Fprintln(os.Stderr, "index:", err)
		os.Exit(1)
	}
}

// overlay is a folder some of whose files have another text than on disk.
type overlay struct {
	sc    *workspace.Scanner
	files []rag.File
	mu    sync.Mutex
	text  map[string]string
	clock int64
}

func (o *overlay) Root() string { return o.sc.Root() }

func (o *overlay) Files(ctx context.Context, paths []string) ([]rag.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	want := map[string]bool{}
	for _, p := range paths {
		want[p] = true
	}
	var out []rag.File
	for _, f := range o.files {
		if s, ok := o.text[f.Path]; ok {
			f.Size, f.ModTime = int64(len(s)), o.clock
		}
		if len(want) == 0 || want[f.Path] {
			out = append(out, f)
		}
	}
	return out, ctx.Err()
}

func (o *overlay) Read(p string) ([]byte, error) {
	o.mu.Lock()
	s, ok := o.text[p]
	o.mu.Unlock()
	if ok {
		return []byte(s), nil
	}
	return o.sc.Read(p)
}

func (o *overlay) put(p, s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clock++
	o.text[p] = s
}

func row(name, format string, v ...any) { fmt.Printf("| %s | %s |\n", name, fmt.Sprintf(format, v...)) }

func run(ctx context.Context, dir string, baseline bool, maxFiles int) error {
	sc, err := workspace.NewScanner(dir)
	if err != nil {
		return err
	}
	defer sc.Close()
	begin := time.Now()
	entries, err := sc.Scan(ctx, nil)
	if err != nil {
		return err
	}
	scan := time.Since(begin)
	if maxFiles > 0 && len(entries) > maxFiles {
		entries = entries[:maxFiles]
	}
	src := &overlay{sc: sc, text: map[string]string{}}
	var bytes int64
	for _, e := range entries {
		src.files = append(src.files, rag.File(e))
		bytes += e.Size
	}
	mb := float64(bytes) / (1 << 20)
	fmt.Printf("%s: %d files, %.1f MB, %d processors, %s\n\n| what | measured |\n| --- | --- |\n", dir, len(entries), mb, runtime.GOMAXPROCS(0), runtime.Version())
	row("scan of the folder", "%d ms", scan.Milliseconds())
	cache, err := os.MkdirTemp("", "bench-index-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	x, err := rag.Open(cache, src, rag.Options{NoHistory: true})
	if err != nil {
		return err
	}
	begin = time.Now()
	cpu := cpuTime()
	if err := x.Refresh(ctx); err != nil {
		return err
	}
	ours := time.Since(begin)
	row("indexing", "%.1f MB/s (%.2f s, %.2f s of processor)", mb/ours.Seconds(), ours.Seconds(), (cpuTime() - cpu).Seconds())
	row("chunks", "%d", x.Status().Chunks)
	took, err := queries(ctx, x, entries, sc)
	if err != nil {
		return err
	}
	if err := ripgrep(ctx, dir, entries, sc, took); err != nil {
		return err
	}
	if err := updates(ctx, x, src); err != nil {
		return err
	}
	runtime.GC()
	row("resident now, at most", "%.0f MB, %.0f MB", resident("VmRSS"), resident("VmHWM"))
	if err := x.Close(); err != nil {
		return err
	}
	row("index size", "%.0f %% of the source", 100*float64(folderSize(cache))/float64(bytes))
	begin = time.Now()
	if x, err = rag.Open(cache, src, rag.Options{NoHistory: true}); err != nil {
		return err
	}
	row("open an index that is there", "%d ms", time.Since(begin).Milliseconds())
	begin = time.Now()
	if err := x.Refresh(ctx); err != nil {
		return err
	}
	row("find that nothing has changed", "%d ms", time.Since(begin).Milliseconds())
	if err := x.Close(); err != nil {
		return err
	}
	if err := saves(ctx, sc, entries, watchedSaves); err != nil {
		return err
	}
	if out, err := withoutWatches("-dir", dir); err != nil {
		row("save on disk → found without watches", "not measured: %v", err)
	} else {
		fmt.Print(out)
	}
	if !baseline {
		return nil
	}
	return defaults(entries, sc, mb, ours)
}

// questions are sentences of the files, asked one by one.
func questions(entries []workspace.Entry, sc *workspace.Scanner, n int, ask func(words []string) error) error {
	for i := range n {
		b, err := sc.Read(entries[(i*7919)%len(entries)].Path)
		if err != nil {
			return err
		}
		words := strings.Fields(string(b))
		if len(words) < 40 {
			continue
		}
		at := (i * 104729) % (len(words) - 30)
		if err := ask(words[at : at+6+i%24]); err != nil {
			return err
		}
	}
	return nil
}

// queries asks for what sentences in the files say, and gives the median.
func queries(ctx context.Context, x *rag.Index, entries []workspace.Entry, sc *workspace.Scanner) (float64, error) {
	var ms []float64
	err := questions(entries, sc, 200, func(words []string) error {
		begin := time.Now()
		_, err := x.Search(ctx, rag.Query{Text: strings.Join(words, " ")})
		ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
		return err
	})
	if err != nil {
		return 0, err
	}
	row("query, p50 / p95 / worst", "%s", percentiles(ms))
	return ms[len(ms)/2], nil
}

// ripgrep looks for the same words, any of them, in the same folder.
func ripgrep(ctx context.Context, dir string, entries []workspace.Entry, sc *workspace.Scanner, ours float64) error {
	rg, err := exec.LookPath("rg")
	if err != nil {
		row("ripgrep for the same words", "not measured: rg is not installed")
		return nil
	}
	var ms []float64
	err = questions(entries, sc, 40, func(words []string) error {
		args := []string{"--count-matches", "--ignore-case", "--fixed-strings"}
		for _, w := range words {
			args = append(args, "-e", w)
		}
		begin := time.Now()
		err := exec.CommandContext(ctx, rg, append(args, "--", dir)...).Run()
		ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
		var exit *exec.ExitError
		if errors.As(err, &exit) && ctx.Err() == nil {
			return nil // nothing found, or a file that it can't read
		}
		return err
	})
	if err != nil {
		return err
	}
	row("ripgrep for the same words, unranked, p50 / p95 / worst", "%s: a query of ours takes %.2f of it", percentiles(ms), ours/ms[len(ms)/2])
	return nil
}

// updates changes files as an editor and as git would.
func updates(ctx context.Context, x *rag.Index, src *overlay) error {
	var ms []float64
	for i := range 60 {
		p := src.files[(i*7919)%len(src.files)].Path
		if filepath.Ext(p) != ".go" {
			continue
		}
		src.put(p, fmt.Sprintf("package changed\n\nfunc UniqueName%d() {}\n", i))
		begin := time.Now()
		if err := x.Update(ctx, []string{p}); err != nil {
			return err
		}
		defs, err := x.Definition(fmt.Sprintf("UniqueName%d", i))
		if err != nil || len(defs) != 1 {
			return fmt.Errorf("a changed file was not found: %v %v", defs, err)
		}
		ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
	}
	row("change → found, p50 / p95 / worst", "%s", percentiles(ms))
	var paths []string
	for i := range min(1000, len(src.files)) {
		p := src.files[i].Path
		b, err := src.Read(p)
		if err != nil {
			return err
		}
		src.put(p, string(b)+"\n// switched\n")
		paths = append(paths, p)
	}
	begin := time.Now()
	if err := x.Update(ctx, paths); err != nil {
		return err
	}
	row(fmt.Sprintf("switch of %d files", len(paths)), "%d ms", time.Since(begin).Milliseconds())
	return nil
}

// Saves that are measured; polling finds one in seconds.
const (
	watchedSaves = 30
	polledSaves  = 3
)

// pollingSaves measures saves alone, where there are no watches.
func pollingSaves(ctx context.Context, dir string) error {
	if err := takeWatches(); err != nil {
		return err
	}
	sc, err := workspace.NewScanner(dir)
	if err != nil {
		return err
	}
	defer sc.Close()
	entries, err := sc.Scan(ctx, nil)
	if err != nil {
		return err
	}
	return saves(ctx, sc, entries, polledSaves)
}

// saves measures from the write on disk, through the watch, to the answer.
func saves(ctx context.Context, from *workspace.Scanner, entries []workspace.Entry, n int) error {
	dir, err := os.MkdirTemp("", "bench-save-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, e := range entries[:min(1000, len(entries))] {
		b, err := from.Read(e.Path)
		if err != nil {
			return err
		}
		p := filepath.Join(dir, filepath.FromSlash(e.Path))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			return err
		}
	}
	sc, err := workspace.NewScanner(dir)
	if err != nil {
		return err
	}
	defer sc.Close()
	cache, err := os.MkdirTemp("", "bench-save-index-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	x, err := rag.Open(cache, plain{sc}, rag.Options{NoHistory: true})
	if err != nil {
		return err
	}
	defer x.Close()
	if err := x.Refresh(ctx); err != nil {
		return err
	}
	w, err := sc.Watch(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	var ms []float64
	for i := range n {
		name := fmt.Sprintf("SavedName%d", i)
		begin := time.Now()
		if err := os.WriteFile(filepath.Join(dir, "saved.go"), []byte("package saved\n\nfunc "+name+"() {}\n"), 0o644); err != nil {
			return err
		}
		for found := false; !found; {
			select {
			case b := <-w.Changes():
				if err := x.Update(ctx, b.Paths); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
			defs, err := x.Definition(name)
			if err != nil {
				return err
			}
			found = len(defs) == 1
		}
		ms = append(ms, float64(time.Since(begin).Microseconds())/1000)
	}
	if note := w.Note(); note != "" {
		row("save on disk → found without watches, p50 / p95 / worst", "%s (%s)", percentiles(ms), strings.ReplaceAll(note, dir, "the folder"))
		return nil
	}
	row("save on disk → found, p50 / p95 / worst", "%s", percentiles(ms))
	before := cpuTime()
	time.Sleep(2 * time.Second) // the measurement itself: what doing nothing costs
	row("processor time of 2 idle seconds", "%.1f ms", float64((cpuTime()-before).Microseconds())/1000)
	return nil
}

type plain struct{ *workspace.Scanner }

func (p plain) Files(ctx context.Context, paths []string) ([]rag.File, error) {
	es, err := p.Scan(ctx, paths)
	out := make([]rag.File, len(es))
	for i, e := range es {
		out[i] = rag.File(e)
	}
	return out, err
}

// defaults indexes the same files the way the library's introduction does.
func defaults(entries []workspace.Entry, sc *workspace.Scanner, mb float64, ours time.Duration) error {
	dir, err := os.MkdirTemp("", "bench-default-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	idx, err := bleve.New(filepath.Join(dir, "index"), bleve.NewIndexMapping())
	if err != nil {
		return err
	}
	begin := time.Now()
	batch := idx.NewBatch()
	for _, e := range entries {
		b, err := sc.Read(e.Path)
		if err != nil {
			return err
		}
		if err := batch.Index(e.Path, map[string]string{"path": e.Path, "text": string(b)}); err != nil {
			return err
		}
		if batch.Size() >= 200 {
			if err := idx.Batch(batch); err != nil {
				return err
			}
			batch.Reset()
		}
	}
	if err := idx.Batch(batch); err != nil {
		return err
	}
	took := time.Since(begin)
	row("the library's defaults: indexing", "%.1f MB/s (%.2f s): ours is %.1f times as fast", mb/took.Seconds(), took.Seconds(), took.Seconds()/ours.Seconds())
	if err := idx.Close(); err != nil {
		return err
	}
	row("the library's defaults: index size", "%.0f %% of the source", 100*float64(folderSize(dir))/(mb*(1<<20)))
	return nil
}

func percentiles(ms []float64) string {
	slices.Sort(ms)
	at := func(q float64) float64 { return ms[min(len(ms)-1, int(q*float64(len(ms))))] }
	return fmt.Sprintf("%.1f / %.1f / %.1f ms", at(.5), at(.95), at(1))
}

func folderSize(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if fi, err := d.Info(); err == nil {
				n += fi.Size()
			}
		}
		return nil
	})
	return n
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident reads a line of the process's status, in MB; 0 where there is none.
func resident(key string) float64 {
	b, _ := os.ReadFile("/proc/self/status")
	for ln := range strings.Lines(string(b)) {
		var kb float64
		if strings.HasPrefix(ln, key+":") {
			fmt.Sscan(strings.TrimPrefix(ln, key+":"), &kb)
			return kb / 1024
		}
	}
	return 0
}
