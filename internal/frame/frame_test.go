package frame

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func framed(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// TestMemory: nothing is allocated for what doesn't come, a large buffer is
// given back, and what is passed over is not kept.
func TestMemory(t *testing.T) {
	r := NewReader(strings.NewReader("Content-Length: 60000000\r\n\r\n{"))
	if _, _, err := r.Next(Max); !errors.Is(err, io.ErrUnexpectedEOF) || cap(r.body) > 2*growStep {
		t.Errorf("a body that doesn't come: %v, %d bytes are held", err, cap(r.body))
	}
	r = NewReader(strings.NewReader(framed(strings.Repeat("a", 8<<20)) + framed("{}")))
	for range 2 {
		if _, _, err := r.Next(Max); err != nil {
			t.Fatal(err)
		}
	}
	if cap(r.body) > keepBuffer {
		t.Errorf("the buffer has still %d bytes", cap(r.body))
	}
	r = NewReader(strings.NewReader(framed(`{"id":"x","method":"`+strings.Repeat("a", 8<<20)+`"}`) + framed("{}")))
	var long *TooLong
	if _, _, err := r.Next(1 << 20); !errors.As(err, &long) || string(long.ID) != `"x"` || long.Length <= 8<<20 || cap(r.body) > 0 {
		t.Errorf("a message that is too long: %v, %d bytes are held", err, cap(r.body))
	}
	if body, size, err := r.Next(1 << 20); string(body) != "{}" || size != len(framed("{}")) || err != nil {
		t.Errorf("what comes after it: %q, %d, %v", body, size, err)
	}
	if _, _, err := r.Next(Max); err != io.EOF {
		t.Errorf("the end: %v", err)
	}
}
