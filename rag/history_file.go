package rag

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
)

// The history's cache is a log like the manifest: names of the dictionary, then
// commits by the numbers of their names. Commits never change, so that it only
// grows; when most of it is of no more use it is begun anew.

const (
	historyMagic  = "agent-lsp rag history 2\n"
	recordNames   = 'n'
	recordCommit  = 'c'
	historyExcess = 4 // times historyCommits from which the cache is begun anew
)

// load reads the cache. Whatever is wrong with it only costs reading git again.
func (h *history) load() {
	f, err := os.Open(h.path)
	if err != nil {
		return
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	head := make([]byte, len(historyMagic))
	if _, err := io.ReadFull(r, head); err != nil || string(head) != historyMagic {
		_ = os.Remove(h.path)
		return
	}
	ok := h.loadRecords(r)
	h.saved, h.fresh = len(h.names), nil
	if !ok || len(h.commits) > historyExcess*historyCommits {
		_ = os.Remove(h.path)
		h.dict, h.names, h.commits, h.saved = map[string]uint32{}, nil, map[string]*commit{}, 0
	}
}

// loadRecords says whether the log was whole to its end.
func (h *history) loadRecords(r io.Reader) bool {
	var buf []byte
	for {
		var head [9]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return err == io.EOF
		}
		n := binary.LittleEndian.Uint32(head[1:])
		if n > maxRecordBytes {
			return false
		}
		if cap(buf) < int(n) {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(r, buf); err != nil || crc32.ChecksumIEEE(buf) != binary.LittleEndian.Uint32(head[5:]) {
			return false
		}
		d := &decoder{b: buf}
		switch head[0] {
		case recordNames:
			for len(d.b) > 0 && !d.bad {
				h.intern(d.string())
			}
		case recordCommit:
			if c := d.commit(uint32(len(h.names))); !d.bad {
				h.commits[c.id] = c
			}
		default:
			return false
		}
		if d.bad {
			return false
		}
	}
}

// save appends what is new. h.mu is held.
func (h *history) save() {
	if h.path == "" || len(h.fresh) == 0 {
		return
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	if fi, err := f.Stat(); err == nil && fi.Size() == 0 {
		_, _ = w.WriteString(historyMagic)
	}
	var b, p []byte
	for ; h.saved < len(h.names); h.saved++ {
		p = binary.AppendUvarint(p, uint64(len(h.names[h.saved])))
		p = append(p, h.names[h.saved]...)
		if len(p) > 1<<20 || h.saved == len(h.names)-1 {
			_, _ = w.Write(appendRecord(b[:0], recordNames, p))
			p = p[:0]
		}
	}
	for _, c := range h.fresh {
		p = appendCommit(p[:0], c)
		b = appendRecord(b[:0], recordCommit, p)
		_, _ = w.Write(b)
	}
	h.fresh = nil
	_ = w.Flush() // a torn tail is noticed at the next load
}

func appendCommit(b []byte, c *commit) []byte {
	u := func(v uint64) { b = binary.AppendUvarint(b, v) }
	flag := func(v bool) {
		if v {
			u(1)
		} else {
			u(0)
		}
	}
	u(uint64(len(c.id)))
	b = append(b, c.id...)
	u(uint64(c.time))
	u(uint64(c.length))
	flag(c.tooMany)
	u(uint64(len(c.words)))
	prev := uint32(0)
	for _, w := range c.words {
		u(uint64(w.term - prev))
		u(uint64(w.n))
		prev = w.term
	}
	u(uint64(len(c.files)))
	for _, f := range c.files {
		u(uint64(f.path))
		u(uint64(f.from))
		flag(f.added)
		u(uint64(len(f.terms)))
		prev := uint32(0)
		for _, t := range f.terms {
			u(uint64(t - prev))
			prev = t
		}
	}
	return b
}

// decoder reads what was appended; the first fault makes all the rest zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// list reads a length; no list has more members than there are bytes left.
func (d *decoder) list() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.list()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) commit(names uint32) *commit {
	name := func(v uint32) uint32 {
		if v >= names {
			d.bad = true
			return 0
		}
		return v
	}
	c := &commit{id: d.string(), time: int64(d.uint()), length: int(d.uint()), tooMany: d.uint() == 1}
	c.words = make([]termCount, d.list())
	prev := uint32(0)
	for i := range c.words {
		prev += uint32(d.uint())
		c.words[i] = termCount{name(prev), uint8(d.uint())}
	}
	c.files = make([]change, d.list())
	for i := range c.files {
		f := change{path: name(uint32(d.uint())), from: uint32(d.uint()), added: d.uint() == 1}
		if f.from > names {
			d.bad = true
		}
		f.terms = make([]uint32, d.list())
		prev := uint32(0)
		for j := range f.terms {
			prev += uint32(d.uint())
			f.terms[j] = name(prev)
		}
		c.files[i] = f
	}
	return c
}
