package tools

import (
	"strings"
	"testing"
	"time"
)

// FuzzHTMLText: any page becomes text, in time in proportion to its length.
func FuzzHTMLText(f *testing.F) {
	for _, s := range []string{"<p>a", "<!-- x", "<script>", "<a href='>'>x</a>", "&lt;", "<", "</", "<pre></pre></pre>", strings.Repeat("<script></scrip", 1000)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		start := time.Now()
		if out := htmlText(s); !strings.HasSuffix(out, "\n") {
			t.Errorf("%q became %q", s, out)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%d bytes took %s", len(s), took)
		}
	})
}
