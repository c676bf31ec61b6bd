package share

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/frame"
)

// message is what a relay needs to know of one.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	body   []byte
}

func (m message) isRequest() bool { return m.Method != "" && len(m.ID) > 0 }
func (m message) isAnswer() bool  { return m.Method == "" && len(m.ID) > 0 }

// ReadFrame reads the next message that is not too long; it is the caller's.
// tooLong, which may be nil, hears of the others.
func ReadFrame(r *frame.Reader, tooLong func(*frame.TooLong)) ([]byte, error) {
	for {
		body, _, err := r.Next(frame.Max)
		if long := (*frame.TooLong)(nil); errors.As(err, &long) {
			if tooLong != nil {
				tooLong(long)
			}
			continue
		}
		return bytes.Clone(body), err
	}
}

// parse reads what a relay needs; a message that is no object is passed on as it is.
func parse(body []byte) message {
	m := message{}
	if json.Unmarshal(body, &m) != nil {
		m = message{}
	}
	if string(m.ID) == "null" {
		m.ID = nil
	}
	m.body = body
	return m
}

// sink writes messages whole, one after the other.
type sink struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sink) send(body []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
	return err
}

// withID is a message with another id.
func withID(body []byte, id json.RawMessage) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return body
	}
	fields["id"] = id
	out, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return out
}
