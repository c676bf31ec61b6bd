package rag

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// goDefinitions uses the compiler's own parser; ok is false when the text is
// so broken that the parser found no declaration at all.
func goDefinitions(src []byte) (defs []Def, ok bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if f == nil || (err != nil && len(f.Decls) == 0) {
		return nil, false
	}
	line := func(p token.Pos) int { return fset.PositionFor(p, false).Line }
	add := func(name *ast.Ident, kind, container string, n ast.Node) {
		if name != nil && name.Name != "_" && len(defs) < maxDefsPerFile {
			start := line(name.Pos())
			defs = append(defs, Def{name.Name, kind, container, start, max(start, line(n.End()))})
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && len(d.Recv.List) > 0 {
				add(d.Name, "method", receiver(d.Recv.List[0].Type), d)
			} else {
				add(d.Name, "func", "", d)
			}
		case *ast.GenDecl:
			goSpecs(d, add)
		}
	}
	return slices.Clone(defs), true // without the room that appending left
}

func goSpecs(d *ast.GenDecl, add func(*ast.Ident, string, string, ast.Node)) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			add(s.Name, "type", "", s)
			switch t := s.Type.(type) {
			case *ast.StructType:
				for _, f := range t.Fields.List {
					for _, n := range f.Names {
						add(n, "field", s.Name.Name, f)
					}
				}
			case *ast.InterfaceType:
				for _, f := range t.Methods.List {
					for _, n := range f.Names {
						add(n, "method", s.Name.Name, f)
					}
				}
			}
		case *ast.ValueSpec:
			kind := "var"
			if d.Tok == token.CONST {
				kind = "const"
			}
			for _, n := range s.Names {
				add(n, kind, "", s)
			}
		}
	}
}

func receiver(e ast.Expr) string {
	for {
		switch t := e.(type) {
		case *ast.StarExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}
