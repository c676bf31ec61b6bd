package main

import (
	"encoding/json"
)

// served is the engine as the holder's own editor sees it.
type served struct {
	*seat
	host *host
}

// SetSettings implements rpc.Engine: the editor's settings take effect for
// what is decided from now on.
func (s *served) SetSettings(settings json.RawMessage) { s.host.house.reconfigure(settings) }

// Close implements rpc.Engine: the engine goes on until the runs of the other
// windows are done.
func (s *served) Close() error { return nil }
