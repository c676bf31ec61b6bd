package contextplan

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestEstimatesAreNearATokenizer: the counts are those of the o200k byte-pair tokenizer, taken once.
func TestEstimatesAreNearATokenizer(t *testing.T) {
	for _, test := range estimateSamples {
		got := EstimateTokens(test.kind, test.text)
		if off := math.Abs(float64(got)/float64(test.tokens) - 1); off > 0.2 {
			t.Errorf("%s %.20q…: %d, the tokenizer makes %d (%.0f %% off)", test.kind, test.text, got, test.tokens, 100*off)
		}
	}
}

func TestEstimateIsNeverZeroAndGrowsWithTheText(t *testing.T) {
	kind := rapid.SampledFrom([]Kind{Code, Prose, Data, "unknown"})
	rapid.Check(t, func(t *rapid.T) {
		k, a, b := kind.Draw(t, "kind"), rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		x, y, both := EstimateTokens(k, a), EstimateTokens(k, b), EstimateTokens(k, a+b)
		if (x == 0) != (a == "") {
			t.Fatalf("%q is %d", a, x)
		}
		// A cut splits at most one run, which costs two tokens and the rounding at most.
		if both > x+y+2 || both+3 < x+y {
			t.Fatalf("%d + %d, together %d", x, y, both)
		}
	})
}

func TestCalibrationFindsTheFactorOfEachModel(t *testing.T) {
	text := strings.Repeat("if err != nil { return err }\n", 200)
	var e Estimator
	for range 20 {
		for model, factor := range map[string]float64{"a": 1.3, "b": 0.8} {
			actual := int(factor * float64(EstimateTokens(Code, text)))
			e = e.Calibrate(model, e.Estimate(model, Code, text), actual)
		}
	}
	for model, factor := range map[string]float64{"a": 1.3, "b": 0.8, "unknown": 1} {
		c := e.Calibration(model)
		if math.Abs(c.Factor-factor) > 0.02 {
			t.Errorf("%s: factor %.3f, want %.1f", model, c.Factor, factor)
		}
		if model != "unknown" && (c.Samples != 20 || c.Error > 0.05) {
			t.Errorf("%+v", c)
		}
	}
}

func TestCalibrationIsPureAndBounded(t *testing.T) {
	e := Estimator{}.Calibrate("m", 100, 110)
	before := e.Calibration("m")
	f := e.Calibrate("m", 100, 1_000_000).Calibrate("a", 100, 1)
	if e.Calibration("m") != before || len(e.Models) != 1 {
		t.Errorf("calibrating changed what was there: %+v", e)
	}
	if f.Calibration("m").Factor > factorMax || f.Calibration("a").Factor < factorMin {
		t.Errorf("%+v", f)
	}
	if g := e.Calibrate("m", 0, 5).Calibrate("m", 5, 0).Calibrate("m", -1, 5); len(g.Models) != 1 || g.Calibration("m") != before {
		t.Errorf("a report without numbers changed it: %+v", g)
	}
	if f.Estimate("a", Code, "x") < 1 {
		t.Error("a text that isn't empty has no tokens")
	}
}

var estimateSamples = []struct {
	kind   Kind
	text   string
	tokens int
}{
	{Code, "// Read fills p with what is left of the frame, and reports io.EOF at its end.\nfunc (r *frameReader) Read(p []byte) (n int, err error) {\n\tif r.remaining == 0 {\n\t\treturn 0, io.EOF\n\t}\n\tn, err = r.source.Read(p[:min(len(p), r.remaining)])\n\tr.remaining -= n\n\tif err == io.EOF && r.remaining > 0 {\n\t\treturn n, fmt.Errorf(\"frame %d: %w\", r.number, io.ErrUnexpectedEOF)\n\t}\n\treturn n, err\n}\n", 123},
	{Code, "class Cache:\n    \"\"\"A dictionary that forgets what was used least recently.\"\"\"\n\n    def __init__(self, capacity: int = 128) -> None:\n        self.capacity = capacity\n        self._items: OrderedDict[str, bytes] = OrderedDict()\n\n    def get(self, key: str, default=None):\n        if key not in self._items:\n            return default\n        self._items.move_to_end(key)\n        return self._items[key]\n", 95},
	{Prose, "The planner decides what the model sees. Each candidate is either in the plan or out of it, with exactly one reason, and the reason names the numbers or the other candidate. When what must be in does not fit, that is an error which lists it; nothing is ever cut without saying so.\n\nA plan is a value: the same input gives the same bytes, on every machine and in every order.\n", 83},
	{Data, "{\"id\":\"run-17\",\"started\":\"2026-01-31T12:45:09Z\",\"ok\":true,\"steps\":[{\"tool\":\"read\",\"ms\":12,\"bytes\":20480},{\"tool\":\"grep\",\"ms\":7,\"matches\":93}],\"usage\":{\"input\":18230,\"output\":512,\"cached\":16384}}\n", 72},
}
