package rag

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// The manifest says which files the index holds and in which version: a log of
// additions and removals, each with a checksum. It is written after the index,
// so that what it names is there; a torn tail costs the indexing of a few files.

const (
	manifestName     = "manifest"
	manifestMagic    = "agent-lsp rag manifest 5\n" // the number changes with anything that an index depends on
	recordAdd        = 'a'
	recordGone       = 'g'
	maxRecordBytes   = 16 << 20
	manifestSlack    = 3 // rewritten when it holds this many times the records needed
	manifestMinLines = 1000
)

type manifest struct {
	path    string
	f       *os.File
	records int
}

// errOutdated says that an index was made by another version of this program.
var errOutdated = errors.New("made by another version of agent-lsp")

// openManifest reads the log of dir. A missing one gives no entries; one of another
// format gives errOutdated.
func openManifest(dir string) (*manifest, map[string]*entry, error) {
	m := &manifest{path: filepath.Join(dir, manifestName)}
	files := map[string]*entry{}
	f, err := os.OpenFile(m.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	m.f = f
	good, err := m.load(files)
	if err == nil {
		err = f.Truncate(good)
	}
	if err == nil {
		_, err = f.Seek(good, io.SeekStart)
	}
	if err == nil && good == 0 {
		_, err = f.WriteString(manifestMagic)
	}
	if err == nil && m.records > manifestMinLines && m.records > manifestSlack*len(files) {
		err = m.rewrite(files)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return m, files, nil
}

// load fills files and says how much of the log is whole.
func (m *manifest) load(files map[string]*entry) (good int64, err error) {
	r := bufio.NewReaderSize(m.f, 1<<20)
	head := make([]byte, len(manifestMagic))
	switch n, err := io.ReadFull(r, head); {
	case n == 0:
		return 0, nil
	case err != nil || string(head) != manifestMagic:
		return 0, errOutdated
	}
	good = int64(len(head))
	var buf []byte
	for {
		var h [9]byte
		if _, err := io.ReadFull(r, h[:]); err != nil {
			return good, nil
		}
		n := binary.LittleEndian.Uint32(h[1:])
		if n > maxRecordBytes {
			return good, nil
		}
		if cap(buf) < int(n) {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(r, buf); err != nil || crc32.ChecksumIEEE(buf) != binary.LittleEndian.Uint32(h[5:]) {
			return good, nil
		}
		switch h[0] {
		case recordAdd:
			e, err := decodeEntry(buf)
			if err != nil {
				return good, nil
			}
			files[e.path] = e
		case recordGone:
			delete(files, string(buf))
		default:
			return good, nil
		}
		m.records++
		good += int64(len(h)) + int64(n)
	}
}

func appendRecord(b []byte, kind byte, payload []byte) []byte {
	b = append(b, kind)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(payload))
	return append(b, payload...)
}

// append logs a committed batch. nil m is an index that lives in memory only.
func (m *manifest) append(adds []*entry, gone []string) error {
	if m == nil || len(adds)+len(gone) == 0 {
		return nil
	}
	var b, p []byte
	for _, path := range gone {
		b = appendRecord(b, recordGone, []byte(path))
	}
	for _, e := range adds {
		p = encodeEntry(p[:0], e)
		b = appendRecord(b, recordAdd, p)
	}
	m.records += len(adds) + len(gone)
	if _, err := m.f.Write(b); err != nil {
		return fmt.Errorf("write %s: %w", m.path, err)
	}
	return nil
}

// rewrite puts a log with nothing but what is needed in the old one's place.
func (m *manifest) rewrite(files map[string]*entry) error {
	b := []byte(manifestMagic)
	var p []byte
	for _, e := range files { // the order of records of different paths means nothing
		p = encodeEntry(p[:0], e)
		b = appendRecord(b, recordAdd, p)
	}
	tmp := m.path + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	if err := os.Rename(tmp, m.path); err != nil {
		return err
	}
	f, err := os.OpenFile(m.path, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_ = m.f.Close()
	m.f, m.records = f, len(files)
	return nil
}

func (m *manifest) close() error {
	if m == nil {
		return nil
	}
	return m.f.Close()
}

func encodeEntry(b []byte, e *entry) []byte {
	u := func(v uint64) { b = binary.AppendUvarint(b, v) }
	s := func(v string) { u(uint64(len(v))); b = append(b, v...) }
	s(e.path)
	u(uint64(e.id))
	u(uint64(e.size))
	u(uint64(e.modTime))
	u(e.hash)
	u(uint64(e.lines))
	u(uint64(len(e.starts)))
	prev := uint32(0)
	for i, st := range e.starts {
		u(uint64(st - prev))
		u(uint64(e.lens[i]))
		prev = st
	}
	u(uint64(len(e.defs)))
	for _, d := range e.defs {
		s(d.Name)
		s(d.Kind)
		s(d.Container)
		u(uint64(d.Start))
		u(uint64(d.End - d.Start))
	}
	return b
}

var errBadRecord = errors.New("bad manifest record")

func decodeEntry(b []byte) (*entry, error) {
	d := &decoder{b: b}
	e := &entry{path: d.string(), id: uint32(d.uint()), size: int64(d.uint()), modTime: int64(d.uint()), hash: d.uint(), lines: int(d.uint())}
	n := d.list()
	e.starts, e.lens = make([]uint32, n), make([]uint32, n)
	prev := uint32(0)
	for i := range n {
		prev += uint32(d.uint())
		e.starts[i], e.lens[i] = prev, uint32(d.uint())
		e.tokens += int(e.lens[i])
	}
	e.defs = make([]Def, d.list())
	for i := range e.defs {
		def := Def{Name: d.string(), Kind: internKind(d.string()), Container: d.string(), Start: int(d.uint())}
		def.End = def.Start + int(d.uint())
		e.defs[i] = def
	}
	if d.bad || len(d.b) != 0 || e.path == "" {
		return nil, errBadRecord
	}
	e.derive()
	return e, nil
}

// internKind shares the few strings that kinds are.
func internKind(s string) string {
	switch s {
	case "func":
		return "func"
	case "method":
		return "method"
	case "type":
		return "type"
	case "var":
		return "var"
	case "const":
		return "const"
	case "field":
		return "field"
	case "test":
		return "test"
	}
	return s
}
