package rpc

import (
	"context"
	"encoding/json"
	"errors"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"

	"github.com/agent-lsp/agent-lsp/agent"
	"github.com/agent-lsp/agent-lsp/rpc/protocol"
)

// codeRequestFailed is LSP's code for a well-formed request that failed.
const codeRequestFailed jsonrpc2.Code = -32803

// Failures that never reach the engine.
var (
	errNotInitialized = wireError(jsonrpc2.ServerNotInitialized, "initialize comes first", agent.CodeInvalidState, "send initialize", true)
	errInitialized    = wireError(jsonrpc2.InvalidRequest, "initialize was answered already", agent.CodeInvalidState, "", false)
	errShutDown       = wireError(jsonrpc2.InvalidRequest, "the server is shut down", agent.CodeInvalidState, "only exit may follow shutdown", false)
	errCancelled      = wireError(lsp.CodeRequestCancelled, "the request was cancelled", protocol.CodeCancelled, "", true)
	errTooMany        = wireError(codeRequestFailed, "too many requests wait for their answers", agent.CodeInvalidState, "wait for some answers first", true)
)

// wireError makes a JSON-RPC error with the data that every error carries.
func wireError(code jsonrpc2.Code, message string, name agent.Code, hint string, retriable bool) *jsonrpc2.Error {
	e := jsonrpc2.NewError(code, message)
	e.Data = errorData(name, hint, retriable)
	return e
}

func errorData(name agent.Code, hint string, retriable bool) jsonrpc2.RawMessage {
	data, err := json.Marshal(protocol.ErrorData{Code: name, Hint: hint, Retriable: retriable})
	if err != nil { // three plain fields always marshal
		return nil
	}
	return data
}

// toWire is the one table from our errors to JSON-RPC's.
func toWire(err error) error {
	var wire *jsonrpc2.Error
	var ours *agent.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		code := codeRequestFailed
		if ours.Code == agent.CodeBadRequest {
			code = jsonrpc2.InvalidParams
		}
		return wireError(code, ours.Message, ours.Code, ours.Hint, ours.Retriable)
	case errors.As(err, &wire):
		if wire.Data == nil {
			return wireError(wire.Code, err.Error(), nameOf(wire.Code), "", false)
		}
		return wire
	case errors.Is(err, context.Canceled):
		return errCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return wireError(codeRequestFailed, "the request took too long", agent.CodeInvalidState, "try again", true)
	case errors.Is(err, agent.ErrUnsupported):
		return wireError(codeRequestFailed, err.Error(), agent.CodeUnsupported, "", false)
	default:
		return wireError(jsonrpc2.InternalError, err.Error(), protocol.CodeInternal, "", false)
	}
}

// nameOf is the documented name of a JSON-RPC code.
func nameOf(code jsonrpc2.Code) agent.Code {
	switch code {
	case jsonrpc2.MethodNotFound:
		return agent.CodeUnsupported
	case jsonrpc2.InvalidParams, jsonrpc2.InvalidRequest, jsonrpc2.ParseError:
		return agent.CodeBadRequest
	case jsonrpc2.ServerNotInitialized:
		return agent.CodeInvalidState
	case lsp.CodeRequestCancelled:
		return protocol.CodeCancelled
	default:
		return protocol.CodeInternal
	}
}

// badParams says that a request's parameters don't fit.
func badParams(method string, err error) error {
	return wireError(jsonrpc2.InvalidParams, method+": the params don't fit: "+err.Error(), agent.CodeBadRequest, "docs/protocol.md has every field", false)
}

// fromWire turns a peer's answer back into what our code works with: an
// *agent.Error where the peer sent the data of one.
func fromWire(err error) error {
	var wire *jsonrpc2.Error
	if !errors.As(err, &wire) {
		return err
	}
	if wire.Code == jsonrpc2.MethodNotFound {
		return agent.ErrUnsupported
	}
	var data protocol.ErrorData
	if json.Unmarshal(wire.Data, &data) != nil || data.Code == "" {
		return err
	}
	return &agent.Error{Code: data.Code, Message: wire.Message, Hint: data.Hint, Retriable: data.Retriable}
}
