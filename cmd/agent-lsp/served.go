package main

import (
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/agent"
)

// served is an engine whose house ends with its connection.
type served struct {
	*agent.Engine
	house *house
}

// SetSettings implements rpc.Engine: the editor's settings take effect for
// what is decided from now on.
func (s *served) SetSettings(settings json.RawMessage) { s.house.reconfigure(settings) }

// Close implements rpc.Engine.
func (s *served) Close() error {
	s.house.close()
	return nil
}
