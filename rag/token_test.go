package rag

import (
	"reflect"
	"strings"
	"testing"
)

func TestIdentTerms(t *testing.T) {
	for _, c := range []struct{ id, want string }{
		{"ReadFile", "read fil =readfile"},
		{"read_file", "read fil =readfile"},
		{"READ_FILE", "read fil =readfile"},
		{"HTTPServer_v2Name", "http server v2 nam =httpserverv2name"},
		{"parsing", "pars"}, {"parsed", "pars"}, {"parses", "pars"}, {"parser", "parser"},
		{"queries", "query"}, {"query", "query"},
		{"running", "run"}, {"class", "class"}, {"status", "status"},
		{"x", ""}, {"1234567", ""}, {"2024", "2024"}, {"_", ""}, {"__init__", "init"},
		{"größe", "größ"},
	} {
		if got := strings.Join(identTerms(c.id), " "); got != c.want {
			t.Errorf("identTerms(%q) = %q, want %q", c.id, got, c.want)
		}
	}
}

func TestNameTermMeetsEverySpelling(t *testing.T) {
	want := nameTerm("ReadFile")
	for _, s := range []string{"readFile", "read_file", "READ_FILE"} {
		if got := nameTerm(s); got != want {
			t.Errorf("nameTerm(%q) = %q, want %q", s, got, want)
		}
	}
}

func FuzzTokenize(f *testing.F) {
	f.Add("func ReadFile(path string) ([]byte, error) { // größe __x_9")
	f.Add("\x00\xff\xfe_A_b")
	f.Fuzz(func(t *testing.T, b string) {
		var tc termCache
		eachIdent(b, func(raw string) {
			a := append([]string(nil), tc.terms(raw)...)
			if c := tc.terms(raw); !reflect.DeepEqual(a, append([]string(nil), c...)) {
				t.Fatalf("cached %q, fresh %q", c, a)
			}
			for _, s := range a {
				if s == "" || strings.ContainsAny(s, " \n\t") {
					t.Fatalf("identifier %q gives term %q", raw, s)
				}
			}
		})
	})
}
