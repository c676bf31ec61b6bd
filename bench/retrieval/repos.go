package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// haveRepos gives a folder with the repositories: the one that was named, or clones
// made in the user's cache. What is missing and cannot be cloned is told, with what to do.
func haveRepos(ctx context.Context, named string, repos []string) (string, error) {
	if named != "" {
		for _, r := range repos {
			if _, ok := findRepo(named, r); !ok {
				return "", fmt.Errorf("no git repository of %s below %s (looked for owner+name/repo, owner/name, name, bare or not)", r, named)
			}
		}
		return named, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "agent-lsp-bench", "repos")
	for _, r := range repos {
		if _, ok := findRepo(root, r); ok {
			continue
		}
		dir := filepath.Join(root, strings.ReplaceAll(r, "/", "+"))
		if err := os.MkdirAll(root, 0o755); err != nil {
			return "", err
		}
		fmt.Fprintf(os.Stderr, "cloning %s into %s\n", r, dir)
		if _, err := git(ctx, root, "clone", "--bare", "--quiet", "https://github.com/"+r, dir); err != nil {
			_ = os.RemoveAll(dir)
			return "", fmt.Errorf("the repositories are needed, and there is neither a folder of them (set RETRIEVAL_REPOS) nor a network to clone from: %w", err)
		}
	}
	return root, nil
}
