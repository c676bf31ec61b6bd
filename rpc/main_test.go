package rpc

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be a server on its own standard streams, and
// holds that no test leaves a goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv("RPC_TEST_SERVE") != "" {
		s := New(Stdio(), Options{Open: openFake(newStoryEngine())})
		fmt.Println("nor this")
		if err := s.Run(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// The index library keeps four workers from its init to the end.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/blevesearch/bleve_index_api.AnalysisWorker"))
}

func openFake(e Engine) Open {
	return func(context.Context, InitOptions) (Engine, error) { return e, nil }
}
