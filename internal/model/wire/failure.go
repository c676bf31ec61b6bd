package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

// Providers whose failures have hints of their own.
const (
	Ollama   = "ollama"
	LlamaCpp = "llamacpp"
)

// Statuses that net/http has no name for.
const (
	statusCapacity   = 498 // Groq's flex tier
	statusOverloaded = 529
)

// Envelope is an error in any of the shapes that servers have: OpenAI's
// object, a bare string, a flat object (older vLLM), FastAPI's detail.
type Envelope struct {
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
	Message json.RawMessage `json:"message"`
	Detail  json.RawMessage `json:"detail"`
	Type    json.RawMessage `json:"type"`
	Code    json.RawMessage `json:"code"`
}

// Present says whether an event of a stream is an error.
func (w Envelope) Present() bool {
	return w.Object == "error" || len(w.Error) > 0 && !bytes.Equal(w.Error, []byte("null"))
}

// said is what an error's body says.
type said struct {
	message, kind, code string
	failed              string // Groq: the text that was no tool call
}

// parseError reads an error's body; ok is false where it is none of the known shapes.
func parseError(body []byte) (s said, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 { // Gemini wraps it
		body = list[0]
	}
	var w Envelope
	if json.Unmarshal(body, &w) != nil {
		return s, false
	}
	var inner struct {
		Message json.RawMessage `json:"message"`
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
		Failed  json.RawMessage `json:"failed_generation"`
		Details struct {
			Code json.RawMessage `json:"error_code"`
		} `json:"details"` // Anthropic
	}
	if json.Unmarshal(w.Error, &inner) == nil {
		s = said{plain(inner.Message), plain(inner.Type), cmp.Or(plain(inner.Code), plain(inner.Details.Code)), plain(inner.Failed)}
	}
	if s.message == "" {
		s.message = cmp.Or(Text(w.Error), plain(w.Message), plain(w.Detail))
	}
	s.kind = cmp.Or(s.kind, plain(w.Type))
	s.code = cmp.Or(s.code, plain(w.Code))
	return s, s.message != "" || s.code != "" || s.kind != ""
}

// Text is a JSON string; anything else is none.
func Text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s) // anything but a string is no message
	return s
}

// plain is a JSON value as text: strings as they are, null as nothing.
func plain(raw json.RawMessage) string {
	if s := Text(raw); s != "" || len(raw) == 0 || raw[0] == '"' || bytes.Equal(raw, []byte("null")) {
		return s
	}
	return string(raw)
}

// The words by which servers tell what their codes don't.
var (
	saysOverflow = regexp.MustCompile(`(?i)context[ _](length|size|window)|maximum (context|prompt|input|sequence|model) length|max(imum)?[ _]model[ _]len|` +
		`(prompt|input|request|context|conversation|message)s?( is| are| was)? too (long|large)|reduce the length|` +
		`too many (input |prompt )?tokens|input (token|length)[^.]{0,40}exceed|exceed[^.]{0,40}(token limit|input tokens|number of tokens)|` +
		`passed \d+ input tokens|token count[^.]{0,40}exceed|larger than the (maximum )?context`)
	saysQuota     = regexp.MustCompile(`(?i)insufficient[_ ](quota|balance|credits?|funds)|exceeded your current quota|billing|out of credits|spend(ing)?[_ ]limit|payment required|credit balance`)
	saysOverload  = regexp.MustCompile(`(?i)overloaded|over capacity|at capacity|capacity[_ ]exceeded|loading model|server is busy|no healthy upstream`)
	saysNoTools   = regexp.MustCompile(`(?i)does not support tools|tool (use|calling) is not supported|auto.{0,20}tool choice requires`)
	saysNoModel   = regexp.MustCompile(`(?i)model .{0,120}(not found|does not exist|doesn't exist)|model[_ ]not[_ ]found|unknown model|no such model|^model: `)
	saysRateLimit = regexp.MustCompile(`(?i)rate[_ ]limit|too many requests`)
	saysAuth      = regexp.MustCompile(`(?i)(invalid|incorrect)[^.]{0,20}api[_ ]key|api[_ ]key[^.]{0,20}(not valid|invalid)|authentication[_ ]error|unauthorized`)
	saysWait      = regexp.MustCompile(`(?i)(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+|\d+(?:\.\d+)?(?: seconds?)?)`)
)

// Server is which server a client talks to, as far as its failures concern.
type Server struct {
	Provider string
	Host     string // for messages
	Shown    string // the base URL, without a password
	API      string // what is spoken there: "chat-completions"
	APIKey   string // to keep it out of messages
	KeyName  string // what the person sets to give one
	Limits   Limits
}

// Fail is a failure in our own words.
func (s *Server) Fail(name string, kind model.Kind, message, hint string) *model.Error {
	return &model.Error{Kind: kind, Model: name, Message: s.Redact(message), Hint: hint}
}

// HTTPError is what an answer with another status than 200 means.
func (s *Server) HTTPError(name string, status int, header http.Header, body []byte) *model.Error {
	w, known := parseError(body)
	if !known {
		w.message = notJSON(status, header, body)
	}
	e := &model.Error{Model: name, Status: status}
	e.Kind = kindOf(status, w, known)
	e.Message = s.Redact(fmt.Sprintf("HTTP %d: %s", status, Shown([]byte(cmp.Or(w.message, w.code, w.kind)), messageShown)))
	if w.failed != "" {
		e.Message += s.Redact("; it wrote: " + Shown([]byte(w.failed), NonsenseShown))
	}
	if e.Kind == model.RateLimited || e.Kind == model.Overloaded || e.Kind == model.Server {
		e.RetryAfter = min(retryAfter(header, w.message, time.Now()), s.Limits.RetryAfter)
	}
	e.Hint = s.hint(e, w, name)
	return e
}

// StreamError is what an error event within a stream means.
func (s *Server) StreamError(name string, body []byte) *model.Error {
	w, _ := parseError(body)
	status, _ := strconv.Atoi(w.code) // servers that put the status there
	e := s.HTTPError(name, status, http.Header{}, body)
	if status == 0 && (e.Kind == model.BadRequest || e.Kind == model.NotFound) {
		e.Kind = model.Server // the request was good enough to begin an answer
	}
	e.Message = strings.Replace(e.Message, "HTTP 0: ", "the server broke the reply off: ", 1)
	e.Hint = s.hint(e, w, name)
	return e
}

// kindOf classifies by what the body says where that is precise, then by status.
func kindOf(status int, s said, known bool) model.Kind {
	all := s.kind + " " + s.code + " " + s.message
	switch {
	case s.code == "tool_use_failed":
		return model.Server // the model wrote a broken call: it may do better the next time
	case status == http.StatusRequestEntityTooLarge,
		s.code == "context_length_exceeded", s.kind == "exceed_context_size_error",
		status != http.StatusTooManyRequests && status != http.StatusUnauthorized && saysOverflow.MatchString(all):
		return model.Overflow
	case status == http.StatusPaymentRequired, saysQuota.MatchString(all) && status != http.StatusUnauthorized:
		return model.Quota
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status < 500 && status != http.StatusTooManyRequests && saysAuth.MatchString(all):
		return model.Auth
	case status == http.StatusTooManyRequests, status == 0 && saysRateLimit.MatchString(all):
		return model.RateLimited
	case status == http.StatusServiceUnavailable, status == statusOverloaded, status == statusCapacity, saysOverload.MatchString(all):
		return model.Overloaded
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, status >= 300 && status < 400,
		known && saysNoModel.MatchString(all):
		return model.NotFound
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status == 0:
		return model.Server
	}
	return model.BadRequest
}

// notJSON describes a body that is no error of an API: a proxy's page, a
// redirect, nothing.
func notJSON(status int, header http.Header, body []byte) string {
	if to := header.Get("Location"); status >= 300 && status < 400 && to != "" {
		return "the server redirects elsewhere, which is not followed"
	}
	if strings.Contains(header.Get("Content-Type"), "html") || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")) {
		return cmp.Or(http.StatusText(status), "an error") + " (the answer is a web page)"
	}
	return cmp.Or(Shown(body, messageShown), http.StatusText(status), "an error without a word")
}

// hint says what the person can do.
func (s *Server) hint(e *model.Error, w said, name string) string {
	switch e.Kind {
	case model.Auth:
		key := cmp.Or(s.KeyName, "the provider's API key")
		if s.APIKey == "" {
			return "no key is set: set " + key
		}
		if e.Status == http.StatusForbidden {
			return "the key is known, but may not do this: check its permissions, or the region"
		}
		return "the key is refused: set " + key + " to a valid one"
	case model.NotFound:
		if s.Provider == Ollama {
			return "run `ollama pull " + strings.TrimPrefix(name, Ollama+"/") + "`, or choose another model with /model"
		}
		if saysNoModel.MatchString(w.message + " " + w.code) {
			return "choose another model with /model"
		}
		return "is " + s.Shown + " the base URL of a " + s.API + " API, and has it this model?"
	case model.RateLimited, model.Overloaded, model.Server:
		if e.RetryAfter > 0 {
			return "try again in " + e.RetryAfter.Round(time.Second/10).String()
		}
		return "try again in a moment"
	case model.Quota:
		return "waiting does not help: add credit at the provider, or choose another model with /model"
	case model.Overflow:
		return "the context must become smaller: /compact, or a model with a larger context window"
	case model.BadRequest:
		if saysNoTools.MatchString(w.message) {
			return "this model cannot call tools: choose one that can with /model"
		}
		return "check the model's settings, or choose another model with /model"
	}
	return ""
}

// retryAfter is how long the server asks to wait; 0 where it doesn't say.
func retryAfter(header http.Header, message string, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	if v := strings.TrimSpace(header.Get("Retry-After")); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
			return seconds(s)
		}
		if at, err := http.ParseTime(v); err == nil && at.After(now) {
			return at.Sub(now)
		}
	}
	var longest time.Duration
	for _, what := range []string{"Requests", "Tokens"} {
		if header.Get("X-Ratelimit-Remaining-"+what) != "0" {
			continue
		}
		if d, err := time.ParseDuration(header.Get("X-Ratelimit-Reset-" + what)); err == nil {
			longest = max(longest, d)
		}
	}
	for _, what := range []string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"} {
		if header.Get("Anthropic-Ratelimit-"+what+"-Remaining") != "0" {
			continue
		}
		if at, err := time.Parse(time.RFC3339, header.Get("Anthropic-Ratelimit-"+what+"-Reset")); err == nil && at.After(now) {
			longest = max(longest, at.Sub(now))
		}
	}
	if longest > 0 {
		return longest
	}
	if m := saysWait.FindStringSubmatch(message); m != nil {
		if d, err := time.ParseDuration(m[1]); err == nil {
			return max(d, 0)
		}
		if s, err := strconv.ParseFloat(strings.Fields(m[1])[0], 64); err == nil {
			return seconds(s)
		}
	}
	return 0
}

// seconds is a duration, without overflow.
func seconds(s float64) time.Duration {
	const most = 1e6
	return time.Duration(min(s, most) * float64(time.Second))
}

// Broken is what a failed connection means: before the first event the network
// failed, after it the reply is cut off. answered says whether there was a
// response at all. The parent's own end is given back as it is.
func (s *Server) Broken(name string, parent, ctx context.Context, err error, answered, begun bool) error {
	if parent.Err() != nil {
		return parent.Err()
	}
	if errors.Is(context.Cause(ctx), ErrStalled) {
		limit := s.Limits.FirstToken
		if answered && begun {
			limit = s.Limits.Idle
		}
		return s.Fail(name, model.Stalled, fmt.Sprintf("%s sent nothing for %v", s.Host, limit), "it is busy, or hangs: try again, or another model with /model")
	}
	if answered && begun {
		return s.Fail(name, model.CutOff, "the connection broke in the middle of the reply: "+reason(err), KeptHint)
	}
	return s.Fail(name, model.Network, "cannot reach "+s.Host+": "+reason(err), s.reachHint(err))
}

// KeptHint is what to know where a reply broke in its middle.
const KeptHint = "what came so far is kept; ask again for the rest"

// reason is the innermost words of a network error, without the URL.
func reason(err error) string {
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the connection was closed"
	case errors.As(err, &dns):
		return "no such host"
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return "no connection within the time limit"
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return Shown([]byte(err.Error()), messageShown)
}

func (s *Server) reachHint(err error) string {
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return "check the network, the proxy settings and base_url"
	}
	switch s.Provider {
	case Ollama:
		return "is Ollama running? start it with `ollama serve`"
	case LlamaCpp:
		return "is llama-server running?"
	}
	return "is the server running, and is base_url right?"
}

// keyLike is what looks like a key in a server's words.
var keyLike = regexp.MustCompile(`\b(sk|gsk|pk|key|xai|hf)[-_][A-Za-z0-9_*.-]{6,}|(?i:bearer) +[^ ,;"']+`)

// Redact takes the key, and whatever looks like one, out of a message.
func (s *Server) Redact(text string) string {
	const hidden = "[key]"
	if s.APIKey != "" {
		text = strings.ReplaceAll(text, s.APIKey, hidden)
	}
	return keyLike.ReplaceAllString(text, hidden)
}
