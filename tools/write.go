package tools

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed write.md
var writeWords string

type writeIn struct {
	Path    string `json:"path" jsonschema:"file to write, relative to the workspace; folders are made as needed"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

// Write puts a whole file. Over a file that the model has read, the change is
// computed from what it read, so that what the person did since is kept or
// reported.
func Write() Tool {
	return Typed(Spec{
		Name: "write", Description: writeWords, Category: CategoryWrite, OutputMax: 8 << 10,
	}, func(in writeIn) string { return in.Path }, runWrite)
}

func runWrite(ctx context.Context, env Env, in writeIn) Result {
	if in.Path == "" {
		return Fail("write: path is empty", "bad arguments")
	}
	if strings.HasSuffix(in.Path, "/") {
		return Fail("write: "+in.Path+" names a folder; name the file", "bad arguments")
	}
	f, err := env.Files.Read(ctx, in.Path)
	var refused *PathError
	if errors.As(err, &refused) && refused.Reason == reasonNotFound {
		return applyChange(ctx, env, "write", Change{Path: in.Path, CallID: env.CallID, New: []byte(in.Content)}, nil)
	}
	if err != nil {
		return failErr("write", err)
	}
	base := f.Data
	var notes []string
	if before, ok := env.Seen.Last(env.key(f.Path)); ok {
		base = before
	} else if env.Seen != nil && len(f.Data) > 0 {
		notes = append(notes, fmt.Sprintf("you had not read it; its old content is replaced: %s", count(len(splitLines(string(f.Data)).lines), "line")))
	}
	data, err := inFormOf(base, in.Content)
	if err != nil {
		return Fail("write: "+in.Path+": "+err.Error(), "encoding")
	}
	if bytes.Equal(data, f.Data) {
		return Result{Status: StatusOK, Text: in.Path + " holds this already; nothing was changed",
			Detail: Detail{Summary: "unchanged", Paths: []string{in.Path}}}
	}
	return applyChange(ctx, env, "write", Change{Path: in.Path, CallID: env.CallID, Base: nonNil(base), New: data}, notes)
}

// inFormOf writes new content in the encoding and line endings of the old one.
func inFormOf(old []byte, content string) ([]byte, error) {
	if isBinary(old) {
		return []byte(content), nil
	}
	raw, form := decodeText(old)
	if !strings.Contains(content, "\r\n") && eol(raw, 0, len(raw)) == "\r\n" {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	}
	return form.encode(strings.TrimPrefix(content, "\ufeff"))
}

// nonNil keeps an empty file apart from none at all.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
