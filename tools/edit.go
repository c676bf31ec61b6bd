package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed edit.md
var editWords string

// Limits of one edit call.
const (
	editsMax    = 100
	editFileMax = 16 << 20 // bytes of a file that can be edited
)

type editIn struct {
	Path  string     `json:"path" jsonschema:"file to change, relative to the workspace"`
	Edits []editPair `json:"edits,omitempty" jsonschema:"replacements, applied in order, all or none"`
	Diff  string     `json:"diff,omitempty" jsonschema:"instead of edits: a unified diff of this one file"`
}

type editPair struct {
	OldText string `json:"oldText" jsonschema:"text that stands in the file now, with enough lines around it to be the only such place"`
	NewText string `json:"newText" jsonschema:"what to put there"`
	All     bool   `json:"all,omitempty" jsonschema:"replace every place where oldText stands"`
}

// Edit changes places in a file: old text to new, or by a unified diff.
func Edit() Tool {
	return Typed(Spec{
		Name: "edit", Description: editWords, Category: CategoryWrite, OutputMax: 8 << 10,
	}, func(in editIn) string { return in.Path }, runEdit)
}

func runEdit(ctx context.Context, env Env, in editIn) Result {
	if err := in.check(); err != nil {
		return Fail("edit: "+err.Error(), "bad arguments")
	}
	f, err := env.Files.Read(ctx, in.Path)
	var refused *PathError
	if errors.As(err, &refused) && refused.Reason == reasonNotFound && in.creates() {
		return createByEdit(ctx, env, in)
	}
	if err != nil {
		return failErr("edit", err)
	}
	if len(f.Data) > editFileMax {
		return Fail(fmt.Sprintf("edit: %s has %d bytes, the limit is %d; use bash", in.Path, len(f.Data), editFileMax), "too large")
	}
	if isBinary(f.Data) {
		return Fail("edit: "+in.Path+" is a binary file; it can't be edited as text", "binary file")
	}
	raw, form := decodeText(f.Data)
	out, notes, err := in.apply(raw)
	if err == nil && out == raw {
		err = errors.New("the edit changes nothing: old and new text are the same")
	}
	if err != nil {
		return Fail("edit: "+in.Path+": "+err.Error()+changedSince(env, f)+"\nNothing was changed.", "no match")
	}
	data, err := form.encode(out)
	if err != nil {
		return Fail("edit: "+in.Path+": "+err.Error(), "encoding")
	}
	change := Change{Path: in.Path, CallID: env.CallID, Base: f.Data, New: data}
	if p, _ := parsePatch(in.Diff); in.Diff != "" && p.remove {
		if out != "" {
			return Fail("edit: "+in.Path+": the diff deletes the file but leaves lines in it; nothing was changed", "no match")
		}
		change.New = nil
	}
	return applyChange(ctx, env, "edit", change, notes)
}

func (in editIn) check() error {
	switch {
	case in.Path == "":
		return errors.New("path is empty")
	case in.Diff == "" && len(in.Edits) == 0:
		return errors.New("give edits (a list of {oldText, newText}) or diff")
	case in.Diff != "" && len(in.Edits) > 0:
		return errors.New("give edits or diff, not both")
	case len(in.Edits) > editsMax:
		return fmt.Errorf("%d edits in one call, the limit is %d", len(in.Edits), editsMax)
	}
	return nil
}

// creates says whether the call makes a new file.
func (in editIn) creates() bool {
	if in.Diff != "" {
		p, err := parsePatch(in.Diff)
		return err == nil && len(p.hunks) == 1 && len(p.hunks[0].old) == 0
	}
	return len(in.Edits) == 1 && in.Edits[0].OldText == ""
}

func createByEdit(ctx context.Context, env Env, in editIn) Result {
	out, notes, err := in.apply("")
	if err != nil {
		return Fail("edit: "+in.Path+": "+err.Error(), "no match")
	}
	return applyChange(ctx, env, "edit", Change{Path: in.Path, CallID: env.CallID, New: []byte(out)}, notes)
}

// apply gives the text after all edits, or an error and no text at all.
func (in editIn) apply(raw string) (string, []string, error) {
	if in.Diff != "" {
		p, err := parsePatch(in.Diff)
		if err != nil {
			return "", nil, err
		}
		if err := p.names(in.Path); err != nil {
			return "", nil, err
		}
		u := toUnix(raw)
		places, notes, err := p.apply(u.text)
		if err != nil {
			return "", nil, err
		}
		for i := len(places) - 1; i >= 0; i-- {
			raw = u.splice(raw, places[i].start, places[i].end, places[i].with)
		}
		return raw, notes, nil
	}
	var notes []string
	for i, e := range in.Edits {
		next, how, err := e.apply(raw)
		if err != nil {
			if len(in.Edits) > 1 {
				err = fmt.Errorf("edits[%d]: %w", i, err)
			}
			return "", nil, err
		}
		if how != "" {
			notes = append(notes, fmt.Sprintf("edits[%d]: %s", i, how))
		}
		raw = next
	}
	return raw, notes, nil
}

// apply does one replacement on a text with its own line endings.
func (e editPair) apply(raw string) (out, how string, err error) {
	u := toUnix(raw)
	old := strings.ReplaceAll(e.OldText, "\r\n", "\n")
	with := strings.ReplaceAll(e.NewText, "\r\n", "\n")
	switch {
	case old == with:
		return "", "", errors.New("oldText and newText are the same")
	case old == "" && raw != "":
		return "", "", errors.New("oldText is empty, but the file isn't; name the place by text that stands there (or use write for the whole file)")
	case old == "":
		return with, "", nil
	}
	places, how := match(u.text, old, with)
	switch {
	case len(places) == 0:
		return "", "", errors.New("oldText is not in the file." + describeNear(u.text, old) + readNumbersHint(old))
	case len(places) > 1 && !e.All:
		return "", "", fmt.Errorf("oldText stands at %d places; give more lines around the one that is meant, or all: true:%s",
			len(places), describePlaces(u.text, places))
	}
	if how != "" {
		p := places[0]
		how = fmt.Sprintf("matched at line %d, %s", lineOf(u.text, p.start), how)
	}
	places = apart(places)
	for i := len(places) - 1; i >= 0; i-- {
		raw = u.splice(raw, places[i].start, places[i].end, places[i].with)
	}
	return raw, how, nil
}

// apart leaves out places that overlap the one before.
func apart(places []matched) []matched {
	kept := places[:1]
	for _, p := range places[1:] {
		if p.start >= kept[len(kept)-1].end {
			kept = append(kept, p)
		}
	}
	return kept
}

// readNumbersHint recognises text copied out of read's answer.
func readNumbersHint(old string) string {
	for _, l := range strings.Split(strings.TrimSuffix(old, "\n"), "\n") {
		number, _, ok := strings.Cut(strings.TrimLeft(l, " "), "\t")
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
			return ""
		}
	}
	return "\noldText begins with line numbers: they are read's, not the file's; leave them out."
}

// changedSince tells the model when it was working from an older text.
func changedSince(env Env, f File) string {
	before, ok := env.Seen.Last(env.key(f.Path))
	if !ok || string(before) == string(f.Data) {
		return ""
	}
	return "\nThe file changed since you read it (" + whatChanged(before, f.Data) + "); read it again."
}

// whatChanged names the lines that differ, for people and models.
func whatChanged(before, after []byte) string {
	a, b := splitLines(string(before)).lines, splitLines(string(after)).lines
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	first, last := head+1, len(b)-tail
	switch {
	case last < first:
		return fmt.Sprintf("%s gone at line %d", count(len(a)-tail-head, "line"), first)
	case first == last:
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d-%d", first, last)
}

// applyChange hands a change over and says what became of it.
func applyChange(ctx context.Context, env Env, tool string, c Change, notes []string) Result {
	if err := ctx.Err(); err != nil {
		return cancelled()
	}
	applied, err := env.Files.Change(ctx, c)
	if err != nil {
		return failErr(tool, err)
	}
	if !applied.Rebased && c.New != nil {
		env.Seen.Saw(env.key(c.Path), c.New)
	}
	verb := "changed"
	switch {
	case c.New == nil:
		verb = "deleted"
	case c.Base == nil:
		verb = "created"
	}
	text := fmt.Sprintf("%s %s: +%d -%d lines", verb, c.Path, applied.Added, applied.Removed)
	if !applied.Written {
		text = fmt.Sprintf("proposed: %s: +%d -%d lines; it is written when the person accepts it, and you see it as if it were", c.Path, applied.Added, applied.Removed)
	}
	for _, n := range append(notes, applied.Note) {
		if n != "" {
			text += "\n" + n
		}
	}
	return Result{Status: StatusOK, Text: text, Detail: Detail{
		Summary: fmt.Sprintf("+%d −%d", applied.Added, applied.Removed), Paths: []string{c.Path},
		EditID: applied.EditID, HunkIDs: applied.HunkIDs, Added: applied.Added, Removed: applied.Removed,
	}}
}
