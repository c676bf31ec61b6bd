package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/frame"
	"github.com/agent-lsp/agent-lsp/internal/text"
)

// Limits of a relay.
const (
	pendingMax = 8192 // requests of the editor under way; the server refuses fewer
	foldersMax = 256  // changes of the workspace's folders that are told again
)

// ErrNoShutdown is Run's error when exit came without shutdown.
var ErrNoShutdown = errors.New("exit came without shutdown")

// Connector finds or makes the next holder to talk to. The connection speaks
// the protocol as a server that has heard nothing yet.
type Connector func(ctx context.Context) (io.ReadWriteCloser, error)

// Relay passes one editor's messages to the holder and back. Use it once.
type Relay struct {
	connect Connector
	log     func(format string, args ...any)
	editor  *sink
	in      *frame.Reader

	mu       sync.Mutex
	docs     *documents
	hello    message           // initialize, as the editor said it
	greeted  bool              // the editor has its answer
	ready    []byte            // initialized
	settings []byte            // the latest didChangeConfiguration
	folders  [][]byte          // didChangeWorkspaceFolders
	pending  map[string]string // requests of the editor without an answer: id → method
	shut     bool              // shutdown was asked for
	exited   bool
	over     bool                       // Run ends
	given    int                        // ids of requests of the holders
	back     io.WriteCloser             // of this generation; nil between two
	out      *sink                      // to back
	asked    map[string]json.RawMessage // requests of this holder, by the id that the editor sees
	waiting  [][]byte                   // what the editor said between two holders
}

// waitingMax bounds what is kept between two holders; then the editor waits.
const waitingMax = 4096

// NewRelay makes a relay between an editor, whose first message has been read
// already, and the holder that connect finds. hello is that message.
func NewRelay(in *frame.Reader, out io.Writer, hello []byte, connect Connector, log func(string, ...any)) *Relay {
	return &Relay{connect: connect, log: log, editor: &sink{w: out}, in: in, docs: newDocuments(), hello: parse(hello),
		pending: map[string]string{}, asked: map[string]json.RawMessage{}}
}

// Run relays until the editor has gone. first is the connection to begin with.
func (r *Relay) Run(ctx context.Context, first io.ReadWriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	served, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		served <- r.serve(ctx, first)
	}()
	read := make(chan error, 1)
	go func() { read <- r.readEditor(ctx) }()
	var err error
	select {
	case err = <-read:
		r.finish(ended)
	case err = <-served:
	case <-ctx.Done():
	}
	cancel()
	r.mu.Lock()
	r.over = true
	if r.back != nil {
		r.back.Close()
	}
	exited, shut := r.exited, r.shut
	r.mu.Unlock()
	<-ended // nothing is connected or begun any more
	switch {
	case exited && !shut:
		return ErrNoShutdown
	case exited, errors.Is(err, io.EOF), errors.Is(err, context.Canceled):
		return nil
	}
	return err
}

// finishWait bounds how long an editor that says nothing more still gets the
// answers that it is owed; a holder gives them less.
const finishWait = 3 * time.Second

// finish tells the holder that the editor says nothing more, and lets it answer
// what is under way.
func (r *Relay) finish(ended <-chan struct{}) {
	r.mu.Lock()
	back, owed := r.back, len(r.pending) > 0 && !r.exited
	r.over = true
	r.mu.Unlock()
	half, ok := back.(interface{ CloseWrite() error })
	if !owed || !ok || half.CloseWrite() != nil {
		return
	}
	late := time.NewTimer(finishWait)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
	}
}

// readEditor passes on what the editor says.
func (r *Relay) readEditor(ctx context.Context) error {
	for {
		body, err := ReadFrame(r.in, r.tooLong)
		if err != nil {
			return err
		}
		r.fromEditor(parse(body))
		r.mu.Lock()
		done := r.exited
		r.mu.Unlock()
		if done || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// fromEditor passes a message on. Nothing is sent while the lock is held: an
// end that doesn't read holds up its own direction only.
func (r *Relay) fromEditor(m message) {
	r.mu.Lock()
	answer, pass := r.route(m)
	out := r.out
	r.mu.Unlock()
	if answer != nil {
		_ = r.editor.send(answer) // an editor that is gone is noticed by reading
	}
	if pass != nil && out != nil {
		_ = out.send(pass) // so is a holder
	}
}

// route says what the editor is answered here and now, and what is passed on.
func (r *Relay) route(m message) (answer, pass []byte) {
	switch {
	case m.isAnswer():
		was, ok := r.asked[string(m.ID)]
		if !ok {
			return nil, nil // a holder that is gone asked
		}
		delete(r.asked, string(m.ID))
		return nil, withID(m.body, was)
	case m.isRequest() && m.Method == "shutdown":
		r.shut = true
		if r.out == nil { // nobody is there to be shut down
			return null(m.ID), nil
		}
	case m.isRequest() && (len(r.pending) >= pendingMax || r.out == nil && len(r.waiting) >= waitingMax):
		return refusal(m.ID, "too many requests are under way"), nil
	case !m.isRequest():
		r.note(m)
	}
	if m.isRequest() {
		r.pending[string(m.ID)] = m.Method
	}
	if r.out != nil {
		return nil, m.body
	}
	if !isSync(m.Method) && len(r.waiting) < waitingMax { // sync is told by replay
		r.waiting = append(r.waiting, m.body)
	}
	return nil, nil
}

// isSync tells what replay tells again.
func isSync(method string) bool {
	return strings.HasPrefix(method, "textDocument/did") || method == "initialized" || method == "workspace/didChangeConfiguration" || method == "workspace/didChangeWorkspaceFolders"
}

// note keeps what the next holder must hear again.
func (r *Relay) note(m message) {
	switch m.Method {
	case "initialized":
		r.ready = m.body
	case "workspace/didChangeConfiguration":
		r.settings = m.body
	case "workspace/didChangeWorkspaceFolders":
		if len(r.folders) < foldersMax {
			r.folders = append(r.folders, m.body)
		}
	case "exit":
		r.exited = true
	default:
		r.docs.note(m.Method, m.body)
	}
}

// tooLong refuses a message of the editor, as the server itself would.
func (r *Relay) tooLong(e *frame.TooLong) {
	const invalidRequest = -32600 // JSON-RPC's
	id := e.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	_ = r.editor.send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"code":"bad_request","hint":"send less at once","retriable":false}}}`,
		id, invalidRequest, e.Error()))
}

// refusal answers a request whose holder is gone. The same request may succeed
// a moment later.
func refusal(id json.RawMessage, why string) []byte {
	const serverCancelled = -32802 // LSP's
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":{"code":"invalid_state","hint":"ask again","retriable":true}}}`,
		id, serverCancelled, why)
}

func null(id json.RawMessage) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":null}`, id)
}

// serve talks to one holder after the other.
func (r *Relay) serve(ctx context.Context, conn io.ReadWriteCloser) error {
	for {
		in, ok := r.begin(conn)
		if !ok {
			conn.Close()
			return ctx.Err()
		}
		err := r.readHolder(in)
		conn.Close()
		r.lost()
		r.mu.Lock()
		finished, over := r.over, r.exited || r.shut
		r.mu.Unlock()
		if finished {
			return nil
		}
		if over || ctx.Err() != nil {
			<-ctx.Done() // the editor says the last word
			return ctx.Err()
		}
		r.log("the agent-lsp that served this folder is gone: %v", err)
		if conn, err = r.connect(ctx); err != nil {
			return err
		}
	}
}

// begin says hello to a holder and tells it what the editor told the others.
// The handshake's answer is read by readHolder like everything else; document
// sync and notifications are taken in order by every server of ours.
func (r *Relay) begin(conn io.ReadWriteCloser) (in *frame.Reader, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil, false
	}
	out := &sink{w: conn}
	r.pending[string(r.hello.ID)] = "initialize"
	_ = out.send(r.hello.body) // a holder that is gone is noticed by reading
	if r.greeted {
		if r.ready != nil {
			_ = out.send(r.ready)
		}
		for _, body := range append(append([][]byte{}, r.folders...), r.docs.replay()...) {
			_ = out.send(body)
		}
		if r.settings != nil {
			_ = out.send(r.settings)
		}
	}
	for _, body := range r.waiting {
		_ = out.send(body)
	}
	r.waiting = nil
	r.back, r.out = conn, out
	return frame.NewReader(conn), true
}

// lost answers what was under way with a holder that is gone.
func (r *Relay) lost() {
	r.mu.Lock()
	r.back, r.out = nil, nil
	var say [][]byte
	for _, id := range slices.Sorted(maps.Keys(r.pending)) {
		switch r.pending[id] {
		case "initialize": // the next one is asked again
			continue
		case "shutdown":
			say = append(say, null(json.RawMessage(id)))
		default:
			say = append(say, refusal(json.RawMessage(id), "the agent ended while it worked on this"))
		}
		delete(r.pending, id)
	}
	for _, id := range slices.Sorted(maps.Keys(r.asked)) { // nobody waits for the answers any more
		say = append(say, notification("$/cancelRequest", map[string]json.RawMessage{"id": json.RawMessage(id)}))
	}
	clear(r.asked)
	r.mu.Unlock()
	for _, body := range say {
		_ = r.editor.send(body) // an editor that is gone is noticed by reading
	}
}

// readHolder passes on what a holder says, until it is gone.
func (r *Relay) readHolder(in *frame.Reader) error {
	for {
		body, err := ReadFrame(in, nil)
		if err != nil {
			return err
		}
		m := parse(body)
		r.mu.Lock()
		body = r.fromHolder(m)
		r.mu.Unlock()
		if body != nil {
			_ = r.editor.send(body) // an editor that is gone is noticed by reading
		}
	}
}

// fromHolder is what the editor gets of a message, nil for nothing.
func (r *Relay) fromHolder(m message) []byte {
	switch {
	case m.isRequest():
		// Ids are ours to give: two holders may use the same ones.
		r.given++
		id := json.RawMessage(`"relay-` + strconv.Itoa(r.given) + `"`)
		r.asked[string(id)] = m.ID
		return withID(m.body, id)
	case m.isAnswer():
		method, ok := r.pending[string(m.ID)]
		if !ok {
			return nil
		}
		delete(r.pending, string(m.ID))
		if method != "initialize" {
			return m.body
		}
		r.docs.enc = encodingOf(m.body)
		if r.greeted {
			return nil
		}
		r.greeted = true
	case m.Method == "$/cancelRequest":
		var p struct {
			Params struct {
				ID json.RawMessage `json:"id"`
			} `json:"params"`
		}
		if json.Unmarshal(m.body, &p) != nil {
			return nil
		}
		for id, was := range r.asked {
			if string(was) == string(p.Params.ID) {
				return notification("$/cancelRequest", map[string]json.RawMessage{"id": json.RawMessage(id)})
			}
		}
		return nil
	}
	return m.body
}

// encodingOf is the unit of positions in the answer to initialize.
func encodingOf(body []byte) text.Encoding {
	var m struct {
		Result struct {
			Capabilities struct {
				PositionEncoding string `json:"positionEncoding"`
			} `json:"capabilities"`
		} `json:"result"`
	}
	if json.Unmarshal(body, &m) != nil || m.Result.Capabilities.PositionEncoding == "" {
		return text.UTF16
	}
	return text.Encoding(m.Result.Capabilities.PositionEncoding)
}
