package edits

import (
	"bytes"
	"compress/flate"
	"fmt"
	"io"

	"github.com/agent-lsp/agent-lsp/cycle/review"
)

// Review states are stored whole, one for each step of each file: that is what
// makes loading simple, and what compression is for.
const (
	packAbove     = 4 << 10 // bytes; smaller states are stored as they are
	packed        = 'z'     // first byte of a compressed state; others begin with "{"
	stateBytesMax = 1 << 30 // of a state that is read
)

// putState stores a state under its hash.
func (l *Ledger) putState(f review.File) (hash string, err error) {
	data := f.Encode()
	if len(data) > packAbove {
		var b bytes.Buffer
		b.WriteByte(packed)
		w, err := flate.NewWriter(&b, flate.BestSpeed)
		if err == nil {
			_, err = w.Write(data)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			return "", err
		}
		data = b.Bytes()
	}
	return l.blobs.Put(data)
}

// state reads a stored state; "" is a file that was never there.
func (l *Ledger) state(hash string) (review.File, error) {
	if hash == "" {
		return review.File{}, nil
	}
	data, err := l.blobs.Get(hash)
	if err != nil {
		return review.File{}, err
	}
	if len(data) > 0 && data[0] == packed {
		data, err = io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data[1:])), stateBytesMax))
		if err != nil {
			return review.File{}, fmt.Errorf("the stored state %.12s can't be unpacked: %w", hash, err)
		}
	}
	return review.Decode(data)
}
