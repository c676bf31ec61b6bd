package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Limits of what is taken from one repository.
const (
	commitsMax   = 1500
	fileBytesMax = 400 << 10
	hunkLinesMax = 60 // of the old or the new side: a longer one is no edit but a rewrite
	hunksAFile   = 2
	contextMin   = 2
	contextMax   = 12
)

// hunk is one change of one commit.
type hunk struct {
	repo, path     string
	before         []string // lines of the file before the commit; the last is "" after a final newline
	from, to       int      // lines that the hunk replaces
	lines          []string // by these
	context        int      // lines of context that make its place the only one
	earlier, later []string // other revisions of the file, nearest first
}

func (h hunk) head() int { return max(0, h.from-h.context) }
func (h hunk) tail() int {
	end := len(h.before)
	if h.before[end-1] == "" {
		end-- // what comes after the final newline is no line
	}
	return max(h.to, min(end, h.to+h.context))
}

// old and with are the call that a model would make.
func (h hunk) old() string { return strings.Join(h.before[h.head():h.tail()], "\n") }

func (h hunk) with() string {
	return strings.Join(slices.Concat(h.before[h.head():h.from], h.lines, h.before[h.to:h.tail()]), "\n")
}

// after is the file before the commit with this hunk alone.
func (h hunk) after() string {
	return strings.Join(slices.Concat(h.before[:h.from], h.lines, h.before[h.to:]), "\n")
}

type revision struct{ before, after string } // blobs

// load takes hunks of the newest commits, at most n, in their order.
func load(ctx context.Context, dir string, n int) ([]hunk, error) {
	raw, err := git(ctx, dir, nil, "log", "--no-merges", "--no-renames", "--raw", "--no-abbrev", "--format=", "--diff-filter=M", "-n", strconv.Itoa(commitsMax))
	if err != nil {
		return nil, err
	}
	history := map[string][]revision{} // newest first
	var order []string
	for line := range strings.SplitSeq(string(raw), "\n") {
		meta, path, ok := strings.Cut(line, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 5 || f[0] != ":100644" && f[0] != ":100755" {
			continue
		}
		history[path] = append(history[path], revision{f[2], f[3]})
		order = append(order, path)
	}
	seen := map[string]int{}
	var picked []pick
	for _, path := range order { // one commit of a file after the other, newest first
		i := seen[path]
		seen[path]++
		if i%3 == 1 || len(history[path]) == 1 { // one of three, so that there is history on both sides
			picked = append(picked, pick{path, i})
		}
	}
	if len(picked) > 4*n {
		picked = picked[:4*n]
	}
	blobs, err := readBlobs(ctx, dir, picked, history)
	if err != nil {
		return nil, err
	}
	var hunks []hunk
	for _, p := range picked {
		hunks = append(hunks, p.hunks(repoName(dir), history[p.path], blobs)...)
		if len(hunks) >= n {
			return hunks[:n], nil
		}
	}
	return hunks, nil
}

func repoName(dir string) string {
	for _, no := range []string{".git", "repo"} {
		dir = strings.TrimSuffix(dir, string(filepath.Separator)+no)
	}
	return filepath.Base(dir)
}

type pick struct {
	path string
	i    int
}

// near are the revisions beside a commit, at growing distance.
func (p pick) near(revs []revision) (earlier, later []string) {
	for _, d := range []int{1, 3, 8} {
		if p.i+d < len(revs) {
			earlier = append(earlier, revs[p.i+d].before)
		}
		if p.i-d >= 0 {
			later = append(later, revs[p.i-d].after)
		}
	}
	return earlier, later
}

func (p pick) hunks(repo string, revs []revision, blobs map[string]string) (out []hunk) {
	before, ok1 := blobs[revs[p.i].before]
	after, ok2 := blobs[revs[p.i].after]
	if !ok1 || !ok2 {
		return nil
	}
	h := hunk{repo: repo, path: p.path, before: strings.Split(before, "\n")}
	earlier, later := p.near(revs)
	for _, e := range earlier {
		if s, ok := blobs[e]; ok && s != before {
			h.earlier = append(h.earlier, s)
		}
	}
	for _, l := range later {
		if s, ok := blobs[l]; ok && s != after && s != before {
			h.later = append(h.later, s)
		}
	}
	for _, e := range text.Diff(before, after) {
		x := h
		x.from = strings.Count(before[:e.Start], "\n")
		old := before[e.Start:e.End]
		if e.Start > 0 && before[e.Start-1] != '\n' || old != "" && !strings.HasSuffix(old, "\n") || e.New != "" && !strings.HasSuffix(e.New, "\n") {
			continue // at the end of a file without a final newline
		}
		x.to = x.from + strings.Count(old, "\n")
		if e.New != "" {
			x.lines = strings.Split(strings.TrimSuffix(e.New, "\n"), "\n")
		}
		if x.to-x.from > hunkLinesMax || len(x.lines) > hunkLinesMax || !x.unique(before) {
			continue
		}
		if out = append(out, x); len(out) == hunksAFile {
			break
		}
	}
	return out
}

// unique gives the hunk as much context as makes its old text the only one.
func (h *hunk) unique(before string) bool {
	for h.context = contextMin; h.context <= contextMax; h.context++ {
		old := h.old()
		if i := strings.Index(before, old); i >= 0 && strings.TrimSpace(old) != "" && strings.LastIndex(before, old) == i && h.with() != "" {
			return true
		}
	}
	return false
}

// readBlobs reads what the picked commits need; binary and large files, and
// those that a partial clone lacks, are left out.
func readBlobs(ctx context.Context, dir string, picked []pick, history map[string][]revision) (map[string]string, error) {
	var want bytes.Buffer
	asked := map[string]bool{}
	ask := func(ids ...string) {
		for _, id := range ids {
			if !asked[id] {
				asked[id] = true
				want.WriteString(id + "\n")
			}
		}
	}
	for _, p := range picked {
		revs := history[p.path]
		ask(revs[p.i].before, revs[p.i].after)
		earlier, later := p.near(revs)
		ask(earlier...)
		ask(later...)
	}
	out, err := git(ctx, dir, &want, "cat-file", "--batch")
	if err != nil {
		return nil, err
	}
	blobs := map[string]string{}
	r := bufio.NewReader(bytes.NewReader(out))
	for {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return blobs, nil
		}
		if err != nil {
			return nil, err
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			continue // missing
		}
		size, err := strconv.Atoi(f[2])
		if err != nil {
			return nil, fmt.Errorf("git cat-file says %q", line)
		}
		body := make([]byte, size+1)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, err
		}
		body = body[:size]
		if f[1] == "blob" && size <= fileBytesMax && utf8.Valid(body) && !bytes.ContainsAny(body, "\x00\r") {
			blobs[f[0]] = string(body)
		}
	}
}

func git(ctx context.Context, dir string, in io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--git-dir", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.Stdin = in
	var words bytes.Buffer
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil && len(out) == 0 {
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(words.String()))
	}
	return out, nil
}
