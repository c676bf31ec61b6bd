package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// What each version of Landlock can do, from the kernel's documentation.
const (
	landlockRead  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	landlockWrite = ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeChar | ll.AccessFSMakeDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeBlock | ll.AccessFSMakeSym |
		ll.AccessFSRefer | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	landlockFile = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev

	landlockABIRefer, landlockABITruncate, landlockABINet, landlockABIIoctl, landlockABIScope = 2, 3, 4, 5, 6
)

// hiddenEntriesMax bounds the folder entries that are allowed one by one round
// the hidden ones.
const hiddenEntriesMax = 4096

// confine restricts the calling thread and what it starts: writing in some
// folders only, no reading of hidden ones, no network, no signals to others.
func confine(req execRequest) (bool, string) {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil || abi < 1 {
		return false, "not sandboxed: this kernel has no Landlock; the command could write anywhere" + networkNote(req, false)
	}
	handled := uint64(landlockRead | landlockWrite)
	for version, right := range map[int]uint64{landlockABIRefer: ll.AccessFSRefer, landlockABITruncate: ll.AccessFSTruncate, landlockABIIoctl: ll.AccessFSIoctlDev} {
		if abi < version {
			handled &^= right
		}
	}
	attr := ll.RulesetAttr{HandledAccessFS: handled}
	denyTCP := !req.Network && !req.Isolated && abi >= landlockABINet
	if denyTCP {
		attr.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= landlockABIScope {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	fd, err := ll.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return false, "not sandboxed: " + err.Error()
	}
	defer unix.Close(fd)
	for _, p := range readable(req.Hidden) {
		allow(fd, p, handled&landlockRead)
	}
	for _, p := range req.Writable {
		allow(fd, p, handled&(landlockRead|landlockWrite)&^ll.AccessFSMakeBlock&^ll.AccessFSMakeChar)
	}
	for _, p := range append(slices.Clone(devices), "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/shm") {
		allow(fd, p, handled&(landlockRead|landlockWrite)&^ll.AccessFSMakeBlock&^ll.AccessFSMakeChar)
	}
	dropCapabilities()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return false, "not sandboxed: " + err.Error()
	}
	if err := ll.LandlockRestrictSelf(fd, 0); err != nil {
		return false, "not sandboxed: " + err.Error()
	}
	return true, "sandboxed: writes only in the workspace and temporary folders" + networkNote(req, denyTCP)
}

func networkNote(req execRequest, denyTCP bool) string {
	switch {
	case req.Network:
		return ", network permitted"
	case req.Isolated:
		return ", no network but its own loopback"
	case denyTCP:
		return ", no TCP"
	}
	return ", network not restricted: this system can't"
}

// allow adds one path to the rules; what isn't there needs none. Only rights
// that a file can have are given to one.
func allow(ruleset int, p string, rights uint64) {
	fd, err := unix.Open(p, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= landlockFile
	}
	_ = ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
}

// readable gives paths that together are all but the hidden ones. A folder
// with something hidden below is allowed entry by entry; links are left out,
// since what they lead to is reached by its own path.
func readable(hidden []string) []string {
	var real []string
	for _, h := range hidden {
		if _, err := os.Lstat(h); err == nil {
			real = append(real, ResolveLinks(h))
		}
	}
	var out []string
	work := []string{"/"}
	for len(work) > 0 {
		dir := work[0]
		work = work[1:]
		switch {
		case slices.Contains(real, dir):
			continue
		case !slices.ContainsFunc(real, func(h string) bool { return isBelow(dir, h) }):
			out = append(out, dir)
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > hiddenEntriesMax {
			continue
		}
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 {
				work = append(work, filepath.Join(dir, e.Name()))
			}
		}
	}
	return out
}

// isBelow says whether a path is below a folder.
func isBelow(dir, p string) bool {
	return strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// loopbackUp switches on the loopback of a new network, which is down at
// first. Where that fails commands have no network at all, which is no worse.
func loopbackUp() {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, ifr); err != nil {
		return
	}
	ifr.SetUint16(ifr.Uint16() | unix.IFF_UP | unix.IFF_RUNNING)
	_ = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}

// keptCapabilities are what root needs for its own files; all others would let
// a command of root's out of the sandbox.
var keptCapabilities = []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_FSETID,
	unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETFCAP, unix.CAP_SYS_CHROOT}

// dropCapabilities takes from the calling thread, and what it starts, what
// could undo the sandbox.
func dropCapabilities() {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if !slices.Contains(keptCapabilities, c) {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		}
	}
}
