package openai

import "strings"

// The tags between which some servers leave the reasoning in the content.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thinkSplitter tells reasoning from text where a model writes <think>…</think>
// before its answer. Only what stands before any other text is reasoning: a
// model that writes about the tags is left alone. Tags may come in pieces.
type thinkSplitter struct {
	state   thinkState
	thought bool   // there was reasoning: white space after it is no text
	held    string // may turn out to be the beginning of a tag
}

type thinkState int

const (
	beforeText thinkState = iota
	inThought
	inText
)

// split takes the next piece of content.
func (s *thinkSplitter) split(piece string) (text, reasoning string) {
	rest := s.held + piece
	s.held = ""
	for rest != "" {
		switch s.state {
		case inText:
			return text + rest, reasoning
		case beforeText:
			trimmed := strings.TrimLeft(rest, " \t\r\n")
			switch {
			case strings.HasPrefix(trimmed, thinkOpen):
				rest, s.state = strings.TrimPrefix(trimmed[len(thinkOpen):], "\n"), inThought
				s.thought = true
			case strings.HasPrefix(thinkOpen, trimmed): // also where there is white space only
				s.held, rest = rest, ""
			default:
				s.state = inText
				if s.thought {
					rest = trimmed
				}
			}
		case inThought:
			before, after, found := strings.Cut(rest, thinkClose)
			if found {
				reasoning += before
				rest, s.state = after, beforeText
				continue
			}
			keep := partialTag(rest, thinkClose)
			reasoning += rest[:len(rest)-keep]
			s.held, rest = rest[len(rest)-keep:], ""
		}
	}
	return text, reasoning
}

// flush gives what is still held, at the end of the reply.
func (s *thinkSplitter) flush() (text, reasoning string) {
	held := s.held
	s.held = ""
	switch {
	case s.state == inThought:
		return "", held
	case s.thought:
		return strings.TrimLeft(held, " \t\r\n"), ""
	}
	return held, ""
}

// partialTag is how many bytes at the end of s may begin tag.
func partialTag(s, tag string) int {
	for n := min(len(tag)-1, len(s)); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
