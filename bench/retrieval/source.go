package main

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rag"
)

// source lets rag see a folder through the workspace's scanner.
type source struct{ *workspace.Scanner }

func (s source) Files(ctx context.Context, paths []string) ([]rag.File, error) {
	es, err := s.Scan(ctx, paths)
	out := make([]rag.File, len(es))
	for i, e := range es {
		out[i] = rag.File(e)
	}
	return out, err
}
