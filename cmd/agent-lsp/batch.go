package main

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rag"
)

// batch answers queries line by line, each for a folder of its own; what
// changed in the folder since its last line is indexed first.
func batch(ctx context.Context, s streams) error {
	return rag.Batch(ctx, s.in, s.out, func(dir string) (*rag.Index, func(), error) {
		space, err := workspace.Open([]string{dir})
		if err != nil {
			return nil, nil, err
		}
		root := space.Roots()[0]
		src, err := newSource(root, space)
		if err != nil {
			space.Close()
			return nil, nil, err
		}
		index, err := rag.Open(placesOf(root).index, src, rag.Options{})
		if err != nil {
			space.Close()
			return nil, nil, err
		}
		return index, func() {
			index.Close()
			src.scan.Close()
			space.Close()
		}, nil
	})
}
