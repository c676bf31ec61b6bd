package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTryEdit(t *testing.T) {
	if os.Getenv("TRYEDIT") == "" {
		t.Skip("TRYEDIT is not set")
	}
	s := loadShop(t, os.Getenv("TRYDIR"))
	before := map[string]string{}
	for p, c := range s.files {
		before[p] = c
	}
	fmt.Println(s.ask(t, os.Getenv("TRYEDIT")))
	for _, c := range s.calls {
		fmt.Println("   ", clip(c, 400))
	}
	for p, c := range s.files {
		if before[p] != c {
			os.WriteFile(filepath.Join(os.Getenv("TRYDIR"), p), []byte(c), 0o644)
			a, b := strings.Split(before[p], "\n"), strings.Split(c, "\n")
			for i := range b {
				if i < len(a) && len(a) == len(b) && a[i] != b[i] {
					fmt.Println(p, i+1, "-", a[i], "\n   +", b[i])
				}
			}
		}
	}
}
