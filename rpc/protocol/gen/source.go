package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// source is the comments and constants of one Go package: what reflection
// doesn't know.
type source struct {
	fset   *token.FileSet
	types  map[string]*ast.TypeSpec
	docs   map[string]string // of types
	consts []constDecl       // in the order of the files and in them
}

// constDecl is one constant with its comment.
type constDecl struct {
	name, typ, doc string
	value          ast.Expr
}

func parseDir(dir string) (*source, error) {
	s := &source{fset: token.NewFileSet(), types: map[string]*ast.TypeSpec{}, docs: map[string]string{}}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(s.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				s.take(g)
			}
		}
	}
	return s, nil
}

func (s *source) take(g *ast.GenDecl) {
	for _, spec := range g.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = g.Doc
			}
			s.types[spec.Name.Name] = spec
			s.docs[spec.Name.Name] = strings.TrimSpace(doc.Text())
		case *ast.ValueSpec:
			if g.Tok != token.CONST || len(spec.Values) != len(spec.Names) {
				continue
			}
			for i, name := range spec.Names {
				c := constDecl{name: name.Name, value: spec.Values[i], doc: oneLine(spec.Doc, spec.Comment)}
				if id, ok := spec.Type.(*ast.Ident); ok {
					c.typ = id.Name
				} else if sel, ok := spec.Type.(*ast.SelectorExpr); ok {
					c.typ = sel.Sel.Name
				}
				s.consts = append(s.consts, c)
			}
		}
	}
}

// oneLine joins a comment above and one behind.
func oneLine(groups ...*ast.CommentGroup) string {
	var parts []string
	for _, g := range groups {
		if t := strings.Join(strings.Fields(g.Text()), " "); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, " ")
}

// fieldDocs is the comments of a struct's fields, by Go name.
func (s *source) fieldDocs(name string) map[string]string {
	out := map[string]string{}
	spec := s.types[name]
	if spec == nil {
		return out
	}
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		return out
	}
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			out[n.Name] = oneLine(f.Doc, f.Comment)
		}
	}
	return out
}

// strings gives the constants of a string type.
func (s *source) strings(typ string) ([]value, error) {
	byName := map[string]ast.Expr{}
	for _, c := range s.consts {
		byName[c.name] = c.value
	}
	var out []value
	for _, c := range s.consts {
		if c.typ != typ {
			continue
		}
		t, err := stringOf(c.value, byName)
		if err != nil {
			return nil, fmt.Errorf("constant %s: %w", c.name, err)
		}
		out = append(out, value{t, c.doc})
	}
	return out, nil
}

// stringOf evaluates a literal, another constant, or a conversion of one.
func stringOf(e ast.Expr, consts map[string]ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		return strconv.Unquote(e.Value)
	case *ast.Ident:
		if v, ok := consts[e.Name]; ok {
			return stringOf(v, consts)
		}
	case *ast.CallExpr:
		if len(e.Args) == 1 {
			return stringOf(e.Args[0], consts)
		}
	}
	return "", fmt.Errorf("%T is no text that gen can evaluate", e)
}

// limits gives the exported constants with their values and comments, which
// the names list in its order.
func (s *source) limits(names ...string) ([]limit, error) {
	var out []limit
	for _, name := range names {
		i := slices.IndexFunc(s.consts, func(c constDecl) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no limit %s", name)
		}
		tv, err := types.Eval(s.fset, nil, token.NoPos, types.ExprString(s.consts[i].value))
		if err != nil {
			return nil, fmt.Errorf("limit %s: %w", name, err)
		}
		n, _ := constant.Int64Val(tv.Value)
		out = append(out, limit{name, bytesOrCount(n), s.consts[i].doc})
	}
	return out, nil
}

func bytesOrCount(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<14 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return strconv.FormatInt(n, 10)
}

// methodDocs gives an interface's methods in order: name, wire name, comment.
func (s *source) methodDocs(name string) ([]method, error) {
	spec := s.types[name]
	if spec == nil {
		return nil, fmt.Errorf("there is no type %s", name)
	}
	it, ok := spec.Type.(*ast.InterfaceType)
	if !ok {
		return nil, fmt.Errorf("%s is no interface", name)
	}
	var out []method
	seen := map[string]bool{}
	for _, f := range it.Methods.List {
		if len(f.Names) != 1 {
			return nil, fmt.Errorf("%s embeds an interface", name)
		}
		wire, doc, _ := strings.Cut(strings.TrimSpace(f.Doc.Text()), "\n")
		doc = strings.Join(strings.Fields(doc), " ")
		if !strings.Contains(wire, "/") && !strings.Contains(wire, ":") || strings.Contains(wire, " ") {
			return nil, fmt.Errorf("%s.%s: the comment's first line must be the wire name", name, f.Names[0].Name)
		}
		if doc == "" {
			return nil, fmt.Errorf("%s.%s: the comment says nothing", name, f.Names[0].Name)
		}
		if seen[wire] {
			return nil, fmt.Errorf("%s is there twice", wire)
		}
		seen[wire] = true
		out = append(out, method{goName: f.Names[0].Name, name: wire, doc: doc})
	}
	return out, nil
}

// sorted gives a map's keys in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
