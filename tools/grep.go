package tools

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/iter"
)

//go:embed grep.md
var grepWords string

// Limits of one grep.
const (
	grepDefault    = 100
	grepMax        = 1000
	grepContextMax = 20
	grepLineMax    = 400     // bytes of a line that are shown
	grepFileMax    = 8 << 20 // larger files are skipped, and counted
	grepBatch      = 256     // files searched between two looks at the limit
	grepPatternMax = 4096
	grepStepsMax   = 2000    // steps of the compiled pattern; time is steps times text
	grepWholeSteps = 200     // above it a whole text isn't tried at once: that can't be interrupted
	grepScanMax    = 1 << 20 // bytes of one line that are searched
	grepTimeout    = 30 * time.Second
)

type grepIn struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression (RE2 syntax), matched line by line"`
	Path       string `json:"path,omitempty" jsonschema:"file or folder to search; the workspace when left out"`
	Glob       string `json:"glob,omitempty" jsonschema:"only files that fit, such as *.go or src/**/*.ts"`
	IgnoreCase bool   `json:"ignoreCase,omitempty"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show before and after each match"`
	Limit      int    `json:"limit,omitempty" jsonschema:"most matches, 100 when left out"`
}

// Grep searches lines by a regular expression, unsaved buffers and pending
// edits included.
func Grep() Tool {
	return Typed(Spec{
		Name: "grep", Description: grepWords, Category: CategoryRead, ReadOnly: true, Timeout: grepTimeout, OutputMax: 64 << 10,
	}, func(in grepIn) string {
		title := `"` + in.Pattern + `"`
		if in.Path != "" {
			title += " in " + in.Path
		}
		if in.Glob != "" {
			title += " " + in.Glob
		}
		return title
	}, runGrep)
}

func runGrep(ctx context.Context, env Env, in grepIn) Result {
	s, err := newGrep(in)
	if err != nil {
		return Fail("grep: "+err.Error(), "bad arguments")
	}
	files, cut, err := grepFiles(ctx, env, in)
	if err != nil {
		return failErr("grep", err)
	}
	hits := make([]fileHits, 0, grepBatch)
	total, skipped := 0, 0
	done := 0
	for ; done < len(files) && total <= s.limit; done += grepBatch {
		batch := files[done:min(len(files), done+grepBatch)]
		got := iter.Mapper[string, fileHits]{MaxGoroutines: runtime.GOMAXPROCS(0)}.Map(batch, func(p *string) fileHits {
			return s.file(ctx, env.Files, *p)
		})
		if ctx.Err() != nil {
			return cancelled()
		}
		for _, h := range got {
			if h.skipped {
				skipped++
			}
			if len(h.lines) > 0 {
				hits = append(hits, h)
				total += len(h.lines)
			}
		}
	}
	return s.result(in, hits, len(files), skipped, cut)
}

type grepper struct {
	re      *regexp.Regexp // one line
	whole   *regexp.Regexp // matches a whole text if re matches a line of it; nil where that can't be said
	literal literal        // every match holds it
	limit   int
	context int
}

func newGrep(in grepIn) (*grepper, error) {
	switch {
	case in.Pattern == "":
		return nil, errors.New("pattern is empty")
	case len(in.Pattern) > grepPatternMax:
		return nil, fmt.Errorf("the pattern is %d bytes long, the limit is %d", len(in.Pattern), grepPatternMax)
	case in.Limit < 0 || in.Context < 0:
		return nil, errors.New("limit and context must not be negative")
	}
	flags := ""
	if in.IgnoreCase {
		flags = "(?i)"
	}
	re, err := regexp.Compile(flags + in.Pattern)
	if err != nil {
		return nil, fmt.Errorf("%s; escape characters that are meant literally with a backslash", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	steps := patternSteps(flags + in.Pattern)
	if steps > grepStepsMax {
		return nil, fmt.Errorf("the pattern is too complex (%d steps, the limit is %d); use smaller repetitions", steps, grepStepsMax)
	}
	s := &grepper{re: re, limit: min(cmp.Or(in.Limit, grepDefault), grepMax), context: min(in.Context, grepContextMax)}
	s.literal = requiredLiteral(flags + in.Pattern)
	// \A and \z mean something else in a whole text; there each line is tried.
	if !strings.Contains(in.Pattern, `\A`) && !strings.Contains(in.Pattern, `\z`) && steps <= grepWholeSteps {
		s.whole = regexp.MustCompile("(?m)" + flags + in.Pattern)
	}
	return s, nil
}

// grepFiles gives the paths to search, in order.
func grepFiles(ctx context.Context, env Env, in grepIn) (files []string, cut bool, err error) {
	dir := cmp.Or(in.Path, ".")
	info, err := env.Files.Stat(ctx, dir)
	if err != nil {
		return nil, false, err
	}
	if !info.Dir {
		return []string{dir}, false, nil
	}
	match := func(string) bool { return true }
	if in.Glob != "" {
		glob, err := CompileGlob(in.Glob)
		if err != nil {
			return nil, false, err
		}
		match = func(p string) bool { return glob.Match(below(dir, p)) || glob.Match(p) }
	}
	seen := 0
	err = env.Files.Walk(ctx, dir, func(i Info) bool {
		seen++
		if match(i.Path) {
			files = append(files, i.Path)
		}
		cut = seen >= walkMax
		return !cut && (seen%ctxEvery != 0 || ctx.Err() == nil)
	})
	return files, cut, cmp.Or(err, ctx.Err())
}

// fileHits are the matching lines of one file, 0-based.
type fileHits struct {
	path    string
	text    []byte
	starts  []int // of every line, made only where something matches
	lines   []int
	notes   []string
	skipped bool
}

func (s *grepper) file(ctx context.Context, files Files, path string) fileHits {
	h := fileHits{path: path}
	if ctx.Err() != nil {
		return h
	}
	f, err := files.Read(ctx, path)
	if err != nil || len(f.Data) > grepFileMax {
		h.skipped = true
		return h
	}
	if isBinary(f.Data) {
		return h
	}
	text, form := decodeText(f.Data)
	h.text = bytes.ReplaceAll([]byte(text), []byte("\r\n"), []byte("\n"))
	lit := s.literal.text
	probe, ok := s.literal.probe(h.text)
	if !ok {
		lit = nil
	}
	if lit != nil && !bytes.Contains(probe, lit) || lit == nil && s.whole != nil && !s.whole.Match(h.text) {
		return fileHits{path: path}
	}
	h.path = f.Path
	h.starts = lineStarts(string(h.text))
	for n := range h.starts {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return fileHits{path: path}
		}
		from, to := h.span(n)
		to = min(to, from+grepScanMax)
		if lit != nil && !bytes.Contains(probe[from:to], lit) {
			continue
		}
		if s.re.Match(h.text[from:to]) {
			h.lines = append(h.lines, n)
			if len(h.lines) > s.limit {
				break
			}
		}
	}
	h.notes = fileNotes(f, form, 0)
	return h
}

// span gives where line n begins and ends, without its newline.
func (h fileHits) span(n int) (from, to int) {
	to = len(h.text)
	if n+1 < len(h.starts) {
		to = h.starts[n+1]
	}
	if to > h.starts[n] && h.text[to-1] == '\n' {
		to--
	}
	return h.starts[n], to
}

func (h fileHits) line(n int) []byte {
	from, to := h.span(n)
	return h.text[from:to]
}

// result writes path:line:text, and path-line-text for context, as grep does.
func (s *grepper) result(in grepIn, hits []fileHits, files, skipped int, cut bool) Result {
	var b strings.Builder
	var paths []string
	total := 0
	more := cut
	for _, h := range hits {
		if total >= s.limit {
			more = true
			break
		}
		if room := s.limit - total; len(h.lines) > room {
			h.lines, more = h.lines[:room], true
		}
		total += len(h.lines)
		for _, n := range h.notes {
			fmt.Fprintf(&b, "[%s: %s]\n", h.path, n)
		}
		s.write(&b, h)
		paths = append(paths, fmt.Sprintf("%s:%d", h.path, h.lines[0]+1))
	}
	d := Detail{Summary: matchCount(total, more), Matches: total, Paths: firstPaths(paths), Truncated: more}
	switch {
	case total == 0:
		fmt.Fprintf(&b, "no match for %q in %s\n", in.Pattern, count(files, "file"))
	case more:
		fmt.Fprintf(&b, "[the first %s; narrow it by path or glob, or raise limit (at most %d)]\n", count(total, "match"), grepMax)
	}
	if skipped > 0 {
		fmt.Fprintf(&b, "[%s not searched: too large or not permitted]\n", count(skipped, "file"))
	}
	return Result{Status: StatusOK, Text: b.String(), Detail: d}
}

func (s *grepper) write(b *strings.Builder, h fileHits) {
	last := -1
	for _, n := range h.lines {
		from := max(n-s.context, last+1, 0)
		if s.context > 0 && last >= 0 && from > last+1 {
			b.WriteString("--\n")
		}
		to := min(n+s.context, len(h.starts)-1)
		for i := from; i <= to; i++ {
			mark := "-"
			if _, hit := slices.BinarySearch(h.lines, i); hit {
				mark = ":"
			} else if i > n && s.nextHit(h, n) <= i {
				break
			}
			fmt.Fprintf(b, "%s%s%d%s%s\n", h.path, mark, i+1, mark, clip(strings.ToValidUTF8(string(h.line(i)), "\ufffd"), grepLineMax))
			last = i
		}
	}
}

func (s *grepper) nextHit(h fileHits, n int) int {
	at, _ := slices.BinarySearch(h.lines, n+1)
	if at < len(h.lines) {
		return h.lines[at]
	}
	return len(h.starts)
}
