package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/frame"
)

// Limits of the framing.
const (
	MaxFrame  = 64 << 20 // bytes of one message, in either direction
	MaxHeader = 64 << 10 // bytes of one header block

	keepBuffer  = 4 << 20  // a buffer grown beyond this is given back
	idScanBytes = 16 << 10 // how far into a refused message its id is looked for
)

// The documented limits are the ones that are read by.
var _ = [1]struct{}{}[MaxFrame-frame.Max+MaxHeader-frame.HeaderMax]

// stream is the base protocol: messages behind a Content-Length. A message
// that can't be used is answered here and skipped, so that only a broken
// header, or the end of the input, ends the reading.
//
// Reading belongs to one goroutine; writing is safe for many, and each
// message goes out whole.
type stream struct {
	conn  io.ReadWriteCloser
	in    *frame.Reader
	limit int

	ended chan struct{} // closed when reading has ended
	cause error         // why; set before ended is closed; io.EOF is the clean end

	mu    sync.Mutex // guards all below, and writing
	out   []byte
	after map[jsonrpc2.ID]func() // what waits for the response with that id

	late lateAnswers
	owed owed
	// settleFor is how long the end of the input waits for the answers that are
	// owed; 0 on a side that asks.
	settleFor time.Duration
}

func newStream(conn io.ReadWriteCloser) *stream {
	return &stream{
		conn: conn, in: frame.NewReader(conn), limit: MaxFrame,
		ended: make(chan struct{}), after: map[jsonrpc2.ID]func(){},
	}
}

// ReadFrame returns the next usable message; it is valid until the next call.
func (s *stream) ReadFrame(ctx context.Context) ([]byte, int64, error) {
	body, n, err := s.readFrame(ctx)
	if err != nil {
		s.cause = err
		close(s.ended)
		s.owed.settle(s.settleFor)
	}
	return body, n, err
}

func (s *stream) readFrame(ctx context.Context) ([]byte, int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		body, size, err := s.in.Next(s.limit)
		if long := (*frame.TooLong)(nil); errors.As(err, &long) {
			s.refuse(long.ID, jsonrpc2.InvalidRequest, long.Error(), "send less at once")
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if body = s.usable(body); body != nil {
			return body, int64(size), nil
		}
	}
}

// usable returns the message if the connection can take it. One that it can't
// take is answered, and nil returned; a response without a result is mended,
// for some clients leave a null result out and a call waits for it.
func (s *stream) usable(body []byte) []byte {
	if !json.Valid(body) {
		id, _ := frame.ScanID(body[:min(len(body), idScanBytes)])
		s.refuse(id, jsonrpc2.ParseError, "the message is no valid JSON", "")
		return nil
	}
	if isBatch(body) {
		return s.usableBatch(body)
	}
	if m, err := jsonrpc2.DecodeMessage(body); err == nil {
		if wantsAnswer(m, nil) {
			s.owed.asked()
		}
		if r, ok := m.(*jsonrpc2.Response); ok {
			s.late.heard(r)
		}
		return body
	}
	id, method := frame.ScanID(body)
	if method || id == nil || string(id) == "null" {
		s.refuse(id, jsonrpc2.InvalidRequest, noMessage, "")
		return nil
	}
	mended := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":null}`, id)
	if _, err := jsonrpc2.DecodeMessage(mended); err != nil {
		return nil // an id that we never gave
	}
	return mended
}

const noMessage = "the message is no JSON-RPC 2.0 request, notification or response"

// usableBatch is usable for a batch: its members are judged one by one, by the
// connection.
func (s *stream) usableBatch(body []byte) []byte {
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) != nil || len(batch) == 0 {
		s.refuse(nil, jsonrpc2.InvalidRequest, "the batch is empty", "")
		return nil
	}
	if slices.ContainsFunc(batch, func(one json.RawMessage) bool { return wantsAnswer(jsonrpc2.DecodeMessage(one)) }) {
		s.owed.asked()
	}
	return body
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
	answer := isAnswer(data)
	if isBatch(data) {
		data = withErrorData(data)
	}
	if len(data) > s.limit {
		if data = tooLong(data, s.limit); data == nil {
			return 0, nil
		}
	}
	n, err := s.writeFrame(data)
	s.written(data)
	switch {
	case err != nil:
		s.owed.giveUp() // nobody reads
	case answer:
		s.owed.answered()
	}
	return n, err
}

// tooLong is what goes out in place of a message over the limit: an error for
// a response, nothing for the rest.
func tooLong(data []byte, limit int) []byte {
	id, method := frame.ScanID(data)
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
