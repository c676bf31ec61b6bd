// Command start measures what a person waits for before anything is thought:
// spawn to initialize, and message to model request; and what the agent adds to a
// model and its tools (overhead.go). Figures stand beside a baseline from the same
// run where there is one, so that machines can be compared, and beside the goal.
//
// The workspace is the first 10,000 files of Go's own source tree. The model is
// a server on the loopback that answers at once, so that what is left is the
// agent's own time.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	filesWanted = 10_000
	rounds      = 9
	submits     = 12
)

func main() {
	if len(os.Args) == 5 && os.Args[1] == baselineFlag {
		times, err := strconv.Atoi(os.Args[4])
		if err == nil {
			err = readPlainly(os.Args[2], os.Args[3], times)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench/start:", err)
			os.Exit(1)
		}
		return
	}
	bin := flag.String("bin", "bin/agent-lsp", "the binary to measure")
	only := flag.String("only", "", "start or overhead; all otherwise")
	flag.Parse()
	if err := run(*bin, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench/start:", err)
		os.Exit(1)
	}
}

func run(bin, only string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "bench-start")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if only == "overhead" {
		return overheadBench(bin, tmp)
	}
	big, small := filepath.Join(tmp, "big"), filepath.Join(tmp, "small")
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	n, bytes, err := copyTree(filepath.Join(strings.TrimSpace(string(goroot)), "src"), big, filesWanted)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(small, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(small, "a.go"), []byte("package a\n"), 0o644); err != nil {
		return err
	}
	fmt.Printf("workspace: %d files, %.1f MB\n\n", n, float64(bytes)/1e6)

	spawn, err := times(rounds, func(int) (time.Duration, error) {
		begun := time.Now()
		err := exec.Command(bin, "version").Run()
		return time.Since(begun), err
	})
	if err != nil {
		return err
	}
	initSmall, err := times(rounds, func(i int) (time.Duration, error) {
		return initialize(bin, small, filepath.Join(tmp, "s", fmt.Sprint(i)))
	})
	if err != nil {
		return err
	}
	// Each round has a state of its own: the whole index is being built while
	// initialize is answered.
	initBig, err := times(rounds, func(i int) (time.Duration, error) {
		return initialize(bin, big, filepath.Join(tmp, "b", fmt.Sprint(i)))
	})
	if err != nil {
		return err
	}
	fmt.Println("| spawn → answered                          | median ms | p95 ms | ratio |")
	fmt.Println("|-------------------------------------------|-----------|--------|-------|")
	row("`agent-lsp version` (the baseline)", spawn, spawn)
	row("`initialize`, workspace of one file", initSmall, spawn)
	row(fmt.Sprintf("`initialize`, %d files, indexing begins", n), initBig, spawn)
	if err := submitBench(bin, big, filepath.Join(tmp, "submit")); err != nil || only != "" {
		return err
	}
	return overheadBench(bin, tmp)
}

func row(name string, d, base []time.Duration) {
	fmt.Printf("| %-41s | %9.1f | %6.1f | %5.2f |\n", name, ms(at(d, .5)), ms(at(d, .95)), ms(at(d, .5))/ms(at(base, .5)))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func at(d []time.Duration, q float64) time.Duration {
	s := slices.Clone(d)
	slices.Sort(s)
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

func times(n int, f func(i int) (time.Duration, error)) ([]time.Duration, error) {
	out := make([]time.Duration, 0, n)
	for i := range n {
		d, err := f(i)
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// copyTree copies the first files of a tree in path order.
func copyTree(from, to string, limit int) (files int, bytes int64, err error) {
	err = filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil || files >= limit {
			return err
		}
		rel, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		files++
		bytes += int64(len(data))
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	})
	return files, bytes, err
}

// server is one running agent-lsp.
type server struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	id  int
	// early are notifications that came before an answer that was waited for.
	early []message
}

func start(bin, dir, home string, env ...string) (*server, error) {
	cmd := exec.Command(bin, "serve")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(append(os.Environ(), "XDG_STATE_HOME="+home+"/state", "XDG_CACHE_HOME="+home+"/cache", "XDG_CONFIG_HOME="+home+"/config"), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &server{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}, cmd.Start()
}

func (s *server) stop() {
	s.in.Close()
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

func (s *server) send(v map[string]any) error {
	v["jsonrpc"] = "2.0"
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.in, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}

type message struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func (s *server) read() (m message, err error) {
	n := 0
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			return m, err
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		fmt.Sscanf(line, "Content-Length: %d", &n)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(s.out, body); err != nil {
		return m, err
	}
	return m, json.Unmarshal(body, &m)
}

// call sends a request and reads until its answer.
func (s *server) call(method string, params any) (json.RawMessage, error) {
	s.id++
	if err := s.send(map[string]any{"id": s.id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	for {
		m, err := s.read()
		if err != nil {
			return nil, err
		}
		if m.ID != nil && *m.ID == s.id && m.Method == "" {
			if m.Error != nil {
				return nil, fmt.Errorf("%s: %s", method, m.Error)
			}
			return m.Result, nil
		}
		s.early = append(s.early, m)
	}
}

func (s *server) initialize(dir string) error {
	_, err := s.call("initialize", map[string]any{"processId": os.Getpid(), "rootUri": "file://" + dir, "capabilities": map[string]any{},
		"initializationOptions": map[string]any{"agentLsp": map[string]any{"client": "bench", "protocolVersion": 1, "cycles": true}}})
	if err != nil {
		return err
	}
	return s.send(map[string]any{"method": "initialized", "params": map[string]any{}})
}

func initialize(bin, dir, home string) (time.Duration, error) {
	begun := time.Now()
	s, err := start(bin, dir, home)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	err = s.initialize(dir)
	return time.Since(begun), err
}

// submitBench measures message → model request, warm, with retrieval and plan.
func submitBench(bin, dir, home string) error {
	type request struct {
		at   time.Time
		size int
	}
	arrived := make(chan request, 16*submits)
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		body, _ := io.ReadAll(r.Body)
		aside := bytes.Contains(body, []byte(`"content":"[ROUTE]`)) || bytes.Contains(body, []byte(`"content":"[TITLE]`))
		if strings.HasSuffix(r.URL.Path, "/chat/completions") && !aside { // the turn's own, not what is asked beside it
			arrived <- request{at, len(body)}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"done\"}}]}\n\n"+
			"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer fake.Close()
	if err := os.MkdirAll(home+"/config/agent-lsp", 0o755); err != nil {
		return err
	}
	settings := fmt.Sprintf("model = \"bench/x\"\n[providers.bench]\nbase_url = %q\n[models.\"bench/x\"]\ncontext_window = 32000\n", fake.URL+"/v1")
	if err := os.WriteFile(home+"/config/agent-lsp/config.toml", []byte(settings), 0o644); err != nil {
		return err
	}
	s, err := start(bin, dir, home)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.initialize(dir); err != nil {
		return err
	}
	begun := time.Now()
	for {
		var st struct{ Index struct{ State string } }
		body, err := s.call("agent/status", map[string]any{})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, &st); err != nil {
			return err
		}
		if st.Index.State == "ready" || st.Index.State == "degraded" {
			break
		}
		time.Sleep(50 * time.Millisecond) // the index reports at this pace anyway
	}
	fmt.Printf("\nindexed in %.1f s\n\n", time.Since(begun).Seconds())
	var leave, hi []time.Duration
	first := 0
	for i := range submits {
		text := fmt.Sprintf("where is the idle timeout number %d of a connection applied?", i)
		if i%2 == 1 {
			text = "hi"
		}
		s.early = nil
		for len(arrived) > 0 { // a turn may make more requests: only its first counts
			<-arrived
		}
		t0 := time.Now()
		if _, err := s.call("agent/submit", map[string]any{"input": text, "source": "bench"}); err != nil {
			return err
		}
		r := <-arrived
		d, n := r.at.Sub(t0), r.size
		switch {
		case i < 2: // cold
			if text == "hi" {
				first = n
			}
		case text == "hi":
			hi = append(hi, d)
		default:
			leave = append(leave, d)
		}
		if err := s.until(func(m message) bool {
			return m.Method == "agent/stream" && (strings.Contains(string(m.Params), `"type":"result"`) || strings.Contains(string(m.Params), `"type":"error"`))
		}); err != nil {
			return err
		}
	}
	fmt.Println("| message → model request leaves, warm      | median ms | p95 ms | ratio |")
	fmt.Println("|-------------------------------------------|-----------|--------|-------|")
	row("`hi`: no retrieval (the baseline)", hi, hi)
	row("a question: retrieval and plan", leave, hi)
	fmt.Printf("\nfirst request for `hi`: %.1f KB\n", float64(first)/1000)
	return nil
}

func (s *server) until(done func(message) bool) error {
	early := s.early
	s.early = nil
	for _, m := range early {
		if done(m) {
			return nil
		}
	}
	for {
		m, err := s.read()
		if err != nil {
			return err
		}
		if done(m) {
			return nil
		}
	}
}
