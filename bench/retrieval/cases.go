package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Case is one query with what should be found for it.
type Case struct {
	ID           string              `json:"id"`
	Repo         string              `json:"repo"`
	Commit       string              `json:"commit"`
	Parent       string              `json:"parent"`
	Date         string              `json:"date"`
	Hint         string              `json:"hint"` // whether the text names a file that should be found
	Query        string              `json:"query"`
	QueryPlain   string              `json:"query_plain"` // without a conventional prefix
	Relevant     []string            `json:"relevant"`
	RelevantImpl []string            `json:"relevant_impl"` // those that are not tests
	Spans        map[string][][2]int `json:"spans"`         // changed lines of the old side
}

// loadCases gives the cases by repository, oldest first, at most limit of each,
// evenly spaced.
func loadCases(path string, repos []string, limit int) (order []string, by map[string][]Case, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	by = map[string][]Case{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var c Case
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(repos) > 0 && !slices.ContainsFunc(repos, func(r string) bool { return strings.Contains(c.Repo, r) }) {
			continue
		}
		if by[c.Repo] == nil {
			order = append(order, c.Repo)
		}
		by[c.Repo] = append(by[c.Repo], c)
	}
	for r, cs := range by {
		slices.SortFunc(cs, func(a, b Case) int { return cmp.Or(cmp.Compare(a.Date, b.Date), cmp.Compare(a.ID, b.ID)) })
		if limit > 0 && len(cs) > limit {
			var few []Case
			for i := range limit {
				few = append(few, cs[i*len(cs)/limit])
			}
			cs = few
		}
		by[r] = cs
	}
	return order, by, sc.Err()
}

var (
	sourceExt = func() map[string]bool {
		m := map[string]bool{}
		for _, e := range strings.Fields(`go py pyi ts tsx mts cts js jsx mjs cjs vue svelte rs java kt kts scala groovy c h cc cpp
			cxx hpp hh lua vim rb php cs swift m mm tcl pl pm sh bash zsh sql proto`) {
			m[e] = true
		}
		return m
	}()
	skipDir = regexp.MustCompile(`(?i)(^|/)(vendor|node_modules|third_party|thirdparty|deps|dist|build/generated|` +
		`generated|testdata|__snapshots__|fixtures?|\.git)(/|$)`)
	skipFile = regexp.MustCompile(`(?i)(\.min\.js|\.pb\.go|_pb2\.py|\.generated\.\w+|\.d\.ts\.map|bindata\.go)$`)
	testFile = regexp.MustCompile(`(^|/)(tests?|__tests__|spec|specs|testing|e2e|integration|integration-cli|playground|testsuite|unit)(/|$)|` +
		`(_test\.\w+|[._-](spec|test)\.\w+|Tests?\.(java|kt|scala)|(^|/)test_[^/]*\.py|conftest\.py)$`)
)

// eligible says whether a path can be relevant; others count for nothing when returned.
func eligible(p string) bool {
	base := p[strings.LastIndexByte(p, '/')+1:]
	dot := strings.LastIndexByte(base, '.')
	if dot < 0 || !sourceExt[strings.ToLower(base[dot+1:])] {
		return false
	}
	return !skipDir.MatchString(p) && !skipFile.MatchString(p)
}
