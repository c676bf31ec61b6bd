package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tree is a work tree that moves from commit to commit. It has no branches and no
// log of its own, so that its history is what lies before the checked-out commit.
type tree struct{ dir string }

func git(ctx context.Context, dir string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
	c.Env = append(os.Environ(), "GIT_LFS_SKIP_SMUDGE=1", "GIT_TERMINAL_PROMPT=0")
	out, err := c.Output()
	if err != nil {
		msg := ""
		if e, ok := err.(*exec.ExitError); ok {
			msg = ": " + strings.TrimSpace(string(e.Stderr))
		}
		return "", fmt.Errorf("git %s: %w%s", strings.Join(args, " "), err, msg)
	}
	return string(out), nil
}

// newTree borrows the objects of the repository at gitDir.
func newTree(ctx context.Context, gitDir, dir string) (*tree, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		if _, err := git(ctx, dir, "init", "-q"); err != nil {
			return nil, err
		}
		for _, kv := range [][2]string{{"core.logAllRefUpdates", "false"}, {"gc.auto", "0"}, {"advice.detachedHead", "false"}, {"core.autocrlf", "false"}} {
			if _, err := git(ctx, dir, "config", kv[0], kv[1]); err != nil {
				return nil, err
			}
		}
	}
	objects, err := filepath.Abs(filepath.Join(gitDir, "objects"))
	if err != nil {
		return nil, err
	}
	alt := filepath.Join(dir, ".git", "objects", "info", "alternates")
	if err := os.WriteFile(alt, []byte(objects+"\n"), 0o644); err != nil {
		return nil, err
	}
	return &tree{dir}, nil
}

func (t *tree) move(ctx context.Context, commit string) error {
	_, err := git(ctx, t.dir, "checkout", "-q", "-f", "--detach", commit)
	return err
}

// findRepo gives the git directory of owner/name below a folder of repositories,
// which may be bare ones or clones: owner+name/repo, owner/name, owner+name, name.
func findRepo(root, repo string) (string, bool) {
	plus := strings.ReplaceAll(repo, "/", "+")
	_, name, _ := strings.Cut(repo, "/")
	for _, p := range []string{plus + "/repo", plus, repo, name, name + ".git", plus + ".git"} {
		for _, d := range []string{filepath.Join(root, p), filepath.Join(root, p, ".git")} {
			if _, err := os.Stat(filepath.Join(d, "objects")); err == nil {
				if _, err := os.Stat(filepath.Join(d, "HEAD")); err == nil {
					return d, true
				}
			}
		}
	}
	return "", false
}
