package builtin

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// connect tells how to get a model that can do what this one can't.
const connect = "To connect a model that can: start Ollama (port 11434) or llama.cpp (port 8080) on this machine, " +
	"which are found by themselves, or set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GROQ_API_KEY; then `/model` shows what there is."

func greeting(t *transcript, box toolbox) string {
	return "Hello. I'm the built-in model: rules and search, no network. " + shortAbilities(box)
}

func shortAbilities(box toolbox) string {
	text := "Ask me where, what, how or who-calls questions about this code"
	if box.has("edit") {
		text += "; tell me to rename a symbol, replace text, create a file, insert or delete lines, or apply a diff"
	}
	if box.has("bash") {
		text += "; or to run the tests"
	}
	return text + "."
}

func abilities(box toolbox) string {
	lines := []string{
		"I'm `builtin`, the embedded model: deterministic rules over search and reading, offline, free. What I do:",
		"- answer questions about this code with `path:line` citations: \"where is the idle timeout applied?\", \"how does X choose Y?\", \"who calls parseRange?\"",
		"- list, count and show: \"list *.go files\", \"show lines 10-40 of main.go\", \"how many lines mention retry?\"",
	}
	if box.has("edit") || len(box) == 0 {
		lines = append(lines,
			"- edit mechanically, as hunks that you accept or reject: \"rename the function readCookies to parseCookies everywhere\", \"replace \"foo\" with \"bar\" in a.go\", \"create the file notes.md with …\", \"insert \"…\" after line 12 of a.go\", \"delete lines 3-5 of a.go\", \"delete the function f\", or a pasted unified diff",
		)
	}
	if box.has("bash") || len(box) == 0 {
		lines = append(lines, "- run the project's tests, or a command that you name: \"run the tests of ./net\", \"run `go vet ./...`\"")
	}
	lines = append(lines, "What I can't do is write new code, fix bugs or design. "+connect)
	return strings.Join(lines, "\n")
}

func noTool(tool, what string) string {
	why := "the tool `" + tool + "` is not offered to me here"
	switch tool {
	case "edit", "write", "bash":
		why += " (in planning mode nothing writes or runs; `/mode executing` allows it)"
	}
	return "I can't " + what + ": " + why + "."
}

// NeedTools is the whole answer to a request that can't be met without tools,
// where the prompt offered none and names this line as the way to ask for them.
const NeedTools = "NEED TOOLS"

// needsTools says whether a request is anything but talk.
func needsTools(intents []intent) bool {
	for _, it := range intents {
		switch it.kind {
		case kindGreet, kindThanks, kindHelp, kindStop:
		case kindUnknown:
			if it.subject != "" {
				return true
			}
		default:
			return true
		}
	}
	return false
}

var wish = regexp.MustCompile(`(?i)^(?:please |now )?(?:fix|add|implement|write|make|refactor|improve|optimi[sz]e|clean up|create|build|update|change|move|extract|generate|document|port|support|use|rewrite|simplify|speed up|rename|replace|delete|remove)\s+`)

// unknown answers what the grammar has no rule for: it says so, shows the most
// relevant places, and tells how to connect a model.
func (r *run) unknown(it intent, n narrow) (string, bool) {
	subject := it.subject
	text := "I'm the built-in model, made of rules, and I can't do this: I answer questions about the code and make mechanical edits, " +
		"but I don't write new code or reason freely."
	if subject == "" {
		return text + "\n" + shortAbilities(r.box) + "\n" + connect, true
	}
	it.form = "find"
	it.subject = wish.ReplaceAllString(subject, "")
	q := r.question(it, n)
	if len(q.concepts) == 0 || !r.box.has("search") && !r.box.has("grep") {
		return text + "\n" + shortAbilities(r.box) + "\n" + connect, true
	}
	c := newCorpus()
	for _, note := range r.t.notes {
		c.takeBlocks(note)
	}
	got, ok := r.do("That is beyond my rules; I'll at least look for the places that it is about.", r.firstCalls(it, q)...)
	if !ok {
		return "", false
	}
	for _, g := range got {
		c.take(g)
	}
	groups := grouped(c.rank(q))
	cites := cite(groups, q, c)
	var b strings.Builder
	b.WriteString(text + "\n")
	if len(cites) > 0 {
		b.WriteString("\nThe most relevant places that I found:\n")
		for i, s := range cites {
			if i == 5 {
				break
			}
			b.WriteString(citation(s))
		}
	}
	b.WriteString("\n" + offer(cites) + "\n" + connect)
	return b.String(), true
}

// offer suggests what can be done instead, by what was found.
func offer(cites []scored) string {
	if len(cites) == 0 {
		return "What I can do instead: answer questions with citations, rename, replace, insert, delete, create files, apply a diff, run the tests."
	}
	first := cites[0]
	what := "`" + path.Base(first.path) + "`"
	if first.scope.name != "" {
		what = "`" + first.scope.name + "`"
	}
	return fmt.Sprintf("What I can do instead: explain %s or list its uses (\"who calls %s?\"), make a mechanical edit that you spell out, apply a diff, run the tests.",
		what, strings.Trim(what, "`"))
}
