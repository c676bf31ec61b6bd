package rag

import (
	"path"
	"strings"
)

// A lang says how definitions look in a language. It needs no grammar: code
// that people keep is indented, and a definition starts its line.
type lang struct {
	name       string
	lineNote   []string          // what starts a comment line
	modifiers  map[string]bool   // words that may stand before the keyword
	keywords   map[string]string // keyword → kind of what it defines
	calls      map[string]string // call or command that defines a test: it("…"), test "…" do
	bareFuncs  bool              // C: type name(args) at the left margin, no keyword
	bareMethod bool              // name(args) { inside a body
	labels     bool              // "name:" at the margin does not end a body
	sections   bool              // headings of prose
}

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

// kinds reads "func:def,fn type:class,struct".
func kinds(s string) map[string]string {
	m := map[string]string{}
	for _, g := range strings.Fields(s) {
		kind, list, _ := strings.Cut(g, ":")
		for _, w := range strings.Split(list, ",") {
			m[w] = kind
		}
	}
	return m
}

var (
	slashNotes = []string{"//", "/*", "*", "*/"}
	hashNotes  = []string{"#"}

	langGo = &lang{name: "go", lineNote: slashNotes, keywords: kinds("func:func type:type var:var const:const")}
	langJS = &lang{name: "js", lineNote: slashNotes,
		modifiers:  words("export default async declare abstract public private protected static readonly override get set"),
		keywords:   kinds("func:function type:class,interface,type,enum,namespace,module var:const,let,var"),
		calls:      kinds("test:it,test,describe,suite,context,bench"),
		bareMethod: true}
	langPython = &lang{name: "python", lineNote: append([]string{"@"}, hashNotes...),
		modifiers: words("async"), keywords: kinds("func:def type:class")}
	langRust = &lang{name: "rust", lineNote: append([]string{"#[", "#!["}, slashNotes...),
		modifiers: words("pub crate super self in unsafe async extern C default"),
		keywords:  kinds("func:fn type:struct,enum,trait,union,type,impl,mod macro:macro_rules var:const,static")}
	langJava = &lang{name: "java", lineNote: append([]string{"@"}, slashNotes...),
		modifiers: words(`public private protected static final abstract synchronized native default sealed open override
			internal data inline suspend operator infix lateinit tailrec external inner annotation value case implicit lazy
			partial readonly virtual async unsafe extern new strictfp transient volatile fileprivate mutating convenience
			required expect actual const`),
		keywords:   kinds("type:class,interface,enum,record,object,trait,struct,protocol,extension,namespace,delegate func:fun,func,function,def var:val,var,let type:typealias"),
		bareMethod: true}
	langC = &lang{name: "c", lineNote: slashNotes,
		modifiers: words("static inline extern typedef constexpr virtual explicit friend unsigned const export template"),
		keywords:  kinds("type:struct,enum,union,class,namespace,concept macro:define"),
		calls:     kinds("test:TEST,TEST_F,TEST_P,TEST_CASE"),
		bareFuncs: true, bareMethod: true, labels: true}
	langRuby = &lang{name: "ruby", lineNote: hashNotes, modifiers: words("private protected public self"),
		keywords: kinds("func:def type:class,module"), calls: kinds("test:it,describe,context,should,test,specify,task")}
	langLua = &lang{name: "lua", lineNote: []string{"--"}, modifiers: words("local"),
		keywords: kinds("func:function"), calls: kinds("test:it,describe")}
	langShell = &lang{name: "shell", lineNote: hashNotes, keywords: kinds("func:function"), bareMethod: true}
	langTcl   = &lang{name: "tcl", lineNote: hashNotes, keywords: kinds("func:proc"),
		calls: kinds("test:test")}
	langPHP = &lang{name: "php", lineNote: append([]string{"#"}, slashNotes...),
		modifiers: words("public private protected static final abstract readonly"),
		keywords:  kinds("type:class,interface,trait,enum,namespace func:function var:const")}
	langPerl   = &lang{name: "perl", lineNote: hashNotes, keywords: kinds("func:sub type:package"), calls: kinds("test:subtest")}
	langVim    = &lang{name: "vim", lineNote: []string{`"`}, keywords: kinds("func:function,function!,func,func!,def")}
	langSQL    = &lang{name: "sql", lineNote: []string{"--"}, modifiers: words("create or replace CREATE OR REPLACE TEMP TEMPORARY UNIQUE"), keywords: kinds("type:table,TABLE,view,VIEW,type,TYPE,index,INDEX func:function,FUNCTION,procedure,PROCEDURE,trigger,TRIGGER")}
	langProto  = &lang{name: "proto", lineNote: slashNotes, keywords: kinds("type:message,enum,service func:rpc")}
	langElixir = &lang{name: "elixir", lineNote: append([]string{"@"}, hashNotes...),
		keywords: kinds("func:def,defp,defmacro,defmacrop type:defmodule,defprotocol,defimpl"), calls: kinds("test:test,describe")}
	langProse = &lang{name: "prose", sections: true}
	langNone  = &lang{name: "none"}
)

var langByExt = func() map[string]*lang {
	m := map[string]*lang{}
	for l, exts := range map[*lang]string{
		langGo: "go", langJS: "js jsx mjs cjs ts tsx mts cts vue svelte astro",
		langPython: "py pyi pyx bzl", langRust: "rs",
		langJava: "java kt kts scala groovy gradle cs swift dart", langC: "c h cc cpp cxx hpp hh hxx m mm cu glsl",
		langRuby: "rb rake gemspec", langLua: "lua", langShell: "sh bash zsh fish", langTcl: "tcl",
		langPHP: "php", langPerl: "pl pm t", langVim: "vim", langSQL: "sql", langProto: "proto",
		langElixir: "ex exs", langProse: "md markdown rst adoc txt",
	} {
		for _, e := range strings.Fields(exts) {
			m[e] = l
		}
	}
	return m
}()

// langOf goes by the file's extension.
func langOf(p string) *lang {
	if l := langByExt[strings.ToLower(strings.TrimPrefix(path.Ext(p), "."))]; l != nil {
		return l
	}
	return langNone
}
