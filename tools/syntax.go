package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
)

// What we can say of a file without any language server: whether it can be
// parsed, in the few languages for which there is a whole parser here. What a
// compiler finds beyond that isn't looked for.

// Limits of the syntax check.
const (
	syntaxFilesMax = 500     // files of one folder
	syntaxBytesMax = 4 << 20 // of one file
	syntaxShownMax = 10      // problems of one file: after an error a parser guesses
	syntaxNamesMax = 5       // files without a parser that are named
)

// SyntaxSource is the Source of what Syntax finds.
const SyntaxSource = "syntax"

// syntaxParsers are by the ending of a name. Each gives the first bytes at which
// something is wrong.
var syntaxParsers = map[string]func(data []byte) []syntaxError{".go": goSyntax, ".json": jsonSyntax, ".toml": tomlSyntax}

// syntaxNames are what the parsers are called to people.
var syntaxNames = map[string]string{".go": "Go", ".json": "JSON", ".toml": "TOML"}

type syntaxError struct {
	line, col int // 1-based, col in bytes
	message   string
}

// Syntax checks a file. known is false where we have no parser for it.
func Syntax(name string, data []byte) (found []Diagnostic, known bool) {
	parse, known := syntaxParsers[path.Ext(name)]
	if !known || path.Ext(name) == ".json" && commented(name) || len(data) > syntaxBytesMax || isBinary(data) {
		return nil, false
	}
	decoded, _ := decodeText(data)
	list := parse([]byte(decoded))
	lines := strings.Split(decoded, "\n")
	for _, e := range list[:min(len(list), syntaxShownMax)] {
		col := e.col
		if e.line >= 1 && e.line <= len(lines) {
			col = utf8.RuneCountInString(lines[e.line-1][:max(0, min(e.col-1, len(lines[e.line-1])))]) + 1
		}
		found = append(found, Diagnostic{Path: name, Line: e.line, Col: col, Severity: "error", Message: e.message, Source: SyntaxSource})
	}
	return found, true
}

// commented says whether a JSON file is one of those whose programs take
// comments and trailing commas in it.
func commented(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, "tsconfig") || strings.HasPrefix(base, "jsconfig") || strings.HasPrefix(base, ".") ||
		slices.Contains([]string{"devcontainer.json", "settings.json", "launch.json", "tasks.json", "keybindings.json", "deno.json", "api-extractor.json"}, base) ||
		strings.Contains("/"+name, "/.vscode/")
}

func goSyntax(data []byte) (out []syntaxError) {
	_, err := parser.ParseFile(token.NewFileSet(), "", data, parser.SkipObjectResolution)
	var list scanner.ErrorList
	switch {
	case errors.As(err, &list):
		for _, e := range list {
			out = append(out, syntaxError{e.Pos.Line, e.Pos.Column, e.Msg})
		}
	case err != nil:
		out = append(out, syntaxError{1, 1, err.Error()})
	}
	return out
}

func jsonSyntax(data []byte) []syntaxError {
	var value any
	err := json.Unmarshal(data, &value)
	if err == nil {
		return nil
	}
	at := 1
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = max(1, min(int(syntax.Offset), len(data))) // bytes read, the wrong one included
	}
	before := data[:min(at-1, len(data))]
	return []syntaxError{{bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n'), err.Error()}}
}

func tomlSyntax(data []byte) []syntaxError {
	var value map[string]any
	err := toml.Unmarshal(data, &value)
	var syntax *toml.DecodeError
	switch {
	case errors.As(err, &syntax):
		line, col := syntax.Position()
		return []syntaxError{{line, col, strings.TrimPrefix(syntax.Error(), "toml: ")}}
	case err != nil:
		return []syntaxError{{1, 1, err.Error()}}
	}
	return nil
}

// syntaxCheck is the answer of the diagnostics tool where no language server
// reports: what our own parsers find, and where there is none.
func syntaxCheck(ctx context.Context, env Env, p string, why error) Result {
	var found []Diagnostic
	checked, without, none := map[string]int{}, []string{}, 0
	files, cut := 0, false
	check := func(name string) error {
		f, err := env.Files.Read(ctx, name)
		if err != nil {
			return err
		}
		list, known := Syntax(f.Path, f.Data)
		if !known {
			if none++; len(without) < syntaxNamesMax {
				without = append(without, f.Path)
			}
			return nil
		}
		checked[path.Ext(f.Path)]++
		found = append(found, list...)
		return nil
	}
	info, err := env.Files.Stat(ctx, p)
	switch {
	case err != nil:
	case !info.Dir:
		err = check(p)
	default:
		err = env.Files.Walk(ctx, p, func(i Info) bool {
			if syntaxParsers[path.Ext(i.Path)] == nil {
				none++
				if len(without) < syntaxNamesMax {
					without = append(without, i.Path)
				}
				return true
			}
			if files++; files > syntaxFilesMax {
				cut = true
				return false
			}
			_ = check(i.Path) // what is gone or may not be read has no problems to show
			return ctx.Err() == nil
		})
	}
	if ctx.Err() != nil {
		return cancelled()
	}
	if err != nil {
		return failErr("diagnostics", err)
	}
	if len(checked) == 0 {
		return Fail(fmt.Sprintf("diagnostics: %v. There is no parser here for %s either (only for Go, JSON and TOML).", why, nameOrNothing(without, none)), "no language server")
	}
	r := diagnosticsResult(found)
	if len(found) == 0 {
		r.Text, r.Detail.Summary = "no syntax errors\n", "no syntax errors"
	}
	var langs []string
	for _, ext := range []string{".go", ".json", ".toml"} {
		if n := checked[ext]; n > 0 {
			langs = append(langs, fmt.Sprintf("%s of %s", count(n, "file"), syntaxNames[ext]))
		}
	}
	r.Text += fmt.Sprintf("[%v. This is a check of the syntax alone, by our own parsers: %s", why, strings.Join(langs, ", "))
	if cut {
		r.Detail.Truncated = true
		r.Text += fmt.Sprintf(", the first %d; give a path", syntaxFilesMax)
	}
	if none > 0 {
		r.Text += "; not checked, for want of a parser: " + nameOrNothing(without, none)
	}
	r.Text += "]\n"
	return r
}

func nameOrNothing(names []string, n int) string {
	if n == 0 {
		return "anything there"
	}
	s := strings.Join(names, ", ")
	if n > len(names) {
		s += fmt.Sprintf(" and %d more", n-len(names))
	}
	return s
}
