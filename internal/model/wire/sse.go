package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Event is one server-sent event: its data lines joined, and its name if it has one.
type Event struct {
	Name string
	Data []byte
}

// EventReader reads a text/event-stream as the HTML standard describes it,
// with two allowances: a stream that ends right after a complete data line
// without an empty line still gives that event, and so does one that ends with
// "data: [DONE]" without a line end.
type EventReader struct {
	lines *bufio.Reader
	limit int // bytes of one event
	first bool
}

// ErrEventTooLong is what [EventReader.Next] and its like fail with.
var ErrEventTooLong = errors.New("an event is longer than the limit")

// DoneMark is the data of a chat completion's last event.
var DoneMark = []byte("[DONE]")

var byteOrderMark = []byte("\xef\xbb\xbf")

// NewEventReader reads r, no event of which may have more bytes than limit.
func NewEventReader(r io.Reader, limit int) *EventReader {
	return &EventReader{lines: bufio.NewReader(r), limit: limit, first: true}
}

// Next is the next event that has data. io.EOF is the end of the stream, and
// io.ErrUnexpectedEOF an end inside an event.
func (r *EventReader) Next() (Event, error) {
	var e Event
	some, size := false, 0
	for {
		line, err := r.line(r.limit - size)
		complete := err == nil
		if err != nil && !errors.Is(err, io.EOF) {
			return Event{}, err
		}
		size += len(line)
		if len(line) == 0 && complete {
			if some {
				return e, nil
			}
			e.Name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		if complete || bytes.Equal(value, DoneMark) {
			switch string(field) {
			case "data":
				if some {
					e.Data = append(e.Data, '\n')
				}
				e.Data = append(e.Data, value...)
				some = true
			case "event":
				e.Name = string(value)
			}
		}
		switch {
		case complete:
		case some && (len(line) == 0 || bytes.Equal(value, DoneMark)):
			return e, nil
		case some || len(line) > 0:
			return Event{}, io.ErrUnexpectedEOF
		default:
			return Event{}, io.EOF
		}
	}
}

// line reads up to a line end, LF or CRLF, without it. With io.EOF comes what
// there was after the last one.
func (r *EventReader) line(limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.lines.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > limit {
			return nil, fmt.Errorf("%w of %d bytes", ErrEventTooLong, r.limit)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if r.first {
			line, r.first = bytes.TrimPrefix(line, byteOrderMark), false
		}
		if err != nil {
			return line, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
