package frame

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Limits of a message.
const (
	Max       = 64 << 20 // bytes of one message
	HeaderMax = 64 << 10 // bytes of one header block

	readBuffer  = 64 << 10 // of the reader below
	keepBuffer  = 4 << 20  // a buffer grown beyond this is given back
	growStep    = 1 << 20  // a body is read in steps: its announced length alone allocates nothing
	idScanBytes = 16 << 10 // how far into a message that is passed over its id is looked for
)

// ErrBrokenHeader ends a connection: where a header can't be read, the begin
// of the next message can't be known either.
var ErrBrokenHeader = errors.New("broken header: the stream can't be read any further")

// TooLong is a message that was passed over; what follows can be read.
type TooLong struct {
	Length, Limit int
	ID            json.RawMessage // nil if it has none, or none near its begin
}

func (e *TooLong) Error() string {
	return fmt.Sprintf("the message has %d bytes, more than the %d that are taken", e.Length, e.Limit)
}

// Reader reads messages. It belongs to one goroutine.
type Reader struct {
	in   *bufio.Reader
	body []byte
}

// NewReader reads from in; what in has buffered already comes first.
func NewReader(in io.Reader) *Reader { return &Reader{in: bufio.NewReaderSize(in, readBuffer)} }

// Next returns the next message, valid until the next call, and how many bytes
// it took with its header. A message over the limit gives a *TooLong, a header
// that can't be read ErrBrokenHeader, a clean end io.EOF.
func (r *Reader) Next(limit int) (body []byte, size int, err error) {
	length, header, err := r.readHeader()
	if err != nil {
		return nil, 0, err
	}
	if length > limit {
		return nil, 0, r.skip(length, limit)
	}
	body, err = r.readBody(length)
	return body, header + length, err
}

// readHeader reads one header block and returns the announced length and its own.
func (r *Reader) readHeader() (length, size int, err error) {
	length = -1
	for {
		line, err := r.in.ReadSlice('\n')
		size += len(line)
		switch {
		case err == bufio.ErrBufferFull || size > HeaderMax:
			return 0, size, fmt.Errorf("%w: it is longer than %d bytes", ErrBrokenHeader, HeaderMax)
		case err == io.EOF && size == 0:
			return 0, 0, io.EOF
		case err == io.EOF:
			return 0, size, fmt.Errorf("%w: the input ends in the middle of it", ErrBrokenHeader)
		case err != nil:
			return 0, size, err
		}
		field := strings.TrimRight(string(line), "\r\n")
		if field == "" {
			if length < 0 {
				return 0, size, fmt.Errorf("%w: it has no Content-Length", ErrBrokenHeader)
			}
			return length, size, nil
		}
		name, value, ok := strings.Cut(field, ":")
		if !ok || !isFieldName(name) {
			return 0, size, fmt.Errorf("%w: %.40q is no header field", ErrBrokenHeader, field)
		}
		if !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil || n < 0 || length >= 0 && length != n {
			return 0, size, fmt.Errorf("%w: Content-Length %.40q is no length", ErrBrokenHeader, strings.TrimSpace(value))
		}
		length = n
	}
}

// isFieldName tells a header field from whatever else a peer may have printed.
func isFieldName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// readBody reads length bytes into a buffer that grows as they come.
func (r *Reader) readBody(length int) ([]byte, error) {
	if cap(r.body) > keepBuffer && length < growStep {
		r.body = nil
	}
	r.body = r.body[:0]
	for len(r.body) < length {
		from := len(r.body)
		step := min(length-from, max(growStep, from))
		if cap(r.body) < from+step {
			r.body = append(make([]byte, 0, from+step), r.body...)
		}
		r.body = r.body[:from+step]
		if _, err := io.ReadFull(r.in, r.body[from:]); err != nil {
			return nil, fmt.Errorf("the input ends in the middle of a message of %d bytes: %w", length, io.ErrUnexpectedEOF)
		}
	}
	return r.body, nil
}

// skip passes over a message that is too long.
func (r *Reader) skip(length, limit int) error {
	head := make([]byte, min(length, idScanBytes))
	if _, err := io.ReadFull(r.in, head); err != nil {
		return fmt.Errorf("the input ends in the middle of a message of %d bytes: %w", length, io.ErrUnexpectedEOF)
	}
	if _, err := io.CopyN(io.Discard, r.in, int64(length-len(head))); err != nil {
		return fmt.Errorf("the input ends in the middle of a message of %d bytes: %w", length, io.ErrUnexpectedEOF)
	}
	id, _ := ScanID(head)
	return &TooLong{Length: length, Limit: limit, ID: id}
}

// ScanID looks for the members id and method of a message of which only the
// begin may be there.
func ScanID(body []byte) (id json.RawMessage, method bool) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return id, method
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return id, method
		}
		switch key {
		case "id":
			if len(value) > 0 && value[0] != '{' && value[0] != '[' {
				id = value
			}
		case "method":
			method = true
		}
	}
	return id, method
}
