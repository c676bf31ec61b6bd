package fakeeditor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/agent"
)

// handle serves what comes from the server.
func (e *Editor) handle(rctx context.Context, req *jsonrpc2.Request) (any, error) {
	ctx := jsonrpc2.DetachContext(rctx)
	n := Notification{Method: strings.Clone(req.Method()), Params: append(json.RawMessage(nil), req.Params()...)}
	if !req.IsCall() {
		e.heard(ctx, n)
		return nil, nil
	}
	jsonrpc2.Async(rctx)
	result, err := e.answer(ctx, n)
	e.update(func() { e.asked = append(e.asked, n) })
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(result)
	return jsonrpc2.RawMessage(data), err
}

// heard takes a notification, in order.
func (e *Editor) heard(ctx context.Context, n Notification) {
	if e.o.Plain && (strings.HasPrefix(n.Method, "agent/") || strings.HasPrefix(n.Method, "loop:")) {
		e.fault("a plain client was sent %s", n.Method)
	}
	switch n.Method {
	case "agent/cycle":
		var c agent.CycleNotification
		if e.decode(n, &c) {
			e.grow(ctx, c)
		}
	case "agent/edits/changed":
		var c agent.EditsChanged
		if e.decode(n, &c) {
			e.update(func() {
				for _, uri := range c.URIs {
					delete(e.hunks, uri)
				}
				for _, h := range c.Hunks {
					if !slices.Contains(c.URIs, h.URI) {
						e.faults = append(e.faults, "agent/edits/changed has a hunk of "+h.URI+", which uris lacks")
					}
					e.hunks[h.URI] = append(e.hunks[h.URI], h)
				}
			})
		}
	}
	e.update(func() { e.told = append(e.told, n) })
}

func (e *Editor) decode(n Notification, v any) bool {
	if err := json.Unmarshal(n.Params, v); err != nil {
		e.fault("%s: %v", n.Method, err)
		return false
	}
	return true
}

func (e *Editor) fault(format string, args ...any) {
	e.update(func() { e.faults = append(e.faults, fmt.Sprintf(format, args...)) })
}

// answer answers a request of the server.
func (e *Editor) answer(ctx context.Context, n Notification) (any, error) {
	switch n.Method {
	case "workspace/applyEdit":
		return e.applyEdit(ctx, n)
	case "agent/permission":
		return e.permission(n)
	case "agent/editor":
		var p agent.EditorParams
		if !e.decode(n, &p) || e.o.Editor == nil {
			return nil, jsonrpc2.ErrMethodNotFound
		}
		return e.o.Editor(p)
	case "window/showMessageRequest":
		return e.button(n)
	case "window/showDocument":
		var p struct {
			URI string `json:"uri"`
		}
		e.decode(n, &p)
		e.update(func() { e.shown = append(e.shown, p.URI) })
		return map[string]bool{"success": true}, nil
	case "workspace/configuration":
		return e.configuration(n)
	case "window/workDoneProgress/create", "workspace/codeLens/refresh", "client/registerCapability", "client/unregisterCapability":
		return nil, nil
	}
	e.fault("the server asked %s, which was not offered", n.Method)
	return nil, jsonrpc2.ErrMethodNotFound
}

func (e *Editor) applyEdit(ctx context.Context, n Notification) (any, error) {
	var w workspaceEdit
	if !e.decode(n, &w) {
		return nil, jsonrpc2.ErrInvalidParams
	}
	err := e.apply(ctx, w)
	if e.o.Mute {
		e.update(func() { e.asked = append(e.asked, n) })
		<-e.conn.Done()
		return nil, jsonrpc2.ErrMethodNotFound
	}
	if err != nil {
		return map[string]any{"applied": false, "failureReason": err.Error()}, nil
	}
	return map[string]any{"applied": true}, nil
}

func (e *Editor) permission(n Notification) (any, error) {
	var p agent.PermissionParams
	if e.o.Plain {
		e.fault("a plain client was asked agent/permission")
	}
	if !e.decode(n, &p) {
		return nil, jsonrpc2.ErrInvalidParams
	}
	if e.o.Permission != nil {
		return e.o.Permission(p), nil
	}
	return agent.PermissionResult{OptionID: Option(p, "reject_once")}, nil
}

// Option is the id of the option of this kind; "" if there is none.
func Option(p agent.PermissionParams, kind string) string {
	for _, o := range p.Options {
		if o.Kind == kind {
			return o.ID
		}
	}
	return ""
}

func (e *Editor) button(n Notification) (any, error) {
	var p struct {
		Message string
		Actions []struct {
			Title string `json:"title"`
		}
	}
	if !e.decode(n, &p) || e.o.Button == nil {
		return nil, nil
	}
	var buttons []string
	for _, a := range p.Actions {
		buttons = append(buttons, a.Title)
	}
	if title := e.o.Button(p.Message, buttons); title != "" {
		return map[string]string{"title": title}, nil
	}
	return nil, nil
}

func (e *Editor) configuration(n Notification) (any, error) {
	var p struct {
		Items []struct{ Section string }
	}
	e.decode(n, &p)
	out := make([]any, len(p.Items))
	for i, item := range p.Items {
		if item.Section == "agentLsp" {
			out[i] = e.o.Settings
		}
	}
	return out, nil
}
