package agent

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The seed's nine examples, with their types.
func TestClassifyExamples(t *testing.T) {
	for in, want := range map[string]string{
		"hi": "prompt", "write a quicksort function": "prompt", "explain TypeScript generics": "prompt",
		"fix bug in src/file.ts and run tests": "workflow", "analyze codebase and generate report": "workflow",
		"refactor authentication system": "workflow", "analyze src/ directory and generate a code quality report": "workflow",
		"help me with commands": "command", "show available tools": "command",
	} {
		got := classify(in)
		if got.Type != want || got.Method != "rule-based" || got.Confidence <= 0 || got.Confidence > 1 {
			t.Errorf("%q: %+v, want %s", in, got, want)
		}
	}
}

type labelled struct{ kind, input string }

func labelledSet(t testing.TB, name string) (out []labelled) {
	t.Helper()
	data, err := os.ReadFile("testdata/classify/" + name + ".tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if kind, input, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t"); ok && !strings.HasPrefix(line, "#") {
			out = append(out, labelled{kind, input})
		}
	}
	return out
}

// measure is how often the rules agree with the labels, and where they don't.
func measure(list []labelled) (right int, confusion string, wrong []string) {
	kinds := []string{"command", "prompt", "workflow"}
	count := map[string]int{}
	for _, x := range list {
		got := classify(x.input).Type
		count[x.kind+">"+got]++
		if got == x.kind {
			right++
		} else {
			wrong = append(wrong, fmt.Sprintf("%s, taken for %s: %s", x.kind, got, x.input))
		}
	}
	confusion = fmt.Sprintf("%-10s%9s%9s%9s\n", "is \\ taken", kinds[0], kinds[1], kinds[2])
	for _, is := range kinds {
		confusion += fmt.Sprintf("%-10s%9d%9d%9d\n", is, count[is+">command"], count[is+">prompt"], count[is+">workflow"])
	}
	return right, confusion, wrong
}

// The least share of each half that must be right; what is reached is printed.
func TestClassifyAccuracy(t *testing.T) {
	for _, half := range []struct {
		name  string
		least float64
	}{{"develop", 0.95}, {"held-out", 0.85}} {
		list := labelledSet(t, half.name)
		right, confusion, wrong := measure(list)
		share := float64(right) / float64(len(list))
		t.Logf("%s: %d of %d right, %.1f%%\n%s", half.name, right, len(list), share*100, confusion)
		if half.name == "develop" {
			t.Logf("wrong:\n%s", strings.Join(wrong, "\n"))
		}
		if share < half.least {
			t.Errorf("%s: %.3f, want at least %.2f", half.name, share, half.least)
		}
	}
}

// BenchmarkClassify prints the accuracy with the time.
func BenchmarkClassify(b *testing.B) {
	for _, name := range []string{"develop", "held-out"} {
		list := labelledSet(b, name)
		b.Run(name, func(b *testing.B) {
			begun := time.Now()
			for i := 0; b.Loop(); i++ {
				classify(list[i%len(list)].input)
			}
			right, _, _ := measure(list)
			b.ReportMetric(float64(time.Since(begun).Microseconds())/float64(b.N), "µs/input")
			b.ReportMetric(100*float64(right)/float64(len(list)), "%right")
		})
	}
}
