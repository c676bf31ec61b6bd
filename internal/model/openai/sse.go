package openai

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// event is one server-sent event: its data lines joined, and its name if it has one.
type event struct {
	name string
	data []byte
}

// eventReader reads a text/event-stream as the HTML standard describes it,
// with two allowances: a stream that ends right after a complete data line
// without an empty line still gives that event, and so does one that ends with
// "data: [DONE]" without a line end.
type eventReader struct {
	lines *bufio.Reader
	limit int // bytes of one event
	first bool
}

var (
	errEventTooLong = errors.New("an event is longer than the limit")
	byteOrderMark   = []byte("\xef\xbb\xbf")
	doneMark        = []byte("[DONE]")
)

func newEventReader(r io.Reader, limit int) *eventReader {
	return &eventReader{lines: bufio.NewReader(r), limit: limit, first: true}
}

// next is the next event that has data. io.EOF is the end of the stream, and
// io.ErrUnexpectedEOF an end inside an event.
func (r *eventReader) next() (event, error) {
	var e event
	some, size := false, 0
	for {
		line, err := r.line(r.limit - size)
		complete := err == nil
		if err != nil && !errors.Is(err, io.EOF) {
			return event{}, err
		}
		size += len(line)
		if len(line) == 0 && complete {
			if some {
				return e, nil
			}
			e.name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		if complete || bytes.Equal(value, doneMark) {
			switch string(field) {
			case "data":
				if some {
					e.data = append(e.data, '\n')
				}
				e.data = append(e.data, value...)
				some = true
			case "event":
				e.name = string(value)
			}
		}
		switch {
		case complete:
		case some && (len(line) == 0 || bytes.Equal(value, doneMark)):
			return e, nil
		case some || len(line) > 0:
			return event{}, io.ErrUnexpectedEOF
		default:
			return event{}, io.EOF
		}
	}
}

// line reads up to a line end, LF or CRLF, without it. With io.EOF comes what
// there was after the last one.
func (r *eventReader) line(limit int) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.lines.ReadSlice('\n')
		line = append(line, piece...)
		if len(line) > limit {
			return nil, fmt.Errorf("%w of %d bytes", errEventTooLong, r.limit)
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
