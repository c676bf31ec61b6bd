package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed scratchpad.md
var scratchpadWords string

// Limits of one look into the archive.
const (
	scratchpadDefault  = 200  // lines
	scratchpadMax      = 1000 // lines
	scratchpadBytesMax = 32 << 10
	archivePage        = 256 << 10 // bytes asked of the archive at a time
	archiveMax         = 64 << 20  // bytes of one entry that are looked through
)

// Archive is the scratchpad as the tool needs it: large results and inputs,
// each under a ref such as "ref:9f2c".
type Archive interface {
	// Get gives at most limit bytes of an entry from byte offset, and the
	// entry's whole length. An unknown ref is an error that says so.
	Get(ctx context.Context, ref string, offset, limit int) (data []byte, total int, err error)
}

type scratchpadIn struct {
	Ref    string `json:"ref" jsonschema:"the reference, such as ref:9f2c"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line, 1-based"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of lines, 200 when left out"`
	Grep   string `json:"grep,omitempty" jsonschema:"only lines that match this regular expression"`
}

// Scratchpad pages through an archived text.
func Scratchpad() Tool {
	return Typed(Spec{
		Name: "scratchpad", Description: scratchpadWords, Category: CategoryMeta, ReadOnly: true, OutputMax: 64 << 10,
	}, func(in scratchpadIn) string {
		if in.Grep != "" {
			return in.Ref + ` "` + in.Grep + `"`
		}
		return in.Ref
	}, runScratchpad)
}

func runScratchpad(ctx context.Context, env Env, in scratchpadIn) Result {
	if env.Archive == nil {
		return Fail("scratchpad: nothing is archived in this session", "nothing archived")
	}
	if in.Ref == "" || in.Offset < 0 || in.Limit < 0 {
		return Fail("scratchpad: ref must not be empty, offset and limit must not be negative", "bad arguments")
	}
	re, err := regexp.Compile(in.Grep)
	if err != nil {
		return Fail("scratchpad: grep: "+err.Error(), "bad arguments")
	}
	text, err := readArchive(ctx, env.Archive, in.Ref)
	if err != nil {
		return failErr("scratchpad", err)
	}
	lines := splitLines(toUnix(text).text).lines
	offset, limit := max(1, in.Offset), min(cmp.Or(in.Limit, scratchpadDefault), scratchpadMax)
	if offset > len(lines) && offset > 1 {
		return Fail(fmt.Sprintf("scratchpad: %s has %s, offset %d is past its end", in.Ref, count(len(lines), "line"), offset), "past the end")
	}
	var b strings.Builder
	shown, next := 0, offset
	for ; next <= len(lines) && shown < limit && b.Len() < scratchpadBytesMax; next++ {
		line := lines[next-1]
		if in.Grep != "" && !re.MatchString(line) {
			continue
		}
		fmt.Fprintf(&b, "%6d\t%s\n", next, clip(strings.ToValidUTF8(line, "\ufffd"), readLineMax))
		shown++
	}
	d := Detail{Summary: fmt.Sprintf("%s of %d", count(shown, "line"), len(lines)), Matches: shown}
	switch {
	case next <= len(lines):
		d.Truncated = true
		fmt.Fprintf(&b, "[%s has %d lines; go on with offset %d]\n", in.Ref, len(lines), next)
	case shown == 0:
		fmt.Fprintf(&b, "no line of %s matches %q (%d lines)\n", in.Ref, in.Grep, len(lines))
	}
	return Result{Status: StatusOK, Text: b.String(), Detail: d}
}

// readArchive reads a whole entry page by page.
func readArchive(ctx context.Context, a Archive, ref string) (string, error) {
	var b strings.Builder
	for b.Len() < archiveMax {
		data, total, err := a.Get(ctx, ref, b.Len(), archivePage)
		if err != nil {
			return "", err
		}
		b.Write(data)
		if len(data) == 0 || b.Len() >= total {
			break
		}
	}
	return b.String(), nil
}
