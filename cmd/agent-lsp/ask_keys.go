package main

import (
	"bufio"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Keys that are no characters.
const (
	keyEnter     = '\r'
	keyInterrupt = 0x03
	keyErase     = 0x7f
	keyEraseLine = 0x15 // Ctrl-U
	keyEraseWord = 0x17 // Ctrl-W
	keyEscape    = 0x1b
)

// terminal is the person's: keys come one by one, and nothing is echoed.
type terminal struct {
	in  *os.File
	out *os.File
	old *term.State
}

// openTerminal takes the terminal over, if both ends are one.
func openTerminal(in io.Reader, out io.Writer) *terminal {
	i, ok1 := in.(*os.File)
	o, ok2 := out.(*os.File)
	if !ok1 || !ok2 || !term.IsTerminal(int(i.Fd())) || !term.IsTerminal(int(o.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	old, err := term.MakeRaw(int(i.Fd()))
	if err != nil {
		return nil
	}
	return &terminal{in: i, out: o, old: old}
}

// restore gives the terminal back.
func (t *terminal) restore() { _ = term.Restore(int(t.in.Fd()), t.old) } // it is gone when it can't be restored

// size is the terminal's, or the least that can be drawn on.
func (t *terminal) size() (columns, rows int) {
	columns, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil {
		return columnsDefault, rowsDefault
	}
	return max(columns, columnsMin), max(rows, rowsMin)
}

// Sizes of terminals.
const (
	columnsDefault, rowsDefault = 80, 24
	columnsMin, rowsMin         = 20, 4
)

// readKeys hands over what is typed until the input ends.
func readKeys(in io.Reader, typed func(rune)) {
	r := bufio.NewReader(in)
	for {
		k, _, err := r.ReadRune()
		if err != nil {
			return
		}
		if k == keyEscape && r.Buffered() > 0 { // arrows and the like: none is used
			skipSequence(r)
			continue
		}
		if k == '\n' {
			k = keyEnter
		}
		typed(k)
	}
}

// skipSequence passes over the rest of an escape sequence.
func skipSequence(r *bufio.Reader) {
	for first := true; r.Buffered() > 0; first = false {
		b, err := r.ReadByte()
		if err != nil || !first && b >= 0x40 && b <= 0x7e || first && b != '[' && b != 'O' {
			return
		}
	}
}

// readLines hands over whole lines, from a terminal that keeps its own editing.
func readLines(in io.Reader, line func(string)) {
	sc := bufio.NewScanner(in)
	sc.Buffer(nil, lineMax)
	for sc.Scan() {
		if text := strings.TrimSpace(sc.Text()); text != "" {
			line(text)
		}
	}
}

// lineMax bounds a typed line, in bytes.
const lineMax = 64 << 10

// typing is a line that is being typed.
type typing struct{ text string }

// key takes a key; whole is true when the line is done.
func (t *typing) key(k rune) (line string, whole bool) {
	switch {
	case k == keyEnter:
		line, t.text = strings.TrimSpace(t.text), ""
		return line, true
	case k == keyErase || k == '\b':
		_, n := utf8.DecodeLastRuneInString(t.text)
		t.text = t.text[:len(t.text)-n]
	case k == keyEraseLine || k == keyEscape:
		t.text = ""
	case k == keyEraseWord:
		s := strings.TrimRight(t.text, " ")
		t.text = s[:strings.LastIndexByte(s, ' ')+1]
	case unicode.IsPrint(k) && len(t.text) < lineMax:
		t.text += string(k)
	}
	return "", false
}
