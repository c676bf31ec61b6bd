package rag

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxBatchLine bounds a line of a batch's input.
const maxBatchLine = 4 << 20

type batchRequest struct {
	ID    json.RawMessage `json:"id"` // whatever it is, it comes back as it came
	Dir   string          `json:"dir"`
	Query string          `json:"query"`
	K     float64         `json:"k"` // 30, 30.0 and 3e1 are the same to whoever wrote it
}

type batchResult struct {
	Path      string  `json:"path"`
	StartLine int     `json:"start_line"`
	EndLine   int     `json:"end_line"`
	Score     float64 `json:"score"`
}

type batchAnswer struct {
	ID      json.RawMessage `json:"id"`
	Results []batchResult   `json:"results"`
	Error   string          `json:"error,omitempty"`
}

// idOf finds the id of a line whose other fields are not what they should be.
func idOf(line []byte) json.RawMessage {
	var r struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(line, &r) // what is no object has no id, and gets null
	return r.ID
}

// Batch answers queries line by line: {"id","dir","query","k"} in,
// {"id","results":[{"path","start_line","end_line","score"}]} out. The files of dir,
// and the commit that is checked out there, may have changed since the last line: what
// changed is indexed before the answer. A line that cannot be answered gets an answer
// with "error" and no results. Each dir is opened once, by open, whose second result
// releases it.
func Batch(ctx context.Context, in io.Reader, out io.Writer, open func(dir string) (*Index, func(), error)) (err error) {
	type opened struct {
		x       *Index
		release func()
	}
	dirs := map[string]opened{}
	defer func() {
		for _, o := range dirs {
			o.release()
		}
	}()
	answer := func(r batchRequest) ([]batchResult, error) {
		if r.Dir == "" || r.Query == "" {
			return nil, errors.New("a line needs \"dir\" and \"query\"")
		}
		o, ok := dirs[r.Dir]
		if !ok {
			x, release, err := open(r.Dir)
			if err != nil {
				return nil, err
			}
			o = opened{x, release}
			dirs[r.Dir] = o
		}
		if err := o.x.Refresh(ctx); err != nil {
			return nil, err
		}
		set, err := o.x.Search(ctx, Query{Text: r.Query, K: int(min(max(r.K, 0), MaxK))})
		res := make([]batchResult, len(set.Items))
		for i, it := range set.Items {
			res[i] = batchResult{it.Path, it.StartLine, it.EndLine, it.Score}
		}
		return res, err
	}
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	sc := bufio.NewScanner(in)
	sc.Buffer(make([]byte, 64<<10), maxBatchLine)
	for sc.Scan() {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var r batchRequest
		a := batchAnswer{Results: []batchResult{}}
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			a.Error = fmt.Sprintf("not a JSON object of {id, dir, query, k}: %v", err)
		} else if res, err := answer(r); err != nil {
			a.Error = err.Error()
		} else {
			a.Results = res
		}
		if a.ID = r.ID; a.ID == nil {
			a.ID = idOf(sc.Bytes())
		}
		if err := enc.Encode(a); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if err := sc.Err(); err != nil {
		return fmt.Errorf("read a query: %w", err)
	}
	return nil
}
