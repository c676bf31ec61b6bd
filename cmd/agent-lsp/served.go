package main

import (
	"encoding/json"
)

// served is the engine as the holder's own editor sees it: it ends with that
// editor's connection.
type served struct {
	*seat
	host *host
}

// SetSettings implements rpc.Engine: the editor's settings take effect for
// what is decided from now on.
func (s *served) SetSettings(settings json.RawMessage) { s.host.house.reconfigure(settings) }

// Close implements rpc.Engine.
func (s *served) Close() error {
	s.host.close()
	return nil
}
