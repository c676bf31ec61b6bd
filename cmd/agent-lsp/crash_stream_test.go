package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// lossMax is how much of what the provider had sent before a kill may be lost,
// as time before the kill.
const lossMax = 100 * time.Millisecond

// pacedProvider streams numbered words and remembers when it sent each.
type pacedProvider struct {
	mu   sync.Mutex
	sent []time.Time
	wake chan struct{}
}

func (p *pacedProvider) word(i int) string { return fmt.Sprintf("w%04d ", i) }

func (p *pacedProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	tick := time.NewTicker(3 * time.Millisecond) // the pace of a fast model
	defer tick.Stop()
	for i := range 9000 {
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
		p.mu.Lock()
		_, err := fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", p.word(i))
		w.(http.Flusher).Flush()
		if err == nil {
			p.sent = append(p.sent, time.Now())
		}
		p.mu.Unlock()
		select {
		case p.wake <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
		if i%burst == burst-1 { // it falls silent now and then
			select {
			case <-time.After(silence):
			case <-r.Context().Done():
				return
			}
		}
	}
}

const (
	burst   = 64 // words
	silence = 4 * lossMax
)

// after waits until so many words were sent.
func (p *pacedProvider) after(t *testing.T, n int) {
	t.Helper()
	late := time.After(answerWithin)
	for {
		p.mu.Lock()
		have := len(p.sent)
		p.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-p.wake:
		case <-late:
			t.Fatalf("%d words were sent, not %d", have, n)
		}
	}
}

// TestCrashKeepsWhatWasStreamed: of what the provider had sent 100 ms before a
// kill -9, every word is there after the restart. The clock is the provider's.
func TestCrashKeepsWhatWasStreamed(t *testing.T) {
	kills := 12
	if testing.Short() {
		kills = 3
	}
	worst := time.Duration(0)
	for i := range kills {
		p := &pacedProvider{wake: make(chan struct{}, 1)}
		server := httptest.NewServer(p)
		env := home(t)
		for j, v := range env {
			if strings.HasPrefix(v, "AGENT_LSP_MODEL=") {
				env[j] = "AGENT_LSP_MODEL=work/paced"
			}
		}
		setting(t, env, fmt.Sprintf("[aliases]\nsmall = \"builtin\"\n[providers.work]\nbase_url = %q\n[models.\"work/paced\"]\ncontext_window = 100000\n", server.URL+"/v1"))
		dir := writeFiles(t, map[string]string{"main.go": numbered(30)})
		e := startEditor(t, env, dir)
		e.hello(dir)
		s := e.submit("read main.go and tell of it", "")
		if i%2 == 0 {
			p.after(t, 40+i*37) // a moment of its own each time
		} else {
			p.after(t, burst*(1+i/2))
			<-time.After(2 * lossMax) // nothing comes meanwhile: what was said must be down
		}
		e.kill()
		killed := time.Now()
		_ = e.cmd.Wait()
		server.CloseClientConnections()
		server.Close()

		e = startEditor(t, env, dir)
		e.hello(dir)
		var l loaded
		e.okay("agent/session/load", `{"sessionId":"`+s.SessionID+`"}`, &l)
		steps := l.Cycles.Cycles[0].Steps
		kept := steps[len(steps)-1].Text
		e.bye()

		p.mu.Lock()
		for n, at := range p.sent {
			if strings.Contains(kept, p.word(n)) || !at.Before(killed) {
				continue
			}
			age := killed.Sub(at)
			worst = max(worst, age)
			if age > lossMax {
				t.Errorf("kill %d: word %d, sent %v before the kill, is lost (%d of %d words kept)", i, n, age, strings.Count(kept, "w"), len(p.sent))
			}
			break // the later ones are younger
		}
		p.mu.Unlock()
	}
	t.Logf("%d kills: the oldest word lost was sent %v before the kill", kills, worst)
}
