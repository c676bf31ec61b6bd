package openai

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/model"
	"github.com/agent-lsp/agent-lsp/internal/model/wire"
)

// OllamaWindow is the context window that is asked of Ollama for a model
// whose own is larger, unless the person or the Modelfile says otherwise. A
// larger one costs memory that nobody has agreed to.
const OllamaWindow = 16384

const ollamaPort = "11434"

// OllamaURL makes a URL of what OLLAMA_HOST may hold: host, host:port, :port,
// a URL, or nothing. An address that means "all" to a server is localhost to us.
func OllamaURL(host string) string {
	host = strings.TrimSpace(host)
	scheme, rest, found := strings.Cut(host, "://")
	if !found {
		scheme, rest = "http", host
	}
	authority, path, _ := strings.Cut(rest, "/")
	name, port, err := net.SplitHostPort(authority)
	if err != nil {
		name, port = strings.Trim(authority, "[]"), ""
	}
	if port == "" {
		port = map[string]string{"https": "443", "http": ollamaPort}[scheme]
		if found && scheme == "http" {
			port = "80"
		}
	}
	switch name {
	case "", "0.0.0.0", "::":
		name = "127.0.0.1"
	}
	u := url.URL{Scheme: scheme, Host: net.JoinHostPort(name, port)}
	if path != "" {
		u.Path = "/" + strings.TrimSuffix(path, "/")
	}
	return u.String()
}

// ollamaRequest is the body of POST /api/chat.
type ollamaRequest struct {
	Model    string          `json:"model"`
	Tools    []chatTool      `json:"tools,omitempty"`
	Messages []ollamaMessage `json:"messages"`
	Stream   bool            `json:"stream"`
	Truncate bool            `json:"truncate"` // never drop messages without a word
	Shift    bool            `json:"shift"`    // nor the beginning of a long reply's context
	Options  ollamaOptions   `json:"options"`
}

type ollamaOptions struct {
	NumCtx      int      `json:"num_ctx"`
	NumPredict  int      `json:"num_predict,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
	Seed        *int64   `json:"seed,omitempty"`
}

type ollamaMessage struct {
	Role      string       `json:"role"`
	Content   string       `json:"content"`
	Thinking  string       `json:"thinking,omitempty"`
	Images    []string     `json:"images,omitempty"` // base64
	ToolCalls []ollamaCall `json:"tool_calls,omitempty"`
	ToolName  string       `json:"tool_name,omitempty"`
	CallID    string       `json:"tool_call_id,omitempty"`
}

type ollamaCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int             `json:"index,omitempty"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func (c *Client) ollamaRequest(req model.Request, window int) ollamaRequest {
	out := ollamaRequest{
		Model: req.Model, Tools: chatTools(req.Tools), Messages: make([]ollamaMessage, 0, len(req.Messages)), Stream: true,
		Options: ollamaOptions{NumCtx: window, NumPredict: req.MaxTokens, Temperature: req.Temperature, Seed: req.Seed},
	}
	seen := c.caps(req.Model).Images
	names := map[string]string{} // call id -> tool
	for _, m := range req.Messages {
		sent := ollamaMessage{Role: string(m.Role), Content: m.Text}
		for _, image := range m.Images {
			data, ok := base64Of(image)
			if !ok || !seen {
				sent.Content = strings.TrimPrefix(sent.Content+"\n"+noImages, "\n")
				continue
			}
			sent.Images = append(sent.Images, data)
		}
		switch m.Role {
		case model.RoleAssistant:
			sent.Thinking = m.Reasoning
			for i, call := range m.Calls {
				names[call.ID] = call.Name
				var oc ollamaCall
				oc.ID, oc.Function.Index, oc.Function.Name, oc.Function.Arguments = call.ID, i, call.Name, sentArguments(call)
				sent.ToolCalls = append(sent.ToolCalls, oc)
			}
		case model.RoleTool:
			sent.ToolName, sent.CallID = names[m.CallID], m.CallID
		}
		out.Messages = append(out.Messages, sent)
	}
	return out
}

// base64Of is the data of a data URL.
func base64Of(dataURL string) (data string, ok bool) {
	head, data, found := strings.Cut(dataURL, ",")
	if !found || !strings.HasSuffix(head, ";base64") {
		return "", false
	}
	_, err := base64.StdEncoding.DecodeString(data)
	return data, err == nil
}

// ollamaLine is one line of a streamed reply.
type ollamaLine struct {
	Message struct {
		Content   string       `json:"content"`
		Thinking  string       `json:"thinking"`
		ToolCalls []ollamaCall `json:"tool_calls"`
	} `json:"message"`
	Model      string `json:"model"`
	Done       bool   `json:"done"`
	DoneReason string `json:"done_reason"`
	Prompt     int    `json:"prompt_eval_count"`
	Output     int    `json:"eval_count"`
	wire.Envelope
}

// readLines reads Ollama's stream: one JSON object a line, the last one done.
func (r *reply) readLines(body io.Reader) error {
	limit := r.call.client.server.Limits.Event
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, limit)
	for lines.Scan() {
		data := bytes.TrimSpace(lines.Bytes())
		if len(data) == 0 {
			continue
		}
		r.call.watch.Begin()
		var l ollamaLine
		if err := json.Unmarshal(data, &l); err != nil {
			if data[0] == '{' && !json.Valid(data) {
				return io.ErrUnexpectedEOF // the last line is cut
			}
			return r.call.fail(model.Server, "the server sent what is no reply of Ollama's: "+wire.Shown(data, wire.NonsenseShown), "is OLLAMA_HOST Ollama's address?")
		}
		if l.Present() {
			return r.call.client.server.StreamError(r.call.name, data)
		}
		if err := r.takeLine(l); err != nil {
			return err
		}
		if l.Done {
			return nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return r.tooLong(fmt.Errorf("%w of %d bytes", wire.ErrEventTooLong, limit))
	}
	return lines.Err()
}

func (r *reply) takeLine(l ollamaLine) error {
	text, tagged := r.think.split(l.Message.Content)
	if err := r.reasoning(l.Message.Thinking + tagged); err != nil {
		return err
	}
	if err := r.text(text); err != nil {
		return err
	}
	for _, oc := range l.Message.ToolCalls {
		// Calls come whole. Their numbers are left out: older versions give every call the number 0.
		tc := receivedCall{ID: oc.ID}
		tc.Function.Name, tc.Function.Arguments = oc.Function.Name, oc.Function.Arguments
		if err := r.growCall(tc); err != nil {
			return err
		}
	}
	r.meta["model"] = wire.Shown([]byte(l.Model), wire.NonsenseShown)
	if l.Done {
		r.usage = &usage{Prompt: l.Prompt, Completion: l.Output}
		r.end(cmp.Or(l.DoneReason, "stop"))
	}
	return nil
}

// windows remembers what Ollama said of its models.
type windows struct {
	mu   sync.Mutex
	size map[string]int
}

// window is the num_ctx to send: what is configured, or else what /api/show
// allows. It is never guessed.
func (c *Client) window(ctx context.Context, name string) (int, error) {
	if c.config.Caps != nil {
		if n := c.config.Caps(name).ContextWindow; n > 0 {
			return n, nil
		}
	}
	c.windows.mu.Lock()
	n := c.windows.size[name]
	c.windows.mu.Unlock()
	if n > 0 {
		return n, nil
	}
	found, err := c.show(ctx, name)
	if err != nil {
		return 0, err
	}
	if found.Caps.ContextWindow == 0 {
		return 0, &model.Error{Kind: model.BadRequest, Model: ProviderOllama + "/" + name,
			Message: "Ollama does not say how large the model's context window is", Hint: "set its context window in the settings"}
	}
	c.windows.mu.Lock()
	defer c.windows.mu.Unlock()
	if c.windows.size == nil {
		c.windows.size = map[string]int{}
	}
	c.windows.size[name] = found.Caps.ContextWindow
	return found.Caps.ContextWindow, nil
}
