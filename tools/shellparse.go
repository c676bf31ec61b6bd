package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sourcegraph/conc/panics"
	"mvdan.cc/sh/v3/syntax"
)

// Limits of analysing a command line. What exceeds one isn't known, and asks.
const (
	shellDepthMax    = 8   // sh -c in sh -c …
	shellCommandsMax = 500 // simple commands in one line
)

// ShellScript is what a command line would run and write, as far as that can
// be known before it runs.
type ShellScript struct {
	Commands []ShellCommand // every simple command, however deep
	Writes   []string       // files that redirections write
	Reads    []string       // files that redirections read
	Opaque   []string       // what can't be known, and why; such a line is never allowed by rule
	Changes  []string       // folders that it changes to
	Network  bool           // some command is known to need the network
	Destroys string         // the first command that is known to destroy something, "" when none
}

// ShellCommand is one simple command.
type ShellCommand struct {
	Words   []ShellWord
	Wrapper bool // it runs another command, which is listed too and decides; this one can only be denied
	Neutral bool // a builtin that does nothing but steer the script
}

// ParseShell analyses a bash command line. It never fails: what it doesn't
// understand is Opaque.
func ParseShell(line string) ShellScript {
	p := &shellParser{}
	if panicked := panics.Try(func() { p.parse(line, 0) }); panicked != nil {
		p.opaque("it confuses the parser: %v", panicked.Value)
	}
	for _, c := range p.out.Commands {
		p.out.Network = p.out.Network || needsNetwork(c)
		if p.out.Destroys == "" && destroys(c) {
			p.out.Destroys = c.String()
		}
	}
	return p.out
}

type shellParser struct {
	out ShellScript
}

func (p *shellParser) opaque(format string, args ...any) {
	why := oneLine(fmt.Sprintf(format, args...), titleMax)
	if !slices.Contains(p.out.Opaque, why) {
		p.out.Opaque = append(p.out.Opaque, why)
	}
}

func (p *shellParser) parse(line string, depth int) {
	if depth > shellDepthMax {
		p.opaque("shells within shells, more than %d deep", shellDepthMax)
		return
	}
	for _, r := range line {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == '\ufffd' {
			p.opaque("control characters in the command")
			return
		}
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		p.opaque("it can't be parsed: %v", err)
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		p.node(n, depth)
		return true
	})
}

// node looks at what runs, writes, or makes the rest unknowable. Walk visits
// every substitution, subshell, function body and loop by itself.
func (p *shellParser) node(n syntax.Node, depth int) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		p.call(n, depth)
	case *syntax.DeclClause:
		p.declare(n)
	case *syntax.Redirect:
		p.redirect(n)
	case *syntax.ParamExp:
		p.param(n)
	case *syntax.ArithmExp:
		p.arithmetic(n.X)
	case *syntax.ArithmCmd:
		p.arithmetic(n.X)
	case *syntax.LetClause:
		for _, x := range n.Exprs {
			p.arithmetic(x)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{n.Init, n.Cond, n.Post} {
			if x != nil {
				p.arithmetic(x)
			}
		}
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			p.testNumber(n.X)
			p.testNumber(n.Y)
		}
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			p.opaque("[[ %s evaluates its operand", n.Op)
		}
	case *syntax.Assign:
		if n.Index != nil {
			p.arithmetic(n.Index)
		}
	case *syntax.CoprocClause:
		p.opaque("a coprocess")
	case *syntax.TestDecl:
		p.opaque("a test declaration")
	}
}

// arithmetic is harmless with numbers only: bash evaluates what variables hold,
// command substitutions in array indices included.
func (p *shellParser) arithmetic(x syntax.ArithmExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok && !number(w) {
			p.opaque("arithmetic on variables")
		}
		return true
	})
}

func (p *shellParser) testNumber(x syntax.TestExpr) {
	if w, ok := x.(*syntax.Word); !ok || !number(w) {
		p.opaque("arithmetic on variables")
	}
}

// number says whether a word is digits, or $? $# $$ and the like, which are.
func number(w *syntax.Word) bool {
	parts := w.Parts
	if len(parts) == 1 {
		if q, ok := parts[0].(*syntax.DblQuoted); ok {
			parts = q.Parts
		}
	}
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if strings.Trim(part.Value, "0123456789") != "" {
				return false
			}
		case *syntax.ParamExp:
			if !numericParam(part) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func numericParam(e *syntax.ParamExp) bool {
	if e.Param == nil || e.Excl || e.Exp != nil || e.Index != nil || e.Slice != nil || e.Repl != nil || e.Names != 0 {
		return false
	}
	return e.Length || slices.Contains([]string{"?", "#", "$", "!"}, e.Param.Value)
}

// param refuses expansions that evaluate their value.
func (p *shellParser) param(e *syntax.ParamExp) {
	switch {
	case e.Excl || e.Names != 0:
		p.opaque("${!…} looks a name up in another")
	case e.Exp != nil && e.Exp.Op == syntax.OtherParamOps:
		p.opaque("${…@…} may evaluate its value")
	case e.NestedParam != nil || e.Flags != nil:
		p.opaque("an expansion of another shell")
	}
	if e.Index != nil {
		if w, ok := e.Index.(*syntax.Word); !ok || !slices.Contains([]string{"@", "*"}, w.Lit()) {
			p.arithmetic(e.Index)
		}
	}
	if e.Slice != nil {
		for _, x := range []syntax.ArithmExpr{e.Slice.Offset, e.Slice.Length} {
			if x != nil {
				p.arithmetic(x)
			}
		}
	}
}

// redirect notes the file behind > and <.
func (p *shellParser) redirect(r *syntax.Redirect) {
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		p.opaque("a redirection to a descriptor in a variable")
	}
	if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc || r.Op == syntax.WordHdoc || r.Word == nil {
		return
	}
	w := literalWord(r.Word)
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		if strings.Trim(w.Text, "0123456789-") == "" && w.Kind == WordLiteral && w.Text != "" {
			return // 2>&1
		}
	}
	if w.Kind != WordLiteral {
		p.opaque("a redirection to %s, whose name isn't known", w.Text)
		return
	}
	if strings.HasPrefix(w.Text, "/dev/tcp/") || strings.HasPrefix(w.Text, "/dev/udp/") {
		p.opaque("a network connection to %s", w.Text)
		return
	}
	if r.Op == syntax.RdrIn || r.Op == syntax.DplIn {
		p.out.Reads = append(p.out.Reads, w.Text)
	} else {
		p.out.Writes = append(p.out.Writes, w.Text)
	}
}

// call takes one simple command: NAME=value… command word….
func (p *shellParser) call(c *syntax.CallExpr, depth int) {
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			p.assign(a, false)
		}
		return
	}
	var words []ShellWord
	for _, a := range c.Assigns {
		if w, ok := prefixAssign(a); ok {
			words = append(words, w)
		}
	}
	for _, arg := range c.Args {
		expanded, ok := braces(arg)
		if !ok {
			p.opaque("a brace expansion of more than %d words", shellBracesMax)
			return
		}
		words = append(words, expanded...)
	}
	p.command(words, depth)
}

// command takes the words of a simple command, wherever they came from.
func (p *shellParser) command(words []ShellWord, depth int) {
	if len(p.out.Commands) >= shellCommandsMax || depth > shellDepthMax {
		p.opaque("more than %d commands, or %d within each other", shellCommandsMax, shellDepthMax)
		return
	}
	name := commandAt(words)
	if name == len(words) {
		p.opaque("a command whose name isn't known")
		return
	}
	if words[name].Kind != WordLiteral || words[name].Text == "" {
		p.opaque("a command whose name is %s", words[name].Text)
		return
	}
	c := ShellCommand{Words: words}
	at := len(p.out.Commands)
	p.out.Commands = append(p.out.Commands, c)
	p.out.Commands[at].Wrapper = p.unwrap(words[name:], depth)
	p.out.Commands[at].Neutral = name == 0 && p.neutral(words)
}

// commandAt gives the index of the command's name after leading assignments.
func commandAt(words []ShellWord) int {
	for i, w := range words {
		if !assignment(w.Text) {
			return i
		}
	}
	return len(words)
}

var assignmentWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)

func assignment(s string) bool { return assignmentWord.MatchString(s) }

// prefixAssign keeps NAME=value in front of a command as a word of it, unless
// the variable is known to do no harm.
func prefixAssign(a *syntax.Assign) (ShellWord, bool) {
	if a.Name != nil && harmlessVariable(a.Name.Value) {
		return ShellWord{}, false
	}
	w := ShellWord{Kind: WordDynamic}
	if a.Name != nil {
		w.Text = a.Name.Value
	}
	w.Text += "="
	if a.Value != nil {
		v := literalWord(a.Value)
		w.Text, w.Kind = w.Text+v.Text, v.Kind
	} else if a.Array == nil {
		w.Kind = WordLiteral
	}
	return w, true
}

// assign judges a variable that is set for the rest of the line. One that the
// environment may hold steers programs; a small letter says it is the script's.
func (p *shellParser) assign(a *syntax.Assign, exported bool) {
	if a.Name == nil {
		p.opaque("an assignment to a name that isn't known")
		return
	}
	name := a.Name.Value
	own := !exported && strings.ToUpper(name) != name && !strings.HasSuffix(name, "_proxy")
	if !own && !harmlessVariable(name) {
		p.opaque("it sets %s", name)
	}
}

func (p *shellParser) declare(d *syntax.DeclClause) {
	exported := d.Variant.Value == "export"
	for _, a := range d.Args {
		if a.Naked && a.Name == nil {
			if lit := literalWord(a.Value); lit.Kind == WordLiteral && (lit.Text == "-r" || lit.Text == "-a" || lit.Text == "-A") {
				continue
			}
			p.opaque("%s with options that may export or evaluate", d.Variant.Value)
			continue
		}
		p.assign(a, exported)
	}
}
