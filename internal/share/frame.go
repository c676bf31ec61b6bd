package share

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"sync"
)

// frameMax bounds one message, as the server itself does.
const frameMax = 64 << 20

var errFrame = errors.New("the message's header can't be read")

// message is what a relay needs to know of one.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	body   []byte
}

func (m message) isRequest() bool { return m.Method != "" && len(m.ID) > 0 }
func (m message) isAnswer() bool  { return m.Method == "" && len(m.ID) > 0 }

// ReadFrame reads one message's bytes.
func ReadFrame(r *bufio.Reader) ([]byte, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err // a clean end is io.EOF
	}
	head, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	n, err := strconv.Atoi(head.Get("Content-Length"))
	if err != nil || n < 0 || n > frameMax {
		return nil, fmt.Errorf("%w: Content-Length %q", errFrame, head.Get("Content-Length"))
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("the input ends in the middle of a message: %w", io.ErrUnexpectedEOF)
	}
	return body, nil
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
