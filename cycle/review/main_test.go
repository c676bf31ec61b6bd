package review

import (
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// randomFiles is how many random histories each random test makes, unless
// -rapid.checks says otherwise: with stepsPerFile each, 100,000 steps.
const randomFiles = 1000

// steps counts what the random tests did, over all histories.
var steps atomic.Int64

// TestMain chooses the seed of the random tests, and prints it, so that what is
// found can be found again: -rapid.seed=…. RANDOM_SEED says which (make test
// takes the commit's own, so that one commit is one verdict); else it is
// another one each time.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	set := func(name string, value any) {
		if !given[name] {
			if err := flag.Set(name, fmt.Sprint(value)); err != nil {
				panic(err)
			}
		}
	}
	if !testing.Short() {
		set("rapid.checks", randomFiles)
	}
	seed := os.Getenv("RANDOM_SEED")
	if seed == "" {
		seed = fmt.Sprint(time.Now().UnixNano())
	}
	set("rapid.seed", seed)
	fmt.Printf("random tests: -rapid.checks=%v -rapid.seed=%v\n", flag.Lookup("rapid.checks").Value, flag.Lookup("rapid.seed").Value)
	code := m.Run()
	fmt.Printf("random tests: %d steps\n", steps.Load())
	os.Exit(code)
}
