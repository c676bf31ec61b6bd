package share

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Limits of finding each other.
const (
	greeting     = "agent-lsp 1\n"       // what a holder says first to who connects
	greetWait    = 5 * time.Second       // for it; a holder that is stopped doesn't say it
	addressMax   = 4 << 10               // bytes of the lock file
	socketMax    = 100                   // bytes of a socket's path; the system's limit is near
	claimEvery   = 10 * time.Millisecond // between tries: nobody tells when a lock is free
	claimPatient = 15 * time.Second      // for a holder that neither lets go nor listens
)

// Place is where a workspace's servers find each other.
type Place struct {
	Lock    string // file beside the state
	Sockets string // folder for the socket
}

// NewPlace is the place of a state file. runtime is the user's folder for
// sockets, "" if the system has none; then cache is used.
func NewPlace(state, runtime, cache string) Place {
	dir := filepath.Join(cache, "run")
	if runtime != "" {
		dir = filepath.Join(runtime, "agent-lsp")
	}
	return Place{Lock: state + ".lock", Sockets: dir}
}

// ErrNobody says that no server of the workspace is running.
var ErrNobody = errors.New("no agent-lsp serves this folder")

// address is what the lock file holds.
type address struct {
	PID    int    `json:"pid"`
	Socket string `json:"socket"`
}

// Claim is held by the one server that runs the workspace's engine.
type Claim struct {
	place    Place
	lock     *flock.Flock
	listener net.Listener
}

// Try takes the claim; nil without an error means that another server has it.
func Try(p Place) (*Claim, error) {
	if err := os.MkdirAll(filepath.Dir(p.Lock), 0o700); err != nil {
		return nil, fmt.Errorf("the state folder can't be made: %w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	lock := flock.New(p.Lock, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("the workspace's lock can't be taken: %w", err)
	}
	if !held {
		return nil, nil
	}
	return &Claim{place: p, lock: lock}, nil
}

// Listen opens the socket. Where that can't be had the error says why; the
// claim is good all the same, and nobody can join.
func (c *Claim) Listen() error {
	sum := sha256.Sum256([]byte(c.place.Lock))
	name := hex.EncodeToString(sum[:8]) + ".sock"
	dir := c.place.Sockets
	if len(dir)+1+len(name) > socketMax {
		dir = filepath.Join(os.TempDir(), fmt.Sprintf("agent-lsp-%d", os.Getuid()))
	}
	if err := privateDir(dir); err != nil {
		return err
	}
	path := filepath.Join(dir, name)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // of a holder that died
		return fmt.Errorf("a stale socket can't be removed: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("no socket for further clients: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return fmt.Errorf("no socket for further clients: %w", err)
	}
	body, err := json.Marshal(address{PID: os.Getpid(), Socket: path})
	if err == nil {
		err = os.WriteFile(c.place.Lock, body, 0o600)
	}
	if err != nil {
		l.Close()
		return fmt.Errorf("the socket's address can't be written down: %w", err)
	}
	c.listener = l
	return nil
}

// privateDir makes a folder that only this user may enter.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("no folder for the socket: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("no folder for the socket: %w", err)
	}
	if !info.IsDir() || !isOurs(info) {
		return fmt.Errorf("the folder for the socket, %s, belongs to somebody else", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// Accept gives the next client's connection, greeted. It fails once the claim
// is given up.
func (c *Claim) Accept() (net.Conn, error) {
	if c.listener == nil {
		return nil, net.ErrClosed
	}
	conn, err := c.listener.Accept()
	if err != nil {
		return nil, err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(greetWait))
	if _, err := io.WriteString(conn, greeting); err != nil {
		conn.Close()
		return c.Accept()
	}
	_ = conn.SetWriteDeadline(time.Time{})
	return conn, nil
}

// Close ends the listening; Release gives the claim up as well.
func (c *Claim) Close() {
	if c.listener != nil {
		c.listener.Close() // removes the socket
	}
}

// Release gives the claim up: the next server may take it.
func (c *Claim) Release() {
	c.Close()
	_ = os.Truncate(c.place.Lock, 0) // who reads an old address finds no socket there
	_ = c.lock.Unlock()
}

// Dial connects to the holder. ErrNobody says that there is none, or none that
// listens yet.
func Dial(p Place) (net.Conn, error) {
	f, err := os.Open(p.Lock)
	if err != nil {
		return nil, ErrNobody
	}
	body, err := io.ReadAll(io.LimitReader(f, addressMax))
	f.Close()
	var a address
	if err != nil || json.Unmarshal(body, &a) != nil {
		return nil, ErrNobody
	}
	conn, err := net.Dial("unix", a.Socket)
	if err != nil {
		return nil, ErrNobody
	}
	said := make([]byte, len(greeting))
	_ = conn.SetReadDeadline(time.Now().Add(greetWait))
	if _, err := io.ReadFull(conn, said); err != nil {
		conn.Close()
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			return nil, fmt.Errorf("the agent-lsp that serves this folder (process %d) does not answer; end it", a.PID)
		}
		return nil, ErrNobody
	}
	_ = conn.SetReadDeadline(time.Time{})
	if string(said) != greeting {
		conn.Close()
		return nil, fmt.Errorf("the agent-lsp that serves this folder (process %d) is of another version; end it, or use the same", a.PID)
	}
	return conn, nil
}

// TryOrDial takes the claim or connects to its holder, whichever is possible
// first: exactly one of the results is there, or an error.
func TryOrDial(ctx context.Context, p Place) (*Claim, net.Conn, error) {
	end := time.Now().Add(claimPatient)
	tick := time.NewTicker(claimEvery)
	defer tick.Stop()
	for {
		claim, err := Try(p)
		if claim != nil || err != nil {
			return claim, nil, err
		}
		conn, err := Dial(p)
		if !errors.Is(err, ErrNobody) {
			return nil, conn, err
		}
		if time.Now().After(end) {
			return nil, nil, fmt.Errorf("another agent-lsp holds %s and takes no clients; end it", p.Lock)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}
