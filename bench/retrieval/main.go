package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/rag"
)

type options struct {
	cases, mirror, trees, dump, details, frozen string
	repos, runs                                 []string
	limit, k                                    int
	plain                                       bool
}

func main() {
	var o options
	flag.StringVar(&o.cases, "cases", "bench/retrieval/cases.jsonl", "the cases, one JSON object a line")
	flag.StringVar(&o.mirror, "repos", os.Getenv("RETRIEVAL_REPOS"), "folder of git repositories (owner+name or owner/name, bare or not)")
	flag.StringVar(&o.trees, "trees", filepath.Join(os.TempDir(), "retrieval-trees"), "where work trees are made")
	flag.StringVar(&o.dump, "dump", "", "write the features of all candidates to this file")
	flag.StringVar(&o.details, "details", "", "write the scores of each case to this file")
	flag.StringVar(&o.frozen, "frozen", "", "keep each case's index in this folder, and use what is kept there")
	flag.IntVar(&o.limit, "limit", 0, "cases of each repository; 0 is all")
	flag.IntVar(&o.k, "k", 100, "results asked for")
	flag.BoolVar(&o.plain, "plain", false, "ask with the text less its conventional prefix")
	repo := flag.String("repo", "", "only repositories whose name has one of these (comma-separated)")
	batch := flag.Bool("batch", false, "answer queries from standard input, a JSON object a line (see rag.Batch)")
	fitOn := flag.String("fit", "", "fit weights to this file of features, and report on the one that -dump names")
	drop := flag.String("drop", "", "features to leave out of the fit (comma-separated)")
	runs := flag.String("run", "ours", "methods, comma-separated: ours, ours-RANKER (without it), keywords, bm25, bleve; all is these, and ours without each ranker")
	flag.Parse()
	if *batch {
		if err := serveBatch(); err != nil {
			fmt.Fprintln(os.Stderr, "retrieval:", err)
			os.Exit(1)
		}
		return
	}
	if *fitOn != "" {
		_, w := rag.FeatureNames()
		if err := tune(*fitOn, o.dump, w, strings.Split(*drop, ",")); err != nil {
			fmt.Fprintln(os.Stderr, "retrieval:", err)
			os.Exit(1)
		}
		return
	}
	o.runs = strings.Split(*runs, ",")
	if *runs == "all" {
		o.runs = []string{"keywords", "bleve", "bm25", "ours"}
		for _, r := range append(rag.Rankers(), "trust") {
			o.runs = append(o.runs, "ours-"+r)
		}
	}
	if *repo != "" {
		o.repos = strings.Split(*repo, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "retrieval:", err)
		os.Exit(1)
	}
}

// serveBatch keeps its indexes in a folder that goes with it.
func serveBatch() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return rag.Batch(ctx, os.Stdin, os.Stdout, func(dir string) (*rag.Index, func(), error) {
		sc, err := workspace.NewScanner(dir)
		if err != nil {
			return nil, nil, err
		}
		cache, err := os.MkdirTemp("", "retrieval-batch-")
		if err != nil {
			return nil, nil, err
		}
		x, err := rag.Open(cache, source{sc}, rag.Options{})
		if err != nil {
			return nil, nil, err
		}
		return x, func() { x.Close(); sc.Close(); os.RemoveAll(cache) }, nil
	})
}

func run(ctx context.Context, o options) error {
	order, by, err := loadCases(o.cases, o.repos, o.limit)
	if err != nil {
		return err
	}
	if o.mirror, err = haveRepos(ctx, o.mirror, order); err != nil {
		return err
	}
	scores := map[string][]Score{}
	var dump *json.Encoder
	if o.dump != "" {
		f, err := os.Create(o.dump)
		if err != nil {
			return err
		}
		defer f.Close()
		dump = json.NewEncoder(f)
	}
	for _, repo := range order {
		start := time.Now()
		if err := runRepo(ctx, o, repo, by[repo], scores, dump); err != nil {
			return fmt.Errorf("%s: %w", repo, err)
		}
		fmt.Printf("## %s (%d cases, %.0f s)\n%s\n", repo, len(by[repo]), time.Since(start).Seconds(), tableHead)
		for _, r := range o.runs {
			fmt.Println(tableRow(r, only(scores[r], func(s Score) bool { return s.Repo == repo })))
		}
	}
	fmt.Printf("\n## All cases\n%s\n", tableHead)
	for _, r := range o.runs {
		fmt.Println(tableRow(r, scores[r]))
	}
	fmt.Printf("\n## Share of the changed lines inside the plan\n%s\n", planHead)
	for _, r := range o.runs {
		if baselines[r] != nil || r == "ours" {
			fmt.Println(planRow(r+", filled by rank", scores[r], func(s Score) planShares { return s.Filled }))
		}
		if r == "ours" {
			fmt.Println(planRow("ours, planned", scores[r], func(s Score) planShares { return s.Plan }))
		}
	}
	fmt.Printf("\n## Cases whose text names none of the files\n%s\n", tableHead)
	for _, r := range o.runs {
		fmt.Println(tableRow(r, only(scores[r], func(s Score) bool { return s.Hint == "none" })))
	}
	if o.details != "" {
		return writeDetails(o.details, scores, o.runs)
	}
	return nil
}

func only(ss []Score, keep func(Score) bool) []Score {
	return slices.DeleteFunc(slices.Clone(ss), func(s Score) bool { return !keep(s) })
}

func writeDetails(path string, scores map[string][]Score, runs []string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, r := range runs {
		for _, s := range scores[r] {
			fmt.Fprintf(f, "%s\t%s\tr5=%.2f r10=%.2f mrr=%.2f span=%.2f file4k=%.2f\t%v\n", r, s.ID, s.R5, s.R10, s.MRR, s.Span4K, s.File4K, s.Ranks)
		}
	}
	return nil
}

func runRepo(ctx context.Context, o options, repo string, cases []Case, scores map[string][]Score, dump *json.Encoder) error {
	gitDir, ok := findRepo(o.mirror, repo)
	if !ok {
		return fmt.Errorf("no repository of that name below %q", o.mirror)
	}
	t, err := newTree(ctx, gitDir, filepath.Join(o.trees, strings.ReplaceAll(repo, "/", "+")))
	if err != nil {
		return err
	}
	cache := filepath.Join(o.trees, "index", strings.ReplaceAll(repo, "/", "+"))
	sc, err := workspace.NewScanner(t.dir)
	if err != nil {
		return err
	}
	defer sc.Close()
	var x *rag.Index
	defer func() {
		if x != nil {
			x.Close()
		}
	}()
	others, closeAll, err := openBaselines(o.runs)
	if err != nil {
		return err
	}
	defer closeAll()
	if len(others) > 0 {
		o.frozen = "" // a frozen tree is not there to be read
	}
	for i, c := range cases {
		cold := filepath.Join(o.frozen, c.ID)
		if o.frozen != "" {
			y, s, err := thaw(cold, t, c)
			if err == nil {
				err = runCase(ctx, o, y, c, s.Read, i, scores, dump)
				s.close()
				y.Close()
				if err != nil {
					return err
				}
				continue
			}
		}
		if err := t.move(ctx, c.Parent); err != nil {
			return err
		}
		if x == nil {
			if x, err = rag.Open(cache, source{sc}, rag.Options{}); err != nil {
				return err
			}
		}
		if err := runCase(ctx, o, x, c, sc.Read, i, scores, dump); err != nil {
			return err
		}
		for r, b := range others {
			s, err := runBaseline(ctx, b, sc, o, c)
			if err != nil {
				return err
			}
			scores[r] = append(scores[r], s)
		}
		if o.frozen != "" {
			files, err := source{sc}.Files(ctx, nil)
			if err != nil {
				return err
			}
			x.Close()
			x = nil
			if err := freeze(cold, cache, files); err != nil {
				return err
			}
		}
	}
	return nil
}

func runCase(ctx context.Context, o options, x *rag.Index, c Case, read func(string) ([]byte, error), i int, scores map[string][]Score, dump *json.Encoder) error {
	begin := time.Now()
	if err := x.Refresh(ctx); err != nil {
		return err
	}
	text := c.Query
	if o.plain {
		text = c.QueryPlain
	}
	for _, r := range o.runs {
		if baselines[r] != nil {
			continue
		}
		s, err := ours(ctx, x, c, text, r, read, o.k)
		if err != nil {
			return err
		}
		s.First, s.Seconds = i == 0, time.Since(begin).Seconds()
		scores[r] = append(scores[r], s)
	}
	if dump != nil {
		return dumpFeatures(ctx, x, c, text, dump)
	}
	return nil
}

func runBaseline(ctx context.Context, b *watched, sc *workspace.Scanner, o options, c Case) (Score, error) {
	if err := b.refresh(ctx, sc); err != nil {
		return Score{}, err
	}
	text := c.Query
	if o.plain {
		text = c.QueryPlain
	}
	begin := time.Now()
	rs, err := b.search(text, o.k)
	if err != nil {
		return Score{}, err
	}
	ms := float64(time.Since(begin).Microseconds()) / 1000
	s := measure(c, rs, sc.Read)
	s.QueryMS, s.Filled = ms, filled(c, rs, sc.Read)
	return s, nil
}

func ours(ctx context.Context, x *rag.Index, c Case, text, method string, read func(string) ([]byte, error), k int) (Score, error) {
	q := rag.Query{Text: text, K: k}
	if _, w, ok := strings.Cut(method, "-"); ok {
		q.Without = strings.Split(w, "-")
	}
	begin := time.Now()
	set, err := x.Search(ctx, q)
	if err != nil {
		return Score{}, err
	}
	ms := float64(time.Since(begin).Microseconds()) / 1000
	rs := make([]Result, len(set.Items))
	for i, it := range set.Items {
		rs[i] = Result{it.Path, it.StartLine, it.EndLine, it.Score}
	}
	s := measure(c, rs, read)
	s.QueryMS, s.Filled = ms, filled(c, rs, read)
	if method == "ours" {
		s.Plan, err = planned(ctx, x, c, text, read)
	}
	return s, err
}

// dumpFeatures writes what tuning needs: each candidate's features and whether it is relevant.
func dumpFeatures(ctx context.Context, x *rag.Index, c Case, text string, out *json.Encoder) error {
	fs, err := x.Features(ctx, rag.Query{Text: text}, 150)
	if err != nil {
		return err
	}
	type row struct {
		P string    `json:"p"`
		Y int       `json:"y"`
		X []float64 `json:"x"`
	}
	rows := []row{}
	for _, f := range fs {
		if !eligible(f.Path) {
			continue
		}
		r := row{P: f.Path}
		if slices.Contains(c.Relevant, f.Path) {
			r.Y = 1
		}
		for _, v := range f.Values {
			r.X = append(r.X, float64(int(v*1e4+.5))/1e4)
		}
		rows = append(rows, r)
	}
	names, _ := rag.FeatureNames()
	return out.Encode(map[string]any{"id": c.ID, "repo": c.Repo, "gold": len(c.Relevant), "feats": names, "rows": rows})
}
