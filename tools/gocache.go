package tools

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Go's build cache in the sandbox. A command may not write to the person's own
// cache, because what it puts there would be linked into programs that run
// outside; and starting with an empty one costs the first test a minute. So the
// go command is given this program as its cache (GOCACHEPROG): it reads the
// person's cache and writes to one of the sandbox's own.

// goCacheArg selects it among ExecMain's arguments.
const goCacheArg = "gocache"

// Limits of the cache.
const (
	goCacheBodyMax  = 1 << 30 // bytes of one object
	goCacheEntryMax = 1 << 10 // bytes of one index entry
	goCacheIDMax    = 64      // bytes of an id
)

// goCacheRequest and goCacheResponse are the go command's protocol, as
// documented in cmd/go/internal/cacheprog.
type goCacheRequest struct {
	ID                 int64
	Command            string
	ActionID, OutputID []byte
	BodySize           int64
}

type goCacheResponse struct {
	ID            int64
	Err           string     `json:",omitempty"`
	KnownCommands []string   `json:",omitempty"`
	Miss          bool       `json:",omitempty"`
	OutputID      []byte     `json:",omitempty"`
	Size          int64      `json:",omitempty"`
	Time          *time.Time `json:",omitempty"`
	DiskPath      string     `json:",omitempty"`
}

// goCache serves objects from its folders, its own first.
type goCache struct {
	own, users string
}

// goCacheEnv points the go command to it.
func goCacheEnv(self []string, users, own string) (string, bool) {
	if info, err := os.Stat(users); err != nil || !info.IsDir() || users == own {
		return "", false
	}
	var words []string
	for _, w := range append(append([]string{}, self...), goCacheArg, users, own) {
		if strings.ContainsAny(w, `'"`) {
			return "", false // it can't be quoted for the go command
		}
		words = append(words, "'"+w+"'")
	}
	return strings.Join(words, " "), true
}

// serveGoCache answers requests until the go command closes it.
func serveGoCache(users, own string, in io.Reader, out io.Writer) error {
	c := goCache{own: own, users: users}
	dec := json.NewDecoder(bufio.NewReaderSize(in, 64<<10))
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	answer := func(r goCacheResponse) error {
		if err := enc.Encode(r); err != nil {
			return err
		}
		return w.Flush()
	}
	if err := answer(goCacheResponse{KnownCommands: []string{"get", "put", "close"}}); err != nil {
		return err
	}
	for {
		var req goCacheRequest
		if err := dec.Decode(&req); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var body []byte
		if req.Command == "put" && req.BodySize > 0 {
			if req.BodySize > goCacheBodyMax {
				return fmt.Errorf("an object of %s is too large for the build cache", size(req.BodySize))
			}
			if err := dec.Decode(&body); err != nil {
				return err
			}
		}
		if err := answer(c.do(req, body)); err != nil || req.Command == "close" {
			return err
		}
	}
}

func (c goCache) do(req goCacheRequest, body []byte) goCacheResponse {
	res := goCacheResponse{ID: req.ID}
	if len(req.ActionID) > goCacheIDMax || len(req.OutputID) > goCacheIDMax || req.Command != "close" && len(req.ActionID) == 0 {
		res.Err = "an id of a length that no id has"
		return res
	}
	switch req.Command {
	case "get":
		for _, dir := range []string{c.own, c.users} {
			if got, ok := goCacheGet(dir, req.ActionID); ok {
				got.ID = req.ID
				return got
			}
		}
		res.Miss = true
	case "put":
		path, err := goCachePut(c.own, req, body)
		if err != nil {
			res.Err = err.Error()
		}
		res.DiskPath = path
	case "close":
	default:
		res.Err = "unknown command " + strconv.Quote(clip(req.Command, 40))
	}
	return res
}

// goCacheFile is where the go command itself would keep it.
func goCacheFile(dir string, id []byte, kind string) string {
	name := hex.EncodeToString(id)
	return filepath.Join(dir, name[:2], name+"-"+kind)
}

// goCacheGet reads an index entry, "v1 action output size time", and checks
// that the object is whole.
func goCacheGet(dir string, action []byte) (res goCacheResponse, ok bool) {
	f, err := os.Open(goCacheFile(dir, action, "a"))
	if err != nil {
		return res, false
	}
	defer f.Close()
	entry, err := io.ReadAll(io.LimitReader(f, goCacheEntryMax))
	if err != nil {
		return res, false
	}
	fields := strings.Fields(string(entry))
	if len(fields) != 5 || fields[0] != "v1" || fields[1] != hex.EncodeToString(action) {
		return res, false
	}
	output, err1 := hex.DecodeString(fields[2])
	length, err2 := strconv.ParseInt(fields[3], 10, 64)
	at, err3 := strconv.ParseInt(fields[4], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || len(output) == 0 {
		return res, false
	}
	path := goCacheFile(dir, output, "d")
	info, err := os.Stat(path)
	if err != nil || info.IsDir() || info.Size() != length {
		return res, false
	}
	put := time.Unix(0, at)
	return goCacheResponse{OutputID: output, Size: length, Time: &put, DiskPath: path}, true
}

// goCachePut writes object and entry, each whole or not at all.
func goCachePut(dir string, req goCacheRequest, body []byte) (string, error) {
	if len(req.OutputID) == 0 {
		return "", fmt.Errorf("an object without an id")
	}
	object := goCacheFile(dir, req.OutputID, "d")
	entry := fmt.Sprintf("v1 %x %x %20d %20d\n", req.ActionID, req.OutputID, len(body), time.Now().UnixNano())
	if info, err := os.Stat(object); err != nil || info.Size() != int64(len(body)) {
		if err := writeWhole(object, body); err != nil {
			return "", err
		}
	}
	return object, writeWhole(goCacheFile(dir, req.ActionID, "a"), []byte(entry))
}

func writeWhole(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "put-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// goCacheMain is ExecMain's other half.
func goCacheMain(args []string) (code int, mine bool) {
	if len(args) != 3 || args[0] != goCacheArg {
		return 0, false
	}
	if err := serveGoCache(args[1], args[2], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "the sandbox's build cache:", err)
		return 1, true
	}
	return 0, true
}
