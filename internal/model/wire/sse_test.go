package wire

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// Events are the same in whatever pieces the stream comes.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: a\n\ndata: b\ndata: c\n\n"), 2)
	f.Add([]byte("\xef\xbb\xbfevent: x\r\ndata:y\r\n\r\n: z\r\n\r\ndata: [DONE]"), 3)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		all := func(r io.Reader) (out []string, err error) {
			events := NewEventReader(r, 1<<16)
			for {
				e, err := events.Next()
				if err != nil {
					return out, err
				}
				out = append(out, e.Name+"="+string(e.Data))
			}
		}
		whole, err := all(bytes.NewReader(stream))
		pieces, err2 := all(iotest.OneByteReader(bytes.NewReader(stream)))
		if diff := cmp.Diff(whole, pieces); diff != "" || fmt.Sprint(err) != fmt.Sprint(err2) {
			t.Fatalf("%v, %v\n%s", err, err2, diff)
		}
	})
}
