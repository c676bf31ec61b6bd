package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("LLMTEST_ORPHAN") != "" {
		orphan() // see TestServerDiesWithItsProcess
	}
	Main(m)
}

// toolSchemas are tools as an agent would send them.
const toolSchemas = `[
{"type":"function","function":{"name":"read","description":"read a file","parameters":{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["path"]}}},
{"type":"function","function":{"name":"edit","parameters":{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"},"newText":{"type":"string"},"all":{"type":"boolean"}},"required":["oldText","newText"]}},"diff":{"type":"string"}},"required":["path"]}}},
{"type":"function","function":{"name":"write","parameters":{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}}},
{"type":"function","function":{"name":"bash","parameters":{"type":"object","properties":{"command":{"type":"string"},"timeout":{"type":"integer"},"description":{"type":"string"}},"required":["command"]}}},
{"type":"function","function":{"name":"grep","parameters":{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string"},"glob":{"type":"string"},"ignoreCase":{"type":"boolean"},"context":{"type":"integer"},"limit":{"type":"integer"}},"required":["pattern"]}}},
{"type":"function","function":{"name":"search","parameters":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}}]`

type chatMessage struct {
	Role             string          `json:"role"`
	Content          string          `json:"content"`
	ReasoningContent string          `json:"reasoning_content,omitempty"`
	ToolCalls        json.RawMessage `json:"tool_calls,omitempty"`
	ToolCallID       string          `json:"tool_call_id,omitempty"`
}

type wireCall struct {
	ID       string
	Function struct{ Name, Arguments string }
}

// ask makes one request without streaming.
func ask(t testing.TB, url string, extra map[string]any, messages ...chatMessage) (reply chatMessage, finish string, calls []wireCall) {
	t.Helper()
	body := map[string]any{"model": ModelName, "messages": messages, "tools": json.RawMessage(toolSchemas)}
	maps.Copy(body, extra)
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(url+"/v1/chat/completions", "application/json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Choices []struct {
			Message      chatMessage
			FinishReason string `json:"finish_reason"`
		}
	}
	if err := json.Unmarshal(raw, &got); err != nil || len(got.Choices) != 1 {
		t.Fatalf("%s: %v: %s", res.Status, err, raw)
	}
	c := got.Choices[0]
	if c.Message.ToolCalls != nil {
		if err := json.Unmarshal(c.Message.ToolCalls, &calls); err != nil {
			t.Fatal(err)
		}
	}
	return c.Message, c.FinishReason, calls
}

// render is a reply as its script would have written it.
func render(m chatMessage, calls []wireCall) string {
	var out strings.Builder
	if m.ReasoningContent != "" {
		out.WriteString(Think(strings.TrimSuffix(m.ReasoningContent, "\n")))
	}
	out.WriteString(strings.TrimSuffix(m.Content, "\n"))
	for _, c := range calls {
		if out.Len() > 0 && !strings.HasSuffix(out.String(), "\n") {
			out.WriteString("\n")
		}
		out.WriteString(Call(c.Function.Name, c.Function.Arguments))
	}
	return out.String()
}

func TestEveryScriptIsReplayed(t *testing.T) {
	s := Shared(t)
	scripts := DefaultScripts()
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		t.Run(name, func(t *testing.T) {
			script := scripts[name]
			history := []chatMessage{{Role: "system", Content: "You are a test."}, {Role: "user", Content: "Go [[script:" + name + "]]"}}
			for k := 0; k < len(script.Steps)+2; k++ {
				want := noStep
				if k < len(script.Steps) {
					want = script.Steps[k]
				} else if script.Loop {
					want = script.Steps[k%len(script.Steps)]
				}
				want, babble := strings.CutSuffix(want, "\f")
				if babble {
					return // what follows is chance: TestBabbleUnderGrammar
				}
				reply, finish, calls := ask(t, s.URL, map[string]any{"temperature": 1, "seed": k}, history...)
				if got := render(reply, calls); got != strings.TrimSuffix(want, "\n") {
					t.Fatalf("step %d is\n%q\nwant\n%q", k, got, want)
				}
				if (finish == "tool_calls") != (len(calls) > 0) {
					t.Errorf("step %d: finish %q with %d calls", k, finish, len(calls))
				}
				if len(calls) == 0 {
					return
				}
				history = append(history, reply)
				for _, c := range calls {
					history = append(history, chatMessage{Role: "tool", ToolCallID: c.ID, Content: "done"})
				}
				// A note between tool result and next call, as agents add it, must not disturb the script.
				history = append(history, chatMessage{Role: "user", Content: "[note] go on"})
			}
		})
	}
}

func TestMarkers(t *testing.T) {
	s := Start(t, Options{Slots: 1, Context: 8192, Scripts: Scripts{
		"a":     Texts("I am a."),
		"b":     Texts("I am b."),
		"twice": {Steps: []string{"same text", "same text"}},
		"title": {Steps: []string{"A fitting title"}, WhenSystem: "Write a title for"},
	}})
	for name, c := range map[string]struct {
		want     string
		messages []chatMessage
	}{
		"one":           {"I am a.", []chatMessage{{Role: "user", Content: "x [[script:a]] y"}}},
		"last wins":     {"I am b.", []chatMessage{{Role: "user", Content: "[[script:a]]"}, {Role: "assistant", Content: "I am a."}, {Role: "user", Content: "[[script:b]]"}}},
		"steer between": {"I am a.", []chatMessage{{Role: "user", Content: "[[script:a]]"}, {Role: "user", Content: "faster please"}}},
		"late system":   {"I am a.", []chatMessage{{Role: "user", Content: "[[script:a]]"}, {Role: "system", Content: "note"}}},
		"no such":       {noScript, []chatMessage{{Role: "user", Content: "[[script:nope]]"}}},
		"when-system":   {"A fitting title", []chatMessage{{Role: "system", Content: "Write a title for what follows."}, {Role: "user", Content: "[[script:a]]"}}},
		"same text":     {"same text", []chatMessage{{Role: "user", Content: "[[script:twice]]"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, _ := ask(t, s.URL, nil, c.messages...)
			if got.Content != c.want {
				t.Errorf("got %q, want %q", got.Content, c.want)
			}
		})
	}
}

// Babble under the grammar of the tools gives calls that fit their schemas,
// until the output limit cuts the last one.
func TestBabbleUnderGrammar(t *testing.T) {
	s := Shared(t)
	known := []string{"read", "edit", "write", "bash", "grep", "search"}
	complete := 0
	for seed := range 5 {
		_, finish, calls := ask(t, s.URL, map[string]any{"seed": seed, "max_tokens": 300}, chatMessage{Role: "user", Content: "[[script:badcall]]"})
		for i, c := range calls {
			if cut := finish == "length" && i == len(calls)-1; cut {
				continue
			}
			complete++
			if !slices.Contains(known, c.Function.Name) || !json.Valid([]byte(c.Function.Arguments)) {
				t.Errorf("seed %d: call %s(%s)", seed, c.Function.Name, c.Function.Arguments)
			}
		}
	}
	if complete == 0 {
		t.Error("five seeds gave no complete call")
	}
}

func TestServerAsksForItsKey(t *testing.T) {
	s := Start(t, Options{APIKey: "sk-test", Slots: 1, Context: 4096, Scripts: Scripts{"a": Texts("text")}})
	res, err := http.Post(s.V1()+"/chat/completions", "application/json", strings.NewReader(`{"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key: %s, want 401", res.Status)
	}
	if n := s.Busy(t); n != 0 {
		t.Errorf("%d slots busy, want 0", n)
	}
}

func TestModelIsDeterministic(t *testing.T) {
	a, err := modelBytes(DefaultScripts())
	if err != nil {
		t.Fatal(err)
	}
	b, err := modelBytes(DefaultScripts())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Error("two models of the same scripts differ")
	}
	t.Logf("%d scripts: %d bytes", len(DefaultScripts()), len(a))
}

// orphan is what TestServerDiesWithItsProcess runs: it starts a server and is killed.
func orphan() {
	s, err := Launch(Options{Slots: 1, Context: 1024, Scripts: Scripts{"a": Texts("text")}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.process.Pid)
	select {}
}
