package tools

import "strings"

// reindent turns indentation as the model wrote it into the file's, as learned
// from lines that stand in both.
type reindent struct {
	known        map[string]string // the model's indent → the file's
	first        string            // the model's indent of the first line that isn't blank
	unit, toUnit string            // one more level, in both; "" when not seen
}

// learnIndent pairs lines that are equal but for their indentation. The same
// indent of the model's must always be the same one of the file's, else there
// is nothing to learn.
func learnIndent(model, file []string) (reindent, bool) {
	re := reindent{known: map[string]string{}}
	var prevModel, prevFile string
	seen := false
	for i := range model {
		if strings.TrimSpace(model[i]) == "" {
			continue
		}
		m, f := indentOf(model[i]), indentOf(file[i])
		if old, ok := re.known[m]; ok && old != f {
			return re, false
		}
		re.known[m] = f
		if !seen {
			re.first, seen = m, true
		} else if re.unit == "" {
			re.unit, re.toUnit = step(prevModel, m, prevFile, f)
		}
		prevModel, prevFile = m, f
	}
	return re, seen
}

// step gives what one indent has more than the other, in both spellings, going
// either deeper or back.
func step(prevModel, m, prevFile, f string) (unit, toUnit string) {
	if len(prevModel) > len(m) {
		prevModel, m, prevFile, f = m, prevModel, f, prevFile
	}
	u, ok1 := strings.CutPrefix(m, prevModel)
	v, ok2 := strings.CutPrefix(f, prevFile)
	if !ok1 || !ok2 || u == "" || v == "" {
		return "", ""
	}
	return u, v
}

// apply indents a new text as the file does.
func (re reindent) apply(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		in := indentOf(l)
		lines[i] = re.indent(in) + l[len(in):]
	}
	return strings.Join(lines, "\n")
}

func (re reindent) indent(in string) string {
	if to, ok := re.known[in]; ok {
		return to
	}
	// Deeper than a known indent: that one, and the rest level by level.
	base := ""
	found := false
	for m := range re.known {
		if strings.HasPrefix(in, m) && (!found || len(m) > len(base)) {
			base, found = m, true
		}
	}
	if found {
		rest := in[len(base):]
		out := re.known[base]
		for re.unit != "" && strings.HasPrefix(rest, re.unit) {
			out, rest = out+re.toUnit, rest[len(re.unit):]
		}
		return out + rest
	}
	// Shallower than all that is known: move it as far as the first line moved.
	to := re.known[re.first]
	if added, ok := strings.CutSuffix(to, re.first); ok {
		return added + in
	}
	if less, ok := strings.CutPrefix(re.first, in); ok {
		out := to
		for re.unit != "" && strings.HasPrefix(less, re.unit) && strings.HasSuffix(out, re.toUnit) {
			out, less = strings.TrimSuffix(out, re.toUnit), less[len(re.unit):]
		}
		if less == "" {
			return out
		}
		if shorter, ok := strings.CutSuffix(out, less); ok {
			return shorter
		}
		return ""
	}
	return in
}

func indentOf(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}
