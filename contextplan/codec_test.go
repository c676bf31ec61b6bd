package contextplan

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

// TestOwnEncodingIsTheStandardOnes: our faster encoder says what encoding/json would say.
func TestOwnEncodingIsTheStandardOnes(t *testing.T) {
	type plain Plan // without our MarshalJSON
	rapid.Check(t, func(t *rapid.T) {
		p, err := Build(inputs().Draw(t, "input"))
		if err != nil {
			p = Plan{Included: []Item{}, Excluded: []Item{}, Breakpoints: []int{}}
		}
		for i := range p.Included {
			p.Included[i].ID = string(rapid.SliceOf(rapid.Byte()).Draw(t, "id"))
			p.Included[i].Detail = rapid.String().Draw(t, "detail")
		}
		var standard bytes.Buffer
		e := json.NewEncoder(&standard)
		e.SetEscapeHTML(false)
		if err := e.Encode(plain(p)); err != nil {
			t.Fatal(err)
		}
		var want, got Plan
		if err := json.Unmarshal(standard.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(p.AppendJSON(nil), &got); err != nil {
			t.Fatalf("%v in %s", err, p.AppendJSON(nil))
		}
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%s\n%s", standard.Bytes(), p.AppendJSON(nil))
		}
		if out, err := json.Marshal(p); err != nil || !json.Valid(out) {
			t.Fatal(err)
		}
	})
}

func TestPlansAndInputsSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := inputs().Draw(t, "input")
		data, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseInput(data)
		if err != nil {
			t.Fatal(err)
		}
		p, errP := Build(in)
		q, errQ := Build(again)
		if (errP == nil) != (errQ == nil) || !reflect.DeepEqual(p, q) {
			t.Fatalf("%v %v\n%+v\n%+v", errP, errQ, p, q)
		}
		if errP != nil {
			return
		}
		back, err := ParsePlan(p.AppendJSON(nil))
		if err != nil || !reflect.DeepEqual(p, back) {
			t.Fatalf("%v\n%+v\n%+v", err, p, back)
		}
	})
}

func FuzzParseInput(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"budget":{"contextWindow":9,"reserveOutput":1},"overflow":"truncate-latest","candidates":[{"id":"a","section":"request","tokens":20,"required":true}]}`,
		`{"budget":{"contextWindow":50},"candidates":[{"id":"a","section":"history","tokens":2,"dependsOn":["b"],"ttl":0,"group":"g"},{"id":"b","section":"focus","tokens":3,"supersedes":["a","b","z"],"contentHash":"x","span":{"path":"p","start":1,"end":2}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := ParseInput(data)
		var bad *InputError
		if err != nil {
			if !errors.As(err, &bad) || !json.Valid(ErrorJSON(err)) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		buildAndCheck(t, in)
	})
}

// FuzzBuild reads bytes as a small world: every byte string is one.
func FuzzBuild(f *testing.F) {
	f.Add([]byte("a world of candidates that depend on each other, and replace each other, in circles"))
	f.Add(bytes.Repeat([]byte{0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233}, 20))
	f.Fuzz(func(t *testing.T, data []byte) {
		next := func() int {
			if len(data) == 0 {
				return 0
			}
			b := data[0]
			data = data[1:]
			return int(b)
		}
		in := Input{Budget: Budget{ContextWindow: next()}, Overflow: []string{"", OverflowFail, OverflowTruncateLatest}[next()%3]}
		n := next() % 24
		id := func(i int) string { return string(rune('a' + i%max(n, 1))) }
		for i := range n {
			c := Candidate{ID: id(i), Section: Sections()[next()%10], Tokens: next() % 64, Priority: float64(next() % 3), Seq: next() % 4}
			flags := next()
			c.Required, c.Pinned, c.Sent = flags&7 == 1, flags&7 == 2, flags&8 != 0
			if flags&16 != 0 {
				ttl := next() % 2
				c.TTL = &ttl
			}
			if flags&32 != 0 {
				c.Group = id(next() % 3)
			}
			for k := next() % 4; k > 1; k-- {
				c.DependsOn = append(c.DependsOn, id(next()))
			}
			for k := next() % 4; k > 1; k-- {
				c.Supersedes = append(c.Supersedes, id(next()))
			}
			if flags&64 != 0 {
				c.ContentHash = id(next() % 3)
			}
			if flags&128 != 0 {
				start := next() % 8
				c.Span = &Span{id(next() % 2), start, start + next()%8}
			}
			in.Candidates = append(in.Candidates, c)
		}
		buildAndCheck(t, in)
	})
}

func buildAndCheck(t *testing.T, in Input) {
	t.Helper()
	p, err := Build(in)
	var bad *InputError
	var overflow *OverflowError
	switch {
	case err == nil:
	case errors.As(err, &bad), errors.As(err, &overflow):
		if !json.Valid(ErrorJSON(err)) {
			t.Fatalf("%s", ErrorJSON(err))
		}
		return
	default:
		t.Fatalf("%T: %v", err, err)
	}
	if err := Check(in, p); err != nil {
		t.Fatal(err)
	}
	q, err := Build(shuffled(in, 3))
	if err != nil || q.PlanID != p.PlanID {
		t.Fatalf("in another order: %v, %s and %s", err, p.PlanID, q.PlanID)
	}
	if text := Text(p, nil); text == "" || DiffText(Diff(p, q), nil) == "" {
		t.Fatal("nothing to show")
	}
}
