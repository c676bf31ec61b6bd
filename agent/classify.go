package agent

import (
	"regexp"
	"strings"
)

// classify says what kind of input a message is: command, prompt or workflow.
// It is a list of rules, tried in order; the first that matches decides. It
// takes microseconds and asks no model.
func classify(input string) Classification {
	s := strings.ToLower(strings.Join(strings.Fields(input), " "))
	for _, r := range classifyRules {
		if r.steps && !severalSteps(input) {
			continue
		}
		if r.match.MatchString(s) {
			return Classification{Type: r.kind, Confidence: r.confidence, Method: "rule-based", Metadata: map[string]any{"rule": r.name}}
		}
	}
	return Classification{Type: "prompt", Confidence: 0.6, Method: "rule-based", Metadata: map[string]any{"rule": "default"}}
}

type classifyRule struct {
	name       string
	kind       string
	confidence float64
	match      *regexp.Regexp
	steps      bool // besides, the input must read as several steps of work
}

// severalSteps tells whether an input reads as steps that follow each other, at
// least one of which changes or runs something.
func severalSteps(input string) bool {
	w, ok := workflowFrom(input)
	if !ok {
		return false
	}
	work := 0
	for i, s := range w.Steps {
		if _, verb := verbOf(s.Goal); !verb && i == 0 {
			return false
		}
		if s.Check != checkReplied {
			work++
		}
	}
	return work > 0
}

func rule(name, kind string, confidence float64, pattern string) classifyRule {
	return classifyRule{name: name, kind: kind, confidence: confidence, match: regexp.MustCompile(pattern)}
}

// verbs of work on a code base as a whole.
const workVerbs = `(fix|refactor|migrate|implement|analy[sz]e|audit|upgrade|port|convert|restructure|modernize|clean up|optimize|rewrite|redesign|review)`

var classifyRules = []classifyRule{
	rule("slash", "command", 0.95, `^/[^\s/]+( |$)`), // a path begins with a slash too
	rule("help with commands", "command", 0.75, `^(please )?(help( me)?( with)?( the)? (commands?|tools?)|help)[.!?]?$`),
	rule("show tools", "command", 0.80, `^(please )?(show|list)( me)?( all)?( the)?( available)? (tools|commands|models|sessions)[.!?]?$`),
	rule("ask for the tools", "command", 0.80, `^(what|which)( are)?( the)?( available)? (tools|commands|models|sessions)\b( (are|is) (there|available)| do you have| can (i|you) use)?[.!?]?$`),
	rule("ask for abilities", "command", 0.75, `^what can (you|i) (do|ask)( here)?[.!?]?$`),
	rule("greeting", "prompt", 0.95, `^(hi|hello|hey|thanks|thank you|good (morning|evening|afternoon))\b[^?]{0,20}$`),
	{name: "steps of work", kind: "workflow", confidence: 0.88, match: regexp.MustCompile(`.`), steps: true},
	rule("question", "prompt", 0.90, `^(what|where|why|who|when|how|which|is|are|does|do|can|could|should|explain|describe|tell me|show me|find)\b`),
	rule("rename or replace", "prompt", 0.90, `^(please )?(rename|replace|insert|delete|append|create (a |the )?file)\b`),
	rule("analyze and report", "workflow", 0.92, `\b`+workVerbs+`\b.*\b(and|then)\b.*\b(generate|produce|write|create|report|summari[sz]e)\b`),
	rule("work, then check", "workflow", 0.88, `\b(fix|implement|add|update|change|refactor|migrate|write)\b.*(\band\b|,|\bthen\b).*\b(run|test|tests|verify|check|build|commit|report|deploy|document)\b`),
	rule("several steps", "workflow", 0.86, `(^|\s)(first|1[.)]) .*(\bthen\b|2[.)] )`),
	rule("work on a system", "workflow", 0.85, `^(please )?`+workVerbs+`\b.*\b(system|codebase|module|package|project|service|architecture|repository|pipeline)\b`),
	rule("write a piece", "prompt", 0.85, `^(please )?(write|create|make|add|implement|generate|give)\b`),
}
