package tools

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"strings"
)

//go:embed read.md
var readWords string

// Limits of one read.
const (
	readLines     = 2000     // lines when no limit is given
	readBytesMax  = 48 << 10 // bytes of text in one answer
	readLineMax   = 2000     // bytes of one line that are shown
	readFileMax   = 64 << 20 // bytes of a file that is opened at all
	readImageMax  = 4 << 20  // bytes of an image that is handed on
	readOutputMax = 64 << 10 // what Spec promises: more than readBytesMax and its notes
)

type readIn struct {
	Path   string `json:"path" jsonschema:"file to read, relative to the workspace"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, 1-based"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of lines, 2000 when left out"`
}

// Read shows a file with line numbers, as the person sees it: unsaved changes
// and pending edits included.
func Read() Tool {
	return Typed(Spec{
		Name: "read", Description: readWords, Category: CategoryRead, ReadOnly: true, OutputMax: readOutputMax,
	}, func(in readIn) string {
		switch {
		case in.Offset > 0 && in.Limit > 0:
			return fmt.Sprintf("%s:%d-%d", in.Path, in.Offset, in.Offset+in.Limit-1)
		case in.Offset > 0:
			return fmt.Sprintf("%s:%d-", in.Path, in.Offset)
		}
		return in.Path
	}, runRead)
}

func runRead(ctx context.Context, env Env, in readIn) Result {
	if in.Path == "" || in.Offset < 0 || in.Limit < 0 {
		return Fail("read: path must not be empty, offset and limit must not be negative", "bad arguments")
	}
	if info, err := env.Files.Stat(ctx, in.Path); err == nil {
		if info.Dir {
			return Fail("read: "+in.Path+" is a folder; use ls", "a folder")
		}
		if info.Size > readFileMax {
			return Fail(fmt.Sprintf("read: %s has %s, the limit is %s; use grep, or bash with head or sed -n",
				in.Path, size(info.Size), size(readFileMax)), "too large")
		}
	}
	f, err := env.Files.Read(ctx, in.Path)
	if err != nil {
		return failErr("read", err)
	}
	if mime := http.DetectContentType(f.Data); strings.HasPrefix(mime, "image/") {
		return readImage(f, mime)
	}
	if isBinary(f.Data) {
		return Fail(fmt.Sprintf("read: %s is a binary file (%s, %s); it isn't shown as text",
			in.Path, size(int64(len(f.Data))), http.DetectContentType(f.Data)), "binary file")
	}
	env.Seen.Saw(env.key(f.Path), f.Data)
	return readText(f, in)
}

func readText(f File, in readIn) Result {
	raw, form := decodeText(f.Data)
	u := toUnix(raw)
	lines := splitLines(u.text).lines
	offset, limit := max(1, in.Offset), in.Limit
	if limit == 0 {
		limit = readLines
	}
	if offset > len(lines) && offset > 1 {
		return Fail(fmt.Sprintf("read: %s has %s, offset %d is past its end", in.Path, count(len(lines), "line"), offset), "past the end")
	}
	var b strings.Builder
	for _, n := range fileNotes(f, form, len(u.cuts)) {
		fmt.Fprintf(&b, "[%s]\n", n)
	}
	if len(lines) == 0 {
		b.WriteString("(empty file)\n")
	}
	next := offset
	for ; next <= len(lines) && next-offset < limit && b.Len() < readBytesMax; next++ {
		line := strings.ToValidUTF8(lines[next-1], "\ufffd")
		if len(line) > readLineMax {
			line = clip(line, readLineMax) + fmt.Sprintf(" [line of %d bytes]", len(lines[next-1]))
		}
		fmt.Fprintf(&b, "%6d\t%s\n", next, line)
	}
	d := Detail{Summary: count(next-offset, "line"), Paths: []string{fmt.Sprintf("%s:%d-%d", f.Path, offset, max(offset, next-1))}}
	if next <= len(lines) {
		d.Truncated = true
		d.Summary = fmt.Sprintf("lines %d-%d of %d", offset, next-1, len(lines))
		fmt.Fprintf(&b, "[lines %d-%d of %d; go on with offset %d]\n", offset, next-1, len(lines), next)
	}
	return Result{Status: StatusOK, Text: b.String(), Detail: d}
}

// fileNotes says what the model must know of a file besides its lines.
func fileNotes(f File, form form, crlf int) (notes []string) {
	if f.Unsaved {
		notes = append(notes, "the editor's unsaved buffer, not what is on disk")
	}
	if f.Pending > 0 {
		notes = append(notes, count(f.Pending, "pending hunk")+" of yours in it, not yet accepted")
	}
	if n := form.note(); n != "" {
		notes = append(notes, n)
	}
	if crlf > 0 {
		notes = append(notes, "CRLF line endings; edits keep them")
	}
	return notes
}

// readImage hands an image on as data; the text says what it is.
func readImage(f File, mime string) Result {
	what := mime + ", " + size(int64(len(f.Data)))
	if c, _, err := image.DecodeConfig(bytes.NewReader(f.Data)); err == nil {
		what += fmt.Sprintf(", %d×%d", c.Width, c.Height)
	}
	res := Result{Status: StatusOK, Text: f.Path + " is an image (" + what + ")",
		Detail: Detail{Summary: what, Paths: []string{f.Path}}}
	if len(f.Data) > readImageMax {
		res.Text += "; it is too large to be shown"
		return res
	}
	res.Media = []Media{{MIME: mime, Data: f.Data}}
	return res
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
