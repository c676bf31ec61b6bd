package wire

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model"
)

func TestArguments(t *testing.T) {
	for raw, want := range map[string]struct{ args, invalid string }{
		`{"path":"a"}`:             {`{"path":"a"}`, ""},
		" {\"n\": 1} \n":           {`{"n": 1}`, ""},
		``:                         {`{}`, ""},
		`null`:                     {`{}`, ""},
		`"{\"path\": \"a\"}"`:      {`{"path": "a"}`, ""},
		`[1]`:                      {`"[1]"`, "the arguments are not a JSON object"},
		`"words"`:                  {`"\"words\""`, "the arguments are not valid JSON: invalid character 'w' looking for beginning of value"},
		`3`:                        {`"3"`, "the arguments are not a JSON object"},
		`{"path":"a"`:              {`"{\"path\":\"a\""`, "the arguments are not valid JSON: unexpected end of JSON input"},
		`{"path":"a"}{"path":"b"}`: {`"{\"path\":\"a\"}{\"path\":\"b\"}"`, "the arguments are not valid JSON: invalid character '{' after top-level value"},
		"{\"a\":\"\x00\"}":         {`"{\"a\":\"\u0000\"}"`, `the arguments are not valid JSON: invalid character '\x00' in string literal`},
	} {
		args, invalid := Object(raw)
		if string(args) != want.args || invalid != want.invalid {
			t.Errorf("Object(%q) = %s, %q; want %s, %q", raw, args, invalid, want.args, want.invalid)
		}
	}
}

// A quota that waiting doesn't refill is no rate limit, whatever the status says.
func TestSpendLimit(t *testing.T) {
	s := &Server{Provider: "anthropic", Limits: DefaultLimits()}
	e := s.HTTPError("anthropic/x", 429, http.Header{}, []byte(`{"type":"error","error":{"type":"rate_limit_error","message":"stopped","details":{"error_code":"enforced_spend_limit_reached"}}}`))
	if e.Kind != model.Quota || e.Retriable() || !strings.Contains(e.Hint, "credit") {
		t.Errorf("%+v", e)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	h := func(pairs ...string) http.Header {
		header := http.Header{}
		for pair := range slices.Chunk(pairs, 2) {
			header.Set(pair[0], pair[1])
		}
		return header
	}
	for _, c := range []struct {
		header  http.Header
		message string
		want    time.Duration
	}{
		{h(), "", 0},
		{h("Retry-After", "3"), "", 3 * time.Second},
		{h("Retry-After", "0.5"), "", time.Second / 2},
		{h("Retry-After", "-3"), "", 0},
		{h("Retry-After", "1e300"), "", 1e6 * time.Second},
		{h("Retry-After", "NaN"), "", 0},
		{h("Retry-After", "soon"), "", 0},
		{h("Retry-After", "Sat, 21 Nov 2026 12:00:09 GMT"), "", 9 * time.Second},
		{h("X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "1m2s"), "", 62 * time.Second},
		{h("X-Ratelimit-Remaining-Tokens", "5", "X-Ratelimit-Reset-Tokens", "1m2s"), "", 0},
		{h("Anthropic-Ratelimit-Input-Tokens-Remaining", "0", "Anthropic-Ratelimit-Input-Tokens-Reset", "2026-11-21T12:00:07Z"), "", 7 * time.Second},
		{h("Anthropic-Ratelimit-Requests-Remaining", "4", "Anthropic-Ratelimit-Requests-Reset", "2026-11-21T12:00:07Z"), "", 0},
		{h(), "Please try again in 1m3.5s.", 63500 * time.Millisecond},
		{h(), "try again in 20ms", 20 * time.Millisecond},
		{h(), "Please retry after 6 seconds.", 6 * time.Second},
	} {
		if got := retryAfter(c.header, c.message, now); got != c.want {
			t.Errorf("retryAfter(%v, %q) = %v, want %v", c.header, c.message, got, c.want)
		}
	}
}

func FuzzError(f *testing.F) {
	f.Add(429, []byte(`{"error":{"message":"slow","code":"rate_limit_exceeded"}}`), "3")
	f.Add(400, []byte(`[{"error":"text"}]`), "")
	f.Fuzz(func(t *testing.T, status int, body []byte, wait string) {
		c := &Server{Provider: "other", APIKey: "sk-fuzz-canary", Limits: DefaultLimits()}
		e := c.HTTPError("other/m", status, http.Header{"Retry-After": {wait}}, append(body, "sk-fuzz-canary"...))
		if e.Kind == "" || e.Message == "" || e.Hint == "" || e.RetryAfter < 0 || e.RetryAfter > c.Limits.RetryAfter {
			t.Fatalf("%+v", e)
		}
		if strings.Contains(e.Error(), "sk-fuzz-canary") || len(e.Message) > 4*messageShown {
			t.Fatalf("message %q", e.Message)
		}
	})
}
