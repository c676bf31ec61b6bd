package rag

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestBatch(t *testing.T) {
	src := newMemory(shop)
	opened, released := 0, 0
	open := func(dir string) (*Index, func(), error) {
		if dir != "/shop" {
			return nil, nil, errors.New("no such folder")
		}
		opened++
		x := openIndex(t, "", src)
		return x, func() { released++; x.Close() }, nil
	}
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() {
		defer out.Close()
		done <- Batch(context.Background(), in, out, open)
	}()
	dec := json.NewDecoder(answers)
	ask := func(line string) (a batchAnswer) {
		t.Helper()
		fmt.Fprintln(feed, line)
		if err := dec.Decode(&a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := ask(`{"id":1,"dir":"/shop","query":"verify token","k":3}`)
	if string(a.ID) != "1" || len(a.Results) == 0 || a.Results[0].Path != "internal/auth/jwt.rs" || len(a.Results) > 3 {
		t.Errorf("%+v", a)
	}
	// What changed since the last line is found.
	src.put("new.go", "package n\n\nfunc BrandNewThing() {}\n")
	if a = ask(`{"id":"two","dir":"/shop","query":"brand new thing"}`); string(a.ID) != `"two"` || len(a.Results) == 0 || a.Results[0].Path != "new.go" {
		t.Errorf("%+v", a)
	}
	for _, bad := range []string{`{"id":3,"dir":"/nowhere","query":"x"}`, `{"id":4,"query":"x"}`, `not json`} {
		if a = ask(bad); a.Error == "" || a.Results == nil {
			t.Errorf("%s: %+v", bad, a)
		}
	}
	for _, odd := range []struct {
		line, id string
		found    bool
	}{
		{`{"id":12345678901234567890,"dir":"/shop","query":"verify token","k":2.0}`, "12345678901234567890", true},
		{`{"id":{"a":[1]},"dir":"/shop","query":"verify token","k":0}`, `{"a":[1]}`, true},
		{`{"id":5,"dir":"/shop","query":"verify token","k":1e300}`, "5", true},
		{`{"id":6,"dir":"/shop","query":"verify token","k":-1}`, "6", true},
		{`{"id":7,"dir":"/shop","query":"verify token","k":"3"}`, "7", false},
		{`{"id":8,"dir":"/shop","query":42}`, "8", false},
		{`{"id":9,"dir":"/shop","query":""}`, "9", false},
		{`{"dir":"/shop","query":"verify token"}`, "null", true},
		{`[1, 2]`, "null", false},
		{`null`, "null", false},
	} {
		if a = ask(odd.line); string(a.ID) != odd.id || (len(a.Results) > 0) != odd.found || (a.Error == "") != odd.found {
			t.Errorf("%s: %+v", odd.line, a)
		}
	}
	feed.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if opened != 1 || released != 1 {
		t.Errorf("opened %d, released %d", opened, released)
	}
}
