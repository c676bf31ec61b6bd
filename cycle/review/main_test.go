package review

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

// randomFiles is how many random histories each random test makes, unless
// -rapid.checks says otherwise: with stepsPerFile each, 100,000 steps.
const randomFiles = 1000

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
	set("rapid.seed", time.Now().UnixNano()&(1<<62-1))
	fmt.Printf("random tests: -rapid.checks=%v -rapid.seed=%v\n", flag.Lookup("rapid.checks").Value, flag.Lookup("rapid.seed").Value)
	os.Exit(m.Run())
}
