package contextplan

import (
	"slices"
	"strings"
)

// Kind says what a text is made of, as far as it matters for how many tokens a byte is worth.
type Kind string

const (
	Code  Kind = "code"
	Prose Kind = "prose"
	Data  Kind = "data" // JSON, logs, listings: many digits and signs
)

// Estimator estimates tokens per model. It is a value: Calibrate returns a new one, and the old one stays as it was.
// The zero Estimator is uncalibrated. It is stored as JSON.
type Estimator struct {
	Models []Calibration `json:"models"` // by name
}

// Calibration is what the usage reports of one model taught.
type Calibration struct {
	Model   string  `json:"model"`
	Factor  float64 `json:"factor"`  // what an uncalibrated estimate is multiplied with
	Error   float64 `json:"error"`   // the mean of |estimated - actual| / actual, recent ones counting more
	Samples int     `json:"samples"` // how many reports there were
}

// Bounds of the calibration: a factor beyond them says that a report is about something else.
const (
	factorMin, factorMax = 0.25, 4.0
	// weightMin is what a new report counts for once there are enough; before, all reports count the same.
	weightMin = 1.0 / 8
)

// Estimate is about how many tokens the model makes of text; never 0 for a text that isn't empty.
func (e Estimator) Estimate(model string, kind Kind, text string) int {
	raw := EstimateTokens(kind, text)
	if raw == 0 {
		return 0
	}
	return max(1, int(float64(raw)*e.Calibration(model).Factor+0.5))
}

// Calibration returns what is known of model; a factor of 1 when nothing is.
func (e Estimator) Calibration(model string) Calibration {
	if at, ok := e.find(model); ok {
		return e.Models[at]
	}
	return Calibration{Model: model, Factor: 1}
}

func (e Estimator) find(model string) (int, bool) {
	return slices.BinarySearchFunc(e.Models, model, func(c Calibration, name string) int { return strings.Compare(c.Model, name) })
}

// Calibrate takes in one usage report: what Estimate said for the whole prompt, and what the model counted. Reports
// without one of the two numbers are ignored.
func (e Estimator) Calibrate(model string, estimated, actual int) Estimator {
	if estimated <= 0 || actual <= 0 {
		return e
	}
	c := e.Calibration(model)
	c.Samples++
	weight := max(weightMin, 1/float64(c.Samples))
	ratio := float64(actual) / float64(estimated)
	c.Factor = min(max(c.Factor*(1+weight*(ratio-1)), factorMin), factorMax)
	off := 1 - 1/ratio
	if off < 0 {
		off = -off
	}
	c.Error += weight * (off - c.Error)

	models := slices.Clone(e.Models)
	if at, ok := e.find(model); ok {
		models[at] = c
	} else {
		models = slices.Insert(models, at, c)
	}
	return Estimator{Models: models}
}

// EstimateTokens is the uncalibrated estimate: it cuts text into runs of one class, as tokenizers do, and sums up what
// runs of such a class and length come to on average, in units of 1/tokenUnits of a token. It reads each byte once and
// needs no table of words.
func EstimateTokens(kind Kind, text string) int {
	if text == "" {
		return 0
	}
	cost := costsOf(kind)
	sum := 0
	for i := 0; i < len(text); {
		class := classes[text[i]]
		start := i
		for i++; i < len(text) && classes[text[i]] == class; i++ {
		}
		run := i - start
		switch class {
		case letter:
			// A short word is one token with the space before it; a long one is several.
			sum += tokenUnits + max(0, run-cost.wordBytes)*cost.longWordByte
		case digit:
			sum += (run + 2) / 3 * tokenUnits
		case space:
			if run > 1 {
				sum += cost.spaces
			}
		case newline:
			sum += cost.newline
		case sign:
			sum += cost.sign + (run-1)*cost.nextSign
		case high:
			sum += run * cost.highByte
		}
	}
	return max(1, (sum+tokenUnits/2)/tokenUnits)
}

// tokenUnits is the precision of the sums: integers add up the same on every machine.
const tokenUnits = 256

// costs in 1/tokenUnits, fitted once to a byte-pair tokenizer on source files, prose and JSON.
type costs struct {
	wordBytes    int // letters that come with a word's first token
	longWordByte int // each letter more
	spaces       int // indentation
	newline      int
	sign         int // the first of a run of punctuation
	nextSign     int // each further one
	highByte     int // a byte of what is not ASCII
}

func costsOf(kind Kind) costs {
	switch kind {
	case Prose:
		return costs{wordBytes: 7, longWordByte: 48, spaces: 128, newline: 128, sign: 256, nextSign: 96, highByte: 96}
	case Data:
		return costs{wordBytes: 6, longWordByte: 56, spaces: 192, newline: 64, sign: 230, nextSign: 64, highByte: 96}
	}
	return costs{wordBytes: 6, longWordByte: 56, spaces: 192, newline: 64, sign: 230, nextSign: 96, highByte: 96}
}

const (
	letter = iota
	digit
	space
	newline
	sign
	high
)

var classes = func() (table [256]uint8) {
	for b := range table {
		switch {
		case b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z':
			table[b] = letter
		case b >= '0' && b <= '9':
			table[b] = digit
		case b == ' ' || b == '\t':
			table[b] = space
		case b == '\n' || b == '\r':
			table[b] = newline
		case b < 0x80:
			table[b] = sign
		default:
			table[b] = high
		}
	}
	return table
}()
