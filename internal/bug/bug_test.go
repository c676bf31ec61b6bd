package bug

import (
	"strings"
	"testing"
)

func TestReportPanicsInTests(t *testing.T) {
	defer func() {
		if s, _ := recover().(string); !strings.HasPrefix(s, "bug at bug_test.go:") || !strings.HasSuffix(s, ": 1 is not 2") {
			t.Errorf("panic: %q", s)
		}
	}()
	Report("%d is not %d", 1, 2)
	t.Error("no panic")
}

func TestReportsAreBounded(t *testing.T) {
	var got []string
	Notify(func(place, message string) { got = append(got, place+" "+message) })
	defer Notify(nil)
	before := Count()
	for i := range ReportsMax + 5 {
		Report("number %d", i)
	}
	Report("elsewhere")
	if len(got) != ReportsMax+1 || Count()-before != ReportsMax+6 {
		t.Errorf("%d reports reached the sink, %d were counted", len(got), Count()-before)
	}
	if !strings.HasPrefix(got[0], "bug_test.go:") || !strings.HasSuffix(got[0], "number 0") || !strings.HasSuffix(got[ReportsMax], "elsewhere") {
		t.Errorf("reports: %q", got)
	}
}
