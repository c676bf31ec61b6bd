package review

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// randomFiles is how many random histories each random test makes, unless
// -rapid.checks says otherwise: with stepsPerFile each, 100,000 steps.
const randomFiles = 1000

// seedOfTests makes every run of the tests the same; make test-random looks
// further, with a seed of its own each time.
const seedOfTests = 1

// TestMain chooses the seed of the random tests and prints it.
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
	set("rapid.seed", seedOfTests)
	fmt.Printf("random tests: -rapid.checks=%v -rapid.seed=%v\n", flag.Lookup("rapid.checks").Value, flag.Lookup("rapid.seed").Value)
	os.Exit(m.Run())
}
