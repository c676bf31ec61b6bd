package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"
)

// Limits of the framing.
const (
	MaxFrame  = 64 << 20 // bytes of one message, in either direction
	MaxHeader = 64 << 10 // bytes of one header block

	readBuffer  = 64 << 10 // of the reader below the framing
	keepBuffer  = 4 << 20  // a buffer grown beyond this is given back
	growStep    = 1 << 20  // a body is read in steps: its announced length alone allocates nothing
	idScanBytes = 16 << 10 // how far into a refused message its id is looked for
)

// ErrBrokenHeader ends a connection: where a header can't be read, the begin
// of the next message can't be known either.
var ErrBrokenHeader = errors.New("broken header: the stream can't be read any further")

// stream is the base protocol: messages behind a Content-Length. A message
// that can't be used is answered here and skipped, so that only a broken
// header, or the end of the input, ends the reading.
//
// Reading belongs to one goroutine; writing is safe for many, and each
// message goes out whole.
type stream struct {
	conn  io.ReadWriteCloser
	in    *bufio.Reader
	body  []byte
	limit int

	ended chan struct{} // closed when reading has ended
	cause error         // why; set before ended is closed; io.EOF is the clean end

	mu    sync.Mutex // guards all below, and writing
	out   []byte
	after map[jsonrpc2.ID]func() // what waits for the response with that id

	late lateAnswers
}

func newStream(conn io.ReadWriteCloser) *stream {
	return &stream{
		conn: conn, in: bufio.NewReaderSize(conn, readBuffer), limit: MaxFrame,
		ended: make(chan struct{}), after: map[jsonrpc2.ID]func(){},
	}
}

// ReadFrame returns the next usable message; it is valid until the next call.
func (s *stream) ReadFrame(ctx context.Context) ([]byte, int64, error) {
	body, n, err := s.readFrame(ctx)
	if err != nil {
		s.cause = err
		close(s.ended)
	}
	return body, n, err
}

func (s *stream) readFrame(ctx context.Context) ([]byte, int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		length, header, err := s.readHeader()
		if err != nil {
			return nil, 0, err
		}
		if length > s.limit {
			if err := s.skip(length); err != nil {
				return nil, 0, err
			}
			continue
		}
		body, err := s.readBody(length)
		if err != nil {
			return nil, 0, err
		}
		if body = s.usable(body); body != nil {
			return body, int64(header + length), nil
		}
	}
}

// readHeader reads one header block and returns the announced length and its own.
func (s *stream) readHeader() (length, size int, err error) {
	length = -1
	for {
		line, err := s.in.ReadSlice('\n')
		size += len(line)
		switch {
		case err == bufio.ErrBufferFull || size > MaxHeader:
			return 0, size, fmt.Errorf("%w: it is longer than %d bytes", ErrBrokenHeader, MaxHeader)
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
func (s *stream) readBody(length int) ([]byte, error) {
	if cap(s.body) > keepBuffer && length < growStep {
		s.body = nil
	}
	s.body = s.body[:0]
	for len(s.body) < length {
		from := len(s.body)
		step := min(length-from, max(growStep, from))
		if cap(s.body) < from+step {
			s.body = append(make([]byte, 0, from+step), s.body...)
		}
		s.body = s.body[:from+step]
		if _, err := io.ReadFull(s.in, s.body[from:]); err != nil {
			return nil, fmt.Errorf("the input ends in the middle of a message of %d bytes: %w", length, io.ErrUnexpectedEOF)
		}
	}
	return s.body, nil
}

// skip passes over a message that is too long and tells the sender.
func (s *stream) skip(length int) error {
	head := make([]byte, min(length, idScanBytes))
	if _, err := io.ReadFull(s.in, head); err != nil {
		return fmt.Errorf("the input ends in the middle of a message of %d bytes: %w", length, io.ErrUnexpectedEOF)
	}
	if _, err := io.CopyN(io.Discard, s.in, int64(length-len(head))); err != nil {
		return fmt.Errorf("the input ends in the middle of a message of %d bytes: %w", length, io.ErrUnexpectedEOF)
	}
	id, _ := scanID(head)
	s.refuse(id, jsonrpc2.InvalidRequest,
		fmt.Sprintf("the message has %d bytes, more than the %d that are taken", length, s.limit),
		"send less at once")
	return nil
}

// usable returns the message if the connection can take it. One that it can't
// take is answered, and nil returned; a response without a result is mended,
// for some clients leave a null result out and a call waits for it.
func (s *stream) usable(body []byte) []byte {
	if !json.Valid(body) {
		id, _ := scanID(body[:min(len(body), idScanBytes)])
		s.refuse(id, jsonrpc2.ParseError, "the message is no valid JSON", "")
		return nil
	}
	if bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("[")) {
		return body // a batch: its members are judged one by one
	}
	if m, err := jsonrpc2.DecodeMessage(body); err == nil {
		if r, ok := m.(*jsonrpc2.Response); ok {
			s.late.heard(r)
		}
		return body
	}
	id, method := scanID(body)
	if method || id == nil || string(id) == "null" {
		s.refuse(id, jsonrpc2.InvalidRequest, "the message is no JSON-RPC 2.0 request, notification or response", "")
		return nil
	}
	mended := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":null}`, id)
	if _, err := jsonrpc2.DecodeMessage(mended); err != nil {
		return nil // an id that we never gave
	}
	return mended
}

// scanID looks for the members id and method of a message of which only the
// begin may be there.
func scanID(body []byte) (id json.RawMessage, method bool) {
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

// refuse answers a message that the connection never sees.
func (s *stream) refuse(id json.RawMessage, code jsonrpc2.Code, message, hint string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, _ := json.Marshal(message) // a string always marshals
	data := errorData("bad_request", hint, false)
	_, _ = s.writeFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s,"data":%s}}`, id, code, text, data))
}

// Read returns the next usable message, decoded.
func (s *stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	body, n, err := s.ReadFrame(ctx)
	if err != nil {
		return nil, 0, err
	}
	m, err := jsonrpc2.DecodeMessage(body)
	return m, n, err
}

// Write sends one message.
func (s *stream) Write(ctx context.Context, m jsonrpc2.Message) (int64, error) {
	data, err := jsonrpc2.EncodeMessage(m)
	if err != nil {
		return 0, err
	}
	return s.WriteFrame(ctx, data)
}

// WriteFrame sends one encoded message, or the answers to a batch. A response
// that is too long is replaced by an error.
func (s *stream) WriteFrame(_ context.Context, data []byte) (int64, error) {
	if len(data) > s.limit {
		if data = tooLong(data, s.limit); data == nil {
			return 0, nil
		}
	}
	n, err := s.writeFrame(data)
	s.written(data)
	return n, err
}

// tooLong is what goes out in place of a message over the limit: an error for
// a response, nothing for the rest.
func tooLong(data []byte, limit int) []byte {
	id, method := scanID(data)
	if method || id == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"the result has %d bytes, more than the %d that a message may have","data":%s}}`,
		id, codeRequestFailed, len(data), limit, errorData("bad_request", "ask for less at once", false))
}

// writeFrame sends data behind its header with one Write.
func (s *stream) writeFrame(data []byte) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out = append(fmt.Appendf(s.out[:0], "Content-Length: %d\r\n\r\n", len(data)), data...)
	n, err := s.conn.Write(s.out)
	if cap(s.out) > keepBuffer {
		s.out = nil
	}
	return int64(n), err
}

// afterReply has f run, on a goroutine of its own, once the response to id is out.
func (s *stream) afterReply(id jsonrpc2.ID, f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after[id] = f
}

// written runs what waited for the response in data.
func (s *stream) written(data []byte) {
	s.mu.Lock()
	waiting := len(s.after)
	s.mu.Unlock()
	if waiting == 0 {
		return
	}
	if bytes.HasPrefix(data, []byte("[")) {
		var batch []json.RawMessage
		if json.Unmarshal(data, &batch) == nil {
			for _, one := range batch {
				s.written(one)
			}
		}
		return
	}
	m, err := jsonrpc2.DecodeMessage(data)
	if err != nil {
		return
	}
	r, ok := m.(*jsonrpc2.Response)
	if !ok {
		return
	}
	s.mu.Lock()
	f := s.after[r.ID()]
	delete(s.after, r.ID())
	s.mu.Unlock()
	if f != nil {
		go f()
	}
}

func (s *stream) Close() error { return s.conn.Close() }
