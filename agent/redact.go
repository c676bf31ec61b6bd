package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/cycle"
)

// Redacted stands where a secret was.
const Redacted = "[REDACTED]"

// secretBytesMin is how long a named secret must be: shorter ones would be
// found everywhere.
const secretBytesMin = 6

// secretShapes is what keys look like, whoever made them.
var secretShapes = regexp.MustCompile(strings.Join([]string{
	`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)`,
	`\bsk-[A-Za-z0-9_-]{16,}`,                                         // OpenAI, Anthropic and who copies them
	`\bgsk_[A-Za-z0-9]{20,}`,                                          // Groq
	`\bgh[pousr]_[A-Za-z0-9]{20,}`,                                    // GitHub
	`\bgithub_pat_[A-Za-z0-9_]{20,}`,                                  //
	`\bglpat-[A-Za-z0-9_-]{16,}`,                                      // GitLab
	`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,                                   // AWS
	`\bAIza[A-Za-z0-9_-]{30,}`,                                        // Google
	`\bxox[abeprs]-[A-Za-z0-9-]{10,}`,                                 // Slack
	`\bhf_[A-Za-z0-9]{20,}`,                                           // Hugging Face
	`\bnpm_[A-Za-z0-9]{30,}`,                                          // npm
	`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, // JSON web token
	`(?i)\b(?:authorization: *)?bearer +[A-Za-z0-9._~+/-]{16,}=*`,
	`://[^\s/:@"']+:[^\s/:@"']+@`, // a password in a URL
}, "|"))

// redactor takes secrets out of texts.
type redactor struct {
	known *regexp.Regexp // nil: none
	count int
}

// newRedactor knows the given secrets, as they are and as JSON writes them.
func newRedactor(secrets []string) *redactor {
	var list []string
	for _, s := range secrets {
		if len(s) < secretBytesMin {
			continue
		}
		list = append(list, s)
		if body, err := json.Marshal(s); err == nil {
			list = append(list, string(body[1:len(body)-1]))
		}
	}
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) }) // the longest first, so that none is left in part
	list = slices.Compact(list)
	if len(list) == 0 {
		return &redactor{}
	}
	for i := range list {
		list[i] = regexp.QuoteMeta(list[i])
	}
	return &redactor{known: regexp.MustCompile(strings.Join(list, "|"))}
}

func (r *redactor) text(s string) string {
	for _, x := range []*regexp.Regexp{r.known, secretShapes} {
		if x == nil {
			continue
		}
		s = x.ReplaceAllStringFunc(s, func(found string) string {
			if strings.HasPrefix(found, "://") {
				if strings.Contains(found, Redacted) {
					return found
				}
				r.count++
				return "://" + Redacted + "@"
			}
			r.count++
			return Redacted
		})
	}
	return s
}

// json takes secrets out of every string of a JSON text and leaves all else,
// to the byte, as it is.
func (r *redactor) json(data []byte) ([]byte, error) {
	var out bytes.Buffer
	for len(data) > 0 {
		start := bytes.IndexByte(data, '"')
		if start < 0 {
			break
		}
		end := start + 1
		for end < len(data) && data[end] != '"' {
			if data[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(data) {
			return nil, fmt.Errorf("a string without an end")
		}
		out.Write(data[:start])
		literal := data[start : end+1]
		data = data[end+1:]
		var s string
		if err := json.Unmarshal(literal, &s); err != nil {
			return nil, err
		}
		if now := r.text(s); now != s {
			body, err := plainJSON(now)
			if err != nil {
				return nil, err
			}
			literal = body
		}
		out.Write(literal)
	}
	out.Write(data)
	return out.Bytes(), nil
}

// redact is a recording without secrets.
func redact(rec *Recording, secrets []string) (*Recording, error) {
	r := newRedactor(secrets)
	for _, list := range []*[]json.RawMessage{&rec.History, &rec.Events} {
		events, err := decodeEvents(*list)
		if err != nil {
			return nil, err
		}
		if *list, err = encodeEvents(r.joined(events)); err != nil {
			return nil, err
		}
	}
	for i := range rec.Edits { // a state has the lengths of its texts in it: it is whole, or it isn't there
		x := &rec.Edits[i]
		if r.text(x.Pre) != x.Pre || r.text(x.Post) != x.Post || !utf8.ValidString(x.Pre) || !utf8.ValidString(x.Post) {
			x.Pre, x.Post = "", ""
		}
	}
	body, err := plainJSON(rec)
	if err != nil {
		return nil, err
	}
	if body, err = r.json(body); err != nil {
		return nil, err
	}
	out, err := ReadRecording(body)
	if err != nil {
		return nil, err
	}
	out.Redacted = r.count
	return out, nil
}

// joined puts the pieces of a streamed text that hold a secret between them
// into the first of them.
func (r *redactor) joined(list []cycle.Event) []cycle.Event {
	whole, apart := map[string]string{}, map[string]string{}
	quiet := &redactor{known: r.known}
	for _, e := range list {
		if o, ok := e.(cycle.AgentOutput); ok && o.Output != cycle.OutputToolCall {
			whole[o.ID] += o.Text
			apart[o.ID] += quiet.text(o.Text)
		}
	}
	out := make([]cycle.Event, 0, len(list))
	put := map[string]bool{}
	for _, e := range list {
		o, ok := e.(cycle.AgentOutput)
		if !ok || o.Output == cycle.OutputToolCall || quiet.text(whole[o.ID]) == apart[o.ID] {
			out = append(out, e)
			continue
		}
		if !put[o.ID] {
			put[o.ID] = true
			o.Text = r.text(whole[o.ID])
			out = append(out, o)
		}
	}
	return out
}
