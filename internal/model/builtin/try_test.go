package builtin

import (
	"fmt"
	"os"
	"testing"
)

func TestTry(t *testing.T) {
	if os.Getenv("TRY") == "" {
		t.Skip("TRY is not set")
	}
	s := loadShop(t, os.Getenv("TRYDIR"))
	fmt.Println(s.ask(t, os.Getenv("TRY")))
	if os.Getenv("CALLS") != "" {
		for _, c := range s.calls {
			fmt.Println("   ", clip(c, 300))
		}
	}
}
