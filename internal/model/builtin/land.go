package builtin

import (
	"regexp"
)

// An outcome is what became of one file's edit.
type outcome struct {
	path   string
	count  int
	failed string
	left   []line
}

// land makes the edits, several files side by side. A file whose edit does not
// apply is looked at again, with context, at most retriesMax times.
func (r *run) land(say string, files []fileEdit, again func(path string, lines []line) fileEdit) ([]outcome, bool) {
	outcomes := make([]outcome, len(files))
	pending := make([]int, 0, len(files))
	near := make([]map[int]string, len(files))
	for i, f := range files {
		outcomes[i] = outcome{path: f.path, count: f.count}
		pending = append(pending, i)
	}
	for attempt := 0; attempt <= retriesMax && len(pending) > 0; attempt++ {
		if attempt > 0 {
			say = "Some edits did not apply; I read those places again."
			if !r.reread(files, pending, near, again) {
				return nil, false
			}
			say = "Trying again with more context."
		}
		var retry []int
		for start := 0; start < len(pending); start += callsPerRound {
			batch := pending[start:min(len(pending), start+callsPerRound)]
			var calls []call
			var who []int
			for _, i := range batch {
				edits, left := files[i].edits(near[i])
				outcomes[i].left = left
				if len(edits) == 0 {
					if len(left) > 0 && near[i] == nil {
						retry = append(retry, i)
					} else {
						outcomes[i].count = 0
					}
					continue
				}
				if len(left) > 0 && near[i] == nil { // read first, then edit the file once
					retry = append(retry, i)
					continue
				}
				calls = append(calls, r.edit(files[i].path, edits))
				who = append(who, i)
			}
			if len(calls) == 0 {
				continue
			}
			got, ok := r.do(say, calls...)
			if !ok {
				return nil, false
			}
			for k, g := range got {
				i := who[k]
				outcomes[i].failed = ""
				if !g.failed {
					outcomes[i].count = files[i].count - len(outcomes[i].left)
					continue
				}
				outcomes[i].failed = g.firstLine()
				if g.refused() || g.unavailable || attempt == retriesMax {
					outcomes[i].count = 0
					continue
				}
				retry = append(retry, i)
			}
		}
		pending = retry
	}
	return outcomes, true
}

// reread looks at files again: the lines that hold the old text, and what
// stands around those that change.
func (r *run) reread(files []fileEdit, pending []int, near []map[int]string, again func(string, []line) fileEdit) bool {
	var calls []call
	for _, i := range clipInts(pending, callsPerRound) {
		calls = append(calls, r.grep(regexp.QuoteMeta(files[i].old), files[i].path, false, grepAll))
	}
	got, ok := r.do("Some places can't be told apart yet, or an edit did not apply; I look again.", calls...)
	if !ok {
		return false
	}
	var reads []call
	var who []int
	for k, i := range clipInts(pending, callsPerRound) {
		if got[k].failed {
			continue
		}
		files[i] = again(files[i].path, grepLines(got[k].text, false))
		near[i] = map[int]string{}
		for _, w := range useWindows(files[i].lines) {
			if len(reads) == callsPerRound {
				break
			}
			reads = append(reads, r.read(files[i].path, max2(1, w.from-contextTop), w.to-max2(1, w.from-contextTop)+contextTop+1))
			who = append(who, i)
		}
	}
	if len(reads) == 0 {
		return true
	}
	got, ok = r.do("Reading around them.", reads...)
	if !ok {
		return false
	}
	for k, g := range got {
		for _, l := range readLines(files[who[k]].path, g.text) {
			near[who[k]][l.n] = l.text
		}
	}
	return true
}

func clipInts(list []int, n int) []int {
	if len(list) > n {
		return list[:n]
	}
	return list
}
