package main

import (
	"bufio"
	"bytes"
	"context"
	"regexp"
	"strings"

	"github.com/agent-lsp/agent-lsp/rag"
)

// lookups answers by scanning what the index knows of; it stands in until the
// index answers itself.
type lookups struct {
	*rag.Index
	src *source
}

func (l lookups) scan(ctx context.Context, re *regexp.Regexp, limit int) ([]rag.Location, error) {
	files, err := l.src.Files(ctx, nil)
	if err != nil {
		return nil, err
	}
	var out []rag.Location
	for _, f := range files {
		data, err := l.src.Read(f.Path)
		if err != nil {
			continue
		}
		sc := bufio.NewScanner(bytes.NewReader(data))
		sc.Buffer(nil, 1<<20)
		for n := 1; sc.Scan(); n++ {
			for _, at := range re.FindAllStringIndex(sc.Text(), -1) {
				out = append(out, rag.Location{Path: f.Path, Line: n, Col: at[0] + 1, Text: strings.TrimSpace(sc.Text())})
				if len(out) >= limit {
					return out, nil
				}
			}
		}
	}
	return out, nil
}

func (l lookups) References(ctx context.Context, name string, limit int) ([]rag.Location, error) {
	return l.scan(ctx, regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`), limit)
}

func (l lookups) Symbols(ctx context.Context, query string, limit int) ([]rag.Symbol, error) {
	list, err := l.scan(ctx, regexp.MustCompile(`^\s*(func|type|class|def|fn)\b.*`+regexp.QuoteMeta(query)), limit)
	var out []rag.Symbol
	for _, x := range list {
		out = append(out, rag.Symbol{Name: query, Path: x.Path, StartLine: x.Line, EndLine: x.Line})
	}
	return out, err
}

func (l lookups) Definition(ctx context.Context, name string) ([]rag.Symbol, error) {
	return l.Symbols(ctx, name, 20)
}
