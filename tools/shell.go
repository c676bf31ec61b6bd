package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Limits of a command's life.
const (
	// ShellOutputMax bounds the output that is kept of one command; what comes
	// after it is still read, so that the command goes on, and dropped.
	ShellOutputMax = 4 << 20
	// ShellGrace is how long a command has between SIGTERM and SIGKILL.
	ShellGrace = 250 * time.Millisecond
	// shellLast bounds the wait for the supervisor after it should have ended.
	shellLast = 5 * time.Second
	// shellChunk is the size of one piece of streamed output.
	shellChunk = 32 << 10
)

// ShellOptions say how commands are run.
type ShellOptions struct {
	// Self is the command line that runs this program's ExecMain: the path of
	// our own binary and "__exec". Required.
	Self []string
	// Roots are the folders that commands may write in. Required.
	Roots []string
	// Writable are further folders that commands may write in.
	Writable []string
	// CacheDir is where commands keep build caches, which would otherwise be
	// in the home folder; "" takes one in the temporary folder.
	CacheDir string
	// Hidden are paths that commands can't read: keys and other programs'
	// credentials. Nil takes HiddenByDefault.
	Hidden []string
	// Kept is the folder for what commands wrote over guarded files and was put
	// back. Commands can't write in it. "" takes one beside CacheDir.
	Kept string
	// Secrets are values that no command's environment may hold.
	Secrets []string
	// Network permits the network to every command.
	Network bool
	// NoSandbox runs commands unconfined; their results say so.
	NoSandbox bool
	// NoMounts guards files by comparison only, as where the system can't mount.
	NoMounts bool
	// Environ is the environment to clean; nil takes the process's own.
	Environ []string
}

// NewShell gives the Shell that runs commands by bash. Each runs below a
// supervisor, a second process of our own binary, which confines it, and ends
// all that it started when it is cancelled, when it is over, and when we die.
func NewShell(o ShellOptions) Shell {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Hidden == nil {
		o.Hidden = HiddenByDefault()
	}
	if o.CacheDir == "" {
		o.CacheDir = filepath.Join(os.TempDir(), fmt.Sprintf("agent-lsp-cache-%d", os.Getuid()))
	}
	if o.Kept == "" {
		o.Kept = strings.TrimRight(o.CacheDir, string(filepath.Separator)) + "-kept"
	}
	return &shell{o: o, active: map[*guards]bool{}}
}

type shell struct {
	o      ShellOptions
	mu     sync.Mutex
	active map[*guards]bool // around the commands that run now
}

// execRequest is what the supervisor is told, as one line of JSON on its life
// pipe. When the pipe then ends, the supervisor ends everything.
type execRequest struct {
	Line     string
	Dir      string
	Env      []string
	Writable []string
	Hidden   []string
	Network  bool
	Sandbox  bool
	ReadOnly []string // guarded paths
	Secret   []string // files inside the workspace that can't be read
	Isolated bool     // the supervisor has a network of its own
	Mounts   bool     // the supervisor has mounts of its own
}

// execReport is what the supervisor tells at the end.
type execReport struct {
	ExitCode  int
	Signal    string `json:",omitempty"`
	Sandboxed bool
	Note      string
	Guarded   bool   // the command saw guarded paths read-only and secret files not at all
	Ended     int    // processes that were still running and were ended
	Error     string `json:",omitempty"`
}

// Run implements Shell.
func (s *shell) Run(ctx context.Context, c Command) (CommandResult, error) {
	if err := ctx.Err(); err != nil {
		return CommandResult{ExitCode: -1}, err
	}
	req := execRequest{
		Line: c.Line, Dir: c.Dir, Network: c.Network || s.o.Network, Sandbox: !s.o.NoSandbox, Hidden: s.o.Hidden,
		Writable: append(slices.Clone(s.o.Roots), s.o.Writable...),
	}
	if req.Dir == "" && len(s.o.Roots) > 0 {
		req.Dir = s.o.Roots[0]
	}
	if err := s.caches(&req); err != nil {
		return CommandResult{ExitCode: -1}, err
	}
	around, err := s.guard(c)
	if err != nil {
		return CommandResult{ExitCode: -1}, err
	}
	defer s.unguard(around)
	req.ReadOnly, req.Secret = around.list(false), around.list(true)
	run, err := s.start(req)
	if err != nil {
		return CommandResult{ExitCode: -1}, fmt.Errorf("the command could not be started: %w", err)
	}
	res, seen, err := run.wait(ctx, c)
	around.compare(&res, seen, s.o.Kept)
	return res, err
}

// caches makes the folder for build caches and temporary files and points
// programs to it.
func (s *shell) caches(req *execRequest) error {
	req.Env = CleanEnvironment(s.o.Environ, s.o.Secrets)
	if !req.Sandbox {
		return nil
	}
	tmp := filepath.Join(s.o.CacheDir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return fmt.Errorf("no folder for the commands' caches: %w; set another or make it writable", err)
	}
	req.Writable = append(req.Writable, s.o.CacheDir)
	if shared := os.TempDir(); holdsAny(shared, s.o.Roots) {
		// The workspace's neighbours are not temporary files.
		req.Env = setenv(req.Env, "TMPDIR", tmp)
	} else {
		req.Writable = append(req.Writable, shared)
	}
	if req.Network {
		req.Writable = append(req.Writable, packageStores(req.Env)...)
	}
	own := filepath.Join(s.o.CacheDir, "go-build")
	users := cmp.Or(getenv(req.Env, "GOCACHE"), filepath.Join(cmp.Or(getenv(req.Env, "XDG_CACHE_HOME"), filepath.Join(getenv(req.Env, "HOME"), ".cache")), "go-build"))
	if prog, ok := goCacheEnv(s.o.Self, users, own); ok && getenv(req.Env, "GOCACHEPROG") == "" {
		req.Env = setenv(req.Env, "GOCACHEPROG", prog)
	}
	for _, v := range [][2]string{{"GOCACHE", "go-build"}, {"XDG_CACHE_HOME", ""}, {"npm_config_cache", "npm"}, {"PIP_CACHE_DIR", "pip"}, {"YARN_CACHE_FOLDER", "yarn"}} {
		req.Env = setenv(req.Env, v[0], filepath.Join(s.o.CacheDir, v[1]))
	}
	return nil
}

// holdsAny says whether a folder is above one of the others.
func holdsAny(folder string, others []string) bool {
	folder = ResolveLinks(folder)
	for _, o := range others {
		if rel, err := filepath.Rel(folder, ResolveLinks(o)); err == nil && rel != "." && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// packageStores are where package managers keep what they download: a command
// that the person let use the network may add to them.
func packageStores(env []string) []string {
	home := getenv(env, "HOME")
	gopath := cmp.Or(getenv(env, "GOPATH"), filepath.Join(home, "go"))
	cargo := cmp.Or(getenv(env, "CARGO_HOME"), filepath.Join(home, ".cargo"))
	return []string{
		cmp.Or(getenv(env, "GOMODCACHE"), filepath.Join(gopath, "pkg", "mod")), filepath.Join(gopath, "pkg", "sumdb"),
		filepath.Join(cargo, "registry"), filepath.Join(cargo, "git"),
	}
}

// isolation is what a supervisor has for itself.
type isolation struct{ network, mounts bool }

// running is a supervisor at work.
type running struct {
	cmd    *exec.Cmd
	life   *os.File // our end; closing it ends everything
	output *os.File
	report *os.File
}

// start runs the supervisor with three pipes: life (3), report (4), and the
// output as its stdout and stderr.
func (s *shell) start(req execRequest) (*running, error) {
	var opened []*os.File
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			opened = append(opened, r, w)
		}
		return
	}
	fail := func(err error) (*running, error) {
		for _, f := range opened {
			f.Close()
		}
		return nil, err
	}
	lifeR, lifeW, err := pipe()
	if err != nil {
		return fail(err)
	}
	reportR, reportW, err := pipe()
	if err != nil {
		return fail(err)
	}
	outR, outW, err := pipe()
	if err != nil {
		return fail(err)
	}
	if len(s.o.Self) == 0 {
		return fail(errors.New("the path of our own program isn't known"))
	}
	build := func() *exec.Cmd {
		cmd := exec.Command(s.o.Self[0], s.o.Self[1:]...)
		cmd.Env, cmd.Dir = req.Env, "/"
		cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = outW, outW, []*os.File{lifeR, reportW}
		return cmd
	}
	own := isolation{network: req.Sandbox && !req.Network, mounts: req.Sandbox && !s.o.NoMounts}
	cmd, own, err := startIsolated(build, own)
	if err != nil {
		return fail(err)
	}
	req.Isolated, req.Mounts = own.network, own.mounts
	for _, f := range []*os.File{lifeR, reportW, outW} {
		f.Close()
	}
	run := &running{cmd: cmd, life: lifeW, output: outR, report: reportR}
	line, err := json.Marshal(req)
	if err == nil {
		// The line may be longer than the pipe; the supervisor reads it at once.
		_, err = lifeW.Write(append(line, '\n'))
	}
	if err != nil {
		lifeW.Close()
		_ = cmd.Wait()
		outR.Close()
		reportR.Close()
		return nil, err
	}
	return run, nil
}

// wait streams the output until the command is over, by itself or because ctx
// or the timeout ended it.
// guarded says that it saw guarded paths read-only.
func (r *running) wait(ctx context.Context, c Command) (res CommandResult, guarded bool, err error) {
	collected := newCollector(c.Output)
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(collected, r.output)
	}()
	reported := make(chan execReport, 1)
	go func() {
		var rep execReport
		if err := json.NewDecoder(r.report).Decode(&rep); err != nil {
			rep = execReport{ExitCode: -1, Error: "its supervisor ended without a report"}
		}
		reported <- rep
	}()
	var timeout <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	var rep execReport
	select {
	case rep = <-reported:
	case <-ctx.Done():
		rep = r.end(reported)
	case <-timeout:
		res.TimedOut = true
		rep = r.end(reported)
	}
	r.finish(read)
	res.Output, res.Truncated = collected.result()
	res.ExitCode, res.Sandboxed, res.Note = rep.ExitCode, rep.Sandboxed, rep.Note
	if res.TimedOut || ctx.Err() != nil {
		res.ExitCode = -1
	}
	if rep.Ended > 0 && !res.TimedOut && ctx.Err() == nil {
		res.Output += fmt.Sprintf("\n[%s still running in the background: ended]\n", count(rep.Ended, "process"))
	}
	if err := ctx.Err(); err != nil {
		return res, rep.Guarded, err
	}
	if rep.Error != "" {
		return res, rep.Guarded, errors.New(rep.Error)
	}
	return res, rep.Guarded, nil
}

// end asks the supervisor to end everything, and kills it if it doesn't.
func (r *running) end(reported <-chan execReport) execReport {
	r.life.Close()
	select {
	case rep := <-reported:
		return rep
	case <-time.After(ShellGrace + shellLast):
		killGroup(r.cmd.Process.Pid)
		return execReport{ExitCode: -1, Note: "its supervisor had to be killed"}
	}
}

// finish waits for the supervisor and for the end of the output. Should some
// process hold the output open beyond that, it is closed from our side.
func (r *running) finish(read <-chan struct{}) {
	_ = r.cmd.Wait()
	r.life.Close()
	select {
	case <-read:
	case <-time.After(shellLast):
	}
	r.output.Close()
	<-read
	r.report.Close()
}

// collector keeps the output up to its limit and streams it on in whole
// characters.
type collector struct {
	mu     sync.Mutex
	kept   []byte
	cut    bool
	stream func(string)
	part   []byte // of a character at the end of a piece
}

func newCollector(stream func(string)) *collector {
	if stream == nil {
		stream = func(string) {}
	}
	return &collector{stream: stream}
}

// Write implements io.Writer and never fails.
func (c *collector) Write(p []byte) (int, error) {
	c.mu.Lock()
	room := max(0, ShellOutputMax-len(c.kept))
	take := p[:min(len(p), room)]
	c.kept = append(c.kept, take...)
	c.cut = c.cut || len(take) < len(p)
	c.mu.Unlock()
	for piece := range slices.Chunk(take, shellChunk) {
		c.part = append(c.part, piece...)
		n := whole(c.part)
		if n > 0 {
			c.stream(strings.ToValidUTF8(string(c.part[:n]), "\ufffd"))
			c.part = append(c.part[:0], c.part[n:]...)
		}
	}
	return len(p), nil
}

// whole gives how many bytes end with a complete character.
func whole(b []byte) int {
	for i := 1; i <= min(len(b), utf8.UTFMax); i++ {
		if at := len(b) - i; utf8.RuneStart(b[at]) {
			if utf8.FullRune(b[at:]) {
				return len(b)
			}
			return at
		}
	}
	return len(b)
}

func (c *collector) result() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		return string(c.kept[:whole(c.kept)]) + fmt.Sprintf("\n[output cut after %s]\n", size(ShellOutputMax)), true
	}
	return string(c.kept), false
}
