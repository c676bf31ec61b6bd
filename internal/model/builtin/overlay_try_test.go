package builtin

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestTryOverlay(t *testing.T) {
	if os.Getenv("OVERLAY") == "" {
		t.Skip()
	}
	for _, row := range strings.Split(os.Getenv("OVERLAY"), ";") {
		f := strings.SplitN(row, "|", 2)
		dir := "/usr/local/go/src/" + f[0]
		s := loadShop(t, dir)
		before := map[string]string{}
		for p, c := range s.files {
			before[p] = c
		}
		text := s.ask(t, f[1])
		tmp := t.TempDir()
		over := map[string]string{}
		n := 0
		for p, c := range s.files {
			if before[p] != c {
				n++
				file := filepath.Join(tmp, strings.ReplaceAll(p, "/", "_"))
				os.WriteFile(file, []byte(c), 0o644)
				over[filepath.Join(dir, p)] = file
			}
		}
		b, _ := json.Marshal(map[string]any{"Replace": over})
		os.WriteFile(tmp+"/o.json", b, 0o644)
		out, err := exec.Command("go", "test", "-vet=off", "-run", "XXX", "-overlay", tmp+"/o.json", f[0]).CombinedOutput()
		fmt.Println("==", row, n, "files; build:", err == nil, "|", strings.SplitN(text, "\n", 2)[0])
		if err != nil {
			fmt.Println(clip(string(out), 600), "\n", clip(text, 1500))
		}
	}
}
