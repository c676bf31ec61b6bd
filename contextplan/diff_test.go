package contextplan

import (
	"os"
	"strings"
	"testing"
)

func TestDiffShowsWhatCameWentAndChanged(t *testing.T) {
	first := Input{Budget: Budget{ContextWindow: 2000, ReserveOutput: 500}, Candidates: []Candidate{
		{ID: "sys", Section: System, Tokens: 300, Required: true},
		{ID: "turn-1", Section: History, Tokens: 400, Priority: 50, Seq: 1},
		{ID: "hit", Section: Retrieval, Tokens: 600, Priority: 40, Seq: 2},
		{ID: "big", Section: Retrieval, Tokens: 700, Priority: 10, Seq: 3},
		{ID: "note", Section: Memory, Tokens: 20, Priority: 10},
	}}
	second := first
	second.Candidates = append([]Candidate(nil), first.Candidates[:4]...)
	second.Candidates[1].Pinned = true
	second.Candidates[3].Priority = 60
	second.Candidates = append(second.Candidates,
		Candidate{ID: "ask", Section: Request, Tokens: 60, Required: true, Seq: 9},
		Candidate{ID: "late", Section: Focus, Tokens: 1000, Seq: 8})
	a, err := Build(first)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Build(second)
	if err != nil {
		t.Fatal(err)
	}
	got := Text(a, nil) + Text(b, nil) + DiffText(Diff(a, b), strings.ToUpper) + DiffText(Diff(a, a), nil)
	const file = "testdata/diff.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("drawn differently now:\n%s", got)
	}
	d := Diff(a, b)
	if d.Identical || len(d.In) != 1 || len(d.Out) != 1 || len(d.Changed) != 1 || len(d.New) != 1 || len(d.NewOut) != 1 || len(d.Gone) != 1 || d.Kept != 1 {
		t.Errorf("%+v", d)
	}
	if d := Diff(a, a); !d.Identical || d.Kept != len(a.Included) {
		t.Errorf("%+v", d)
	}
}

func TestNamesFromOthersCantSteerTheTerminal(t *testing.T) {
	p, err := Build(Input{Budget: Budget{ContextWindow: 9}, Candidates: []Candidate{
		{ID: "evil\x1b[2J\n\u202e", Section: Focus, Tokens: 1, Required: true},
		{ID: strings.Repeat("very/long/", 20) + "end.go", Section: Focus, Tokens: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	text := Text(p, nil)
	if strings.ContainsAny(text, "\x1b\u202e") || strings.Count(text, "\n") != 4 || !strings.Contains(text, "end.go ") {
		t.Errorf("%q", text)
	}
}

func TestNumbersForPeople(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1.0k", 27_950: "27.9k", 999_949: "999.9k", 999_950: "1.0M", 2_000_000: "2.0M"} {
		if got := Short(n); got != want {
			t.Errorf("Short(%d) = %s, want %s", n, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1\u2009000", 1234567: "1\u2009234\u2009567", -1000: "-1\u2009000"} {
		if got := Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %s, want %s", n, got, want)
		}
	}
}
