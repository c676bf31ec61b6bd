package tools

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mountGuards makes guarded paths read-only, and secret files impossible to open,
// for this process and what it starts. It needs mounts of its own. What is gone
// meanwhile needs no guard. The commands, which Landlock confines, can't mount or
// unmount anything themselves.
func mountGuards(readOnly, secret []string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts can't be made private: %w", err)
	}
	for _, p := range readOnly {
		if err := mountOver(p, "", unix.MOUNT_ATTR_RDONLY); err != nil {
			return err
		}
	}
	for _, p := range secret {
		// A device where devices don't count can't be opened by anybody.
		if err := mountOver(p, os.DevNull, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	return nil
}

// mountOver mounts another file, or the path itself, over a path with further
// restrictions. No link is followed, not in the middle either.
func mountOver(p, from string, attributes uint64) error {
	at, err := unix.Openat2(unix.AT_FDCWD, p, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil // gone, or a link: those are compared
	}
	if err != nil {
		return fmt.Errorf("%s can't be guarded: %w", p, err)
	}
	defer unix.Close(at)
	source := at
	if from != "" {
		if source, err = unix.Open(from, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return fmt.Errorf("%s can't be guarded: %w", p, err)
		}
		defer unix.Close(source)
	}
	tree, err := unix.OpenTree(source, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return fmt.Errorf("%s can't be guarded: %w", p, err)
	}
	defer unix.Close(tree)
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return fmt.Errorf("%s can't be made read-only: %w", p, err)
	}
	if err := unix.MoveMount(tree, "", at, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("%s can't be guarded: %w", p, err)
	}
	return nil
}
