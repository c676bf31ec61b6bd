package rpc

import (
	"encoding/json"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/agent"
)

// This file holds every conversion between our types and the wire's.

// ownJSON writes our types as encoding/json would, but for nil lists and maps,
// which are [] and {} here: a client never has to expect null for a list. Text
// that isn't UTF-8 (files may hold anything) gets replacement characters.
var ownJSON = jsonv2.JoinOptions(
	jsonv1.OmitEmptyWithLegacySemantics(true),
	jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true), // inside arguments that a model wrote
	jsonv2.Deterministic(true),
)

// encode gives the JSON of one of our values.
func encode(v any) (jsonrpc2.RawMessage, error) {
	return jsonv2.Marshal(v, ownJSON)
}

// decode reads a result into one of our values; absent and null leave it alone,
// unknown fields are passed over.
func decode(raw []byte, v any) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, v)
}

// decodeParams reads params, which are always objects: an empty list is what
// some languages make of an empty one.
func decodeParams(raw []byte, v any) error {
	if string(raw) == "[]" {
		return nil
	}
	return decode(raw, v)
}

// codec writes what is encoded already as it is, and LSP's types by their own code.
type codec struct{}

func (codec) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(jsonrpc2.RawMessage); ok {
		if raw == nil {
			return []byte("null"), nil
		}
		return raw, nil
	}
	return lsp.Marshal(v)
}

func (codec) Unmarshal(data []byte, v any) error {
	if raw, ok := v.(*jsonrpc2.RawMessage); ok {
		*raw = append(jsonrpc2.RawMessage(nil), data...)
		return nil
	}
	return lsp.Unmarshal(data, v)
}

func toRange(r agent.Range) lsp.Range {
	return lsp.Range{Start: toPosition(r.Start), End: toPosition(r.End)}
}

func toPosition(p agent.Position) lsp.Position {
	return lsp.Position{Line: uint32(max(p.Line, 0)), Character: uint32(max(p.Character, 0))}
}

func fromRange(r lsp.Range) agent.Range {
	return agent.Range{
		Start: agent.Position{Line: int(r.Start.Line), Character: int(r.Start.Character)},
		End:   agent.Position{Line: int(r.End.Line), Character: int(r.End.Character)},
	}
}

// before tells whether a comes before b in a document.
func before(a, b agent.Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Character < b.Character
}

// overlaps tells whether two ranges share a character, or touch where one is empty.
func overlaps(a, b agent.Range) bool {
	return !before(a.End, b.Start) && !before(b.End, a.Start)
}

// raw is a JSON value for a field of an LSP type.
func raw(v any) lsp.LSPAny {
	data, err := encode(v)
	if err != nil { // our own small structs always marshal
		return lsp.LSPAny("null")
	}
	return lsp.LSPAny(data)
}
