package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// What the overhead is measured with.
const (
	tokensFull   = 2000 // of a reply that comes as fast as the loopback takes it
	tokensPaced  = 400
	pace         = 5 * time.Millisecond // between two tokens of a paced reply
	overheads    = 7                    // times that each is measured
	bigRounds    = 20
	bigResult    = 200 << 10 // bytes of a tool's result
	idleSettle   = 2 * time.Second
	cancelAfter  = 20 // tokens of a reply before it is cancelled
	clockTicks   = 100
	baselineFlag = "-read"
)

// scripted is a model on the loopback that does what the last user message says.
type scripted struct {
	arrived chan arrival
	last    atomic.Int64 // when the last byte of a reply was written, in Unix nanoseconds
}

type arrival struct {
	at    time.Time
	size  int
	tools bool // it is a step of work; else a router's question, a title or small talk
}

func (m *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, _ := io.ReadAll(r.Body) // a client that went away is noticed below
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	var req struct {
		Messages []struct {
			Role    string
			Content string
		}
		Tools       []json.RawMessage
		Temperature *float64 // the router's is 0
	}
	if err := json.Unmarshal(body, &req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m.arrived <- arrival{at, len(body), len(req.Tools) > 0}
	asked, results := "", 0
	for _, msg := range req.Messages {
		switch msg.Role {
		case "user":
			asked, results = msg.Content, 0
		case "tool":
			results++
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := bufio.NewWriter(w)
	flush := func() { out.Flush(); w.(http.Flusher).Flush() }
	event := func(delta, finish string) {
		fmt.Fprintf(out, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"x\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	stream := func(n int, every time.Duration) {
		for i := range n {
			event(fmt.Sprintf(`{"content":" token%d"}`, i), "null")
			if every > 0 {
				flush()
				select {
				case <-time.After(every):
				case <-r.Context().Done():
					return
				}
			} else if i%20 == 0 {
				flush()
			}
		}
	}
	call := func(path string) {
		args, _ := json.Marshal(fmt.Sprintf(`{"path":%q}`, path)) // a string always marshals
		event(fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c%d","type":"function","function":{"name":"read","arguments":%s}}]}`, results, args), "null")
	}
	finish := `"stop"`
	switch {
	case req.Temperature != nil:
		event(`{"content":"read"}`, "null")
	case strings.Contains(asked, "stream fast"):
		stream(tokensFull, 0)
	case strings.Contains(asked, "stream paced"):
		stream(tokensPaced, pace)
	case strings.Contains(asked, "read once") && results == 0:
		call("a.go")
		finish = `"tool_calls"`
	case strings.Contains(asked, "read much") && results < bigRounds:
		call(fmt.Sprintf("big%d.txt", results))
		finish = `"tool_calls"`
	default:
		event(`{"content":"done"}`, "null")
	}
	event("{}", finish)
	fmt.Fprint(out, "data: [DONE]\n\n")
	flush()
	m.last.Store(time.Now().UnixNano())
}

// overheadBench prints what the agent adds to the model and the tools, beside
// the goals.
func overheadBench(bin, tmp string) error {
	m := &scripted{arrived: make(chan arrival, 64)}
	server := httptest.NewServer(m)
	defer server.Close()
	dir := filepath.Join(tmp, "overhead")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nfunc A() int { return 1 }\n"), 0o644); err != nil {
		return err
	}
	for i := range bigRounds {
		line := fmt.Sprintf("a line of a long file, number %d of many, which says nothing\n", i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("big%d.txt", i)), []byte(strings.Repeat(line, bigResult/len(line))), 0o644); err != nil {
			return err
		}
	}
	fmt.Println("\n| overhead                                   |   median |      p95 | baseline | ratio | goal  |")
	fmt.Println("|--------------------------------------------|----------|----------|----------|-------|-------|")
	if err := firstRequests(bin, dir, tmp, server.URL, m); err != nil {
		return err
	}
	home := filepath.Join(tmp, "overhead-home")
	if err := configure(home, server.URL); err != nil {
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
	o := &overhead{s: s, m: m, url: server.URL}
	for _, f := range []func() error{o.idle, o.rounds, o.tails, o.tokens, o.cancels, o.heavy} {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func configure(home, url string) error {
	if err := os.MkdirAll(home+"/config/agent-lsp", 0o755); err != nil {
		return err
	}
	settings := fmt.Sprintf("model = \"bench/x\"\n[providers.bench]\nbase_url = %q\n[models.\"bench/x\"]\ncontext_window = 128000\n", url+"/v1")
	return os.WriteFile(home+"/config/agent-lsp/config.toml", []byte(settings), 0o644)
}

func line(name string, median, p95, baseline, ratio, goal string) {
	fmt.Printf("| %-42s | %8s | %8s | %8s | %5s | %-5s |\n", name, median, p95, baseline, ratio, goal)
}

// timed prints durations; base is what the machine itself needs for the same.
func timed(name string, d []time.Duration, base time.Duration, goal string) {
	b, ratio := "", ""
	if base > 0 {
		b, ratio = fmt.Sprintf("%.1f", ms(base)), fmt.Sprintf("%.1f", ms(at(d, .5))/ms(base))
	}
	line(name+", ms", fmt.Sprintf("%.1f", ms(at(d, .5))), fmt.Sprintf("%.1f", ms(at(d, .95))), b, ratio, goal)
}

// firstRequests measures spawn → first model request, each in a new home, and
// how large a request for a greeting is.
func firstRequests(bin, dir, tmp, url string, m *scripted) error {
	o := &overhead{m: m}
	base, err := times(overheads, func(int) (time.Duration, error) {
		begun := time.Now()
		err := exec.Command(bin, "version").Run()
		return time.Since(begun), err
	})
	if err != nil {
		return err
	}
	for _, x := range []struct{ text, goal, size string }{{"hi", "< 120", "< 6"}, {"fix the return value of A in a.go", "< 120", "< 20"}} {
		size := 0
		d, err := times(overheads, func(i int) (time.Duration, error) {
			home := filepath.Join(tmp, fmt.Sprintf("first-%d-%d", len(x.text), i))
			if err := configure(home, url); err != nil {
				return 0, err
			}
			o.drain()
			begun := time.Now()
			s, err := start(bin, dir, home)
			if err != nil {
				return 0, err
			}
			defer s.stop()
			if err := s.initialize(dir); err != nil {
				return 0, err
			}
			if _, err := s.call("agent/submit", map[string]any{"input": x.text, "source": "bench"}); err != nil {
				return 0, err
			}
			got := <-m.arrived
			err = s.finished()
			size = got.size
			for _, a := range o.drain() {
				size = max(size, a.size)
			}
			return got.at.Sub(begun), err
		})
		if err != nil {
			return err
		}
		timed("spawn → first model request, `"+x.text[:2]+"…`", d, at(base, .5), x.goal)
		line("the largest request of that turn, KB", fmt.Sprintf("%.1f", float64(size)/1000), "", "", "", x.size)
	}
	return nil
}

// finished reads until a turn has ended.
func (s *server) finished() error {
	return s.until(func(m message) bool {
		return m.Method == "agent/stream" && (strings.Contains(string(m.Params), `"type":"result"`) || strings.Contains(string(m.Params), `"type":"error"`))
	})
}

type overhead struct {
	s   *server
	m   *scripted
	url string
}

// ask submits and waits for the turn's end.
func (o *overhead) ask(text string) error {
	o.s.early = nil
	if _, err := o.s.call("agent/submit", map[string]any{"input": text, "source": "bench"}); err != nil {
		return err
	}
	return o.s.finished()
}

func (o *overhead) drain() (list []arrival) {
	for {
		select {
		case a := <-o.m.arrived:
			list = append(list, a)
		default:
			return list
		}
	}
}

func (o *overhead) idle() error {
	if err := o.ask("hi"); err != nil {
		return err
	}
	o.drain()
	time.Sleep(idleSettle) // what is measured is a process that does nothing
	pss, err := pssOf(o.s.cmd.Process.Pid)
	line("idle PSS, MB", fmt.Sprintf("%.0f", pss), "", "", "", "< 60")
	return err
}

func (o *overhead) rounds() error {
	d, err := times(overheads, func(i int) (time.Duration, error) {
		if err := o.ask(fmt.Sprintf("look into a.go and read once, number %d", i)); err != nil {
			return 0, err
		}
		var list []arrival
		for _, a := range o.drain() {
			if a.tools {
				list = append(list, a)
			}
		}
		if len(list) != 2 {
			return 0, fmt.Errorf("%d requests, want 2", len(list))
		}
		return list[1].at.Sub(list[0].at), nil
	})
	if err != nil {
		return err
	}
	timed("a request, a read, the next request", d, 0, "< 8")
	return nil
}

func (o *overhead) tails() error {
	d, err := times(overheads, func(i int) (time.Duration, error) {
		err := o.ask(fmt.Sprintf("stream fast, number %d", i))
		o.drain()
		return time.Since(time.Unix(0, o.m.last.Load())), err
	})
	if err != nil {
		return err
	}
	timed(fmt.Sprintf("last byte of %d tokens → done", tokensFull), d, 0, "< 30")
	return nil
}

// tokens measures CPU time a token, beside a program that only reads the stream
// and decodes each event.
func (o *overhead) tokens() error {
	for _, x := range []struct {
		text string
		n    int
		goal string
	}{{"stream fast", tokensFull * overheads, "< .05"}, {"stream paced", tokensPaced, "< .2"}} {
		before, err := cpuOf(o.s.cmd.Process.Pid)
		if err != nil {
			return err
		}
		times := 1
		if x.text == "stream fast" {
			times = overheads
		}
		for i := range times {
			if err := o.ask(fmt.Sprintf("%s, for the %dth time", x.text, i)); err != nil {
				return err
			}
		}
		o.drain()
		after, err := cpuOf(o.s.cmd.Process.Pid)
		if err != nil {
			return err
		}
		base, err := baselineCPU(o.url, x.text, times)
		o.drain()
		if err != nil {
			return err
		}
		mine := ms(after-before) / float64(x.n)
		plain := ms(base) / float64(x.n)
		line("CPU a token, ms, "+x.text, fmt.Sprintf("%.3f", mine), "", fmt.Sprintf("%.3f", plain), fmt.Sprintf("%.1f", mine/plain), x.goal)
	}
	return nil
}

func (o *overhead) cancels() error {
	d, err := times(overheads, func(i int) (time.Duration, error) {
		o.s.early = nil
		raw, err := o.s.call("agent/submit", map[string]any{"input": fmt.Sprintf("stream paced, number %d", i), "source": "bench"})
		if err != nil {
			return 0, err
		}
		var res struct{ RunID string }
		if err := json.Unmarshal(raw, &res); err != nil {
			return 0, err
		}
		for a := range o.m.arrived {
			if a.tools {
				break
			}
		}
		time.Sleep(cancelAfter * pace) // in the middle of the reply
		begun := time.Now()
		if err := o.s.send(map[string]any{"method": "loop:control", "params": map[string]any{"schema": 0, "type": "REQUEST", "request_id": fmt.Sprint("q", i),
			"timestamp": time.Now().UTC().Format(time.RFC3339), "command": "cancel", "target": map[string]any{"run_id": res.RunID}, "payload": map[string]any{}}}); err != nil {
			return 0, err
		}
		err = o.s.finished()
		return time.Since(begun), err
	})
	if err != nil {
		return err
	}
	timed("cancel → done", d, 0, "< 12")
	return nil
}

func (o *overhead) heavy() error {
	if err := o.ask("go through the files and read much"); err != nil {
		return err
	}
	n := 0
	for _, a := range o.drain() {
		if a.tools {
			n++
		}
	}
	pss, err := pssOf(o.s.cmd.Process.Pid)
	line(fmt.Sprintf("PSS after %d rounds of %d KB, MB", n-1, bigResult>>10), fmt.Sprintf("%.0f", pss), "", "", "", "< 120")
	return err
}

// pssOf is a process's proportional set size, in megabytes.
func pssOf(pid int) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for l := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(l, "Pss:"); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) / 1024, err
		}
	}
	return 0, fmt.Errorf("no Pss in %s", raw)
}

// cpuOf is a process's CPU time so far.
func cpuOf(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	f := strings.Fields(rest)
	user, err := strconv.Atoi(f[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(f[12])
	return time.Duration(user+system) * time.Second / clockTicks, err
}

// baselineCPU runs this program as a plain reader of the same streams.
func baselineCPU(url, text string, times int) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, baselineFlag, url, text, strconv.Itoa(times))
	cmd.Stderr = os.Stderr
	err = cmd.Run()
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// readPlainly is that reader.
func readPlainly(url, text string, times int) error {
	body, err := json.Marshal(map[string]any{"messages": []map[string]string{{"role": "user", "content": text}}})
	if err != nil {
		return err
	}
	for range times {
		res, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(string(body)))
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: {"); ok {
				var v map[string]any
				if err := json.Unmarshal([]byte("{"+data), &v); err != nil {
					return err
				}
			}
		}
		res.Body.Close()
		if err := lines.Err(); err != nil {
			return err
		}
	}
	return nil
}
